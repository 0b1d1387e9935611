// Package complete writes scripts by which bash, zsh and fish complete fsub and Slurm's commands. Options come from the tables that the commands themselves read
// ([commands.About]); names of jobs, sites and others from the daemon, which the command asks by --fed-words ([commands.Words]).
package complete

import (
	"slices"
	"strings"

	"fsub/cmd/internal/commands"
	"fsub/sbatch/getopt"
)

// Shells are those that there are scripts for, each with what writes it.
var Shells = map[string]func(names []string) string{"bash": Bash, "zsh": Zsh, "fish": Fish}

// entry is one option of a command.
type entry struct {
	getopt.Described
	kind string // of its values, as commands.ValueKind has it
}

// names are all names of the option.
func (e *entry) names() []getopt.Option { return append([]getopt.Option{e.Option}, e.Also...) }

// entries are the options of a command, those that are taken without effect or refused, too.
func entries(command string) []entry {
	about := commands.About(command)
	var all []entry
	for _, g := range about.Groups {
		for _, d := range g.Options {
			all = append(all, entry{d, commands.ValueKind(command, d.Name)})
		}
	}
	return all
}

// withLogin are the names, and fsub login, whose options are others.
func withLogin(names []string) []string {
	if slices.Contains(names, "fsub") {
		return append(slices.Clone(names), login)
	}
	return names
}

// login is what fsub is called with to sign in.
const login = "fsub login"

// words are those of a kind that does not depend on the daemon.
func words(kind string) (list []string, fixed bool) {
	text, fixed := strings.CutPrefix(kind, "=")
	return strings.Fields(text), fixed
}

// quoted is text as a word of bash and zsh.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
