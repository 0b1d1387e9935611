package complete

import (
	"fmt"
	"strings"

	"fsub/cmd/internal/commands"
	"fsub/sbatch/getopt"
)

const fishHead = `# Completion of fsub and of Slurm's commands that fsub is, for fish. Made from the tables of their options.

# __fsub_words prints words of the daemon, within a fifth of a second or not at all.
function __fsub_words
    set -l words (commandline -opc)
    $words[1] --fed-words $argv 2>/dev/null
end

function __fsub_operands
    set -l words (commandline -opc)
    $words[1] --fed-words operands (string match -v -- '-*' $words[2..-1]) 2>/dev/null
end

`

// Fish is the script for fish, for the commands of these names.
func Fish(names []string) string {
	var b strings.Builder
	b.WriteString(fishHead)
	for _, name := range names {
		switch kind := commands.OperandKind(name); kind {
		case "files":
		case "":
			fmt.Fprintf(&b, "complete -c %s -f\n", name)
		case "commands":
			fmt.Fprintf(&b, "complete -c %s -f -a '(__fish_complete_subcommand)'\n", name)
		case "operands":
			fmt.Fprintf(&b, "complete -c %s -f -a '(__fsub_operands)'\n", name)
		default:
			fmt.Fprintf(&b, "complete -c %s -f -a '(__fsub_words %s)'\n", name, kind)
		}
		for _, e := range entries(name) {
			b.WriteString(e.fish(name))
		}
		if name == "fsub" {
			for _, e := range entries(login) {
				b.WriteString(e.fish("fsub -n '__fish_seen_subcommand_from login'"))
			}
			b.WriteString("complete -c fsub -n __fish_is_first_token -a login -d 'sign in on a machine that is not the daemon\\'s'\n" +
				"complete -c fsub -n __fish_is_first_token -a logout -d 'sign out'\ncomplete -c fsub-remote -w fsub\n")
		}
	}
	return b.String()
}

// fish are the lines of an option, one for each of its names.
func (e *entry) fish(command string) string {
	var b strings.Builder
	value := ""
	if e.Arg == getopt.RequiredArg {
		value = " -x"
		if e.kind == "files" || e.kind == "dirs" {
			value = " -r"
		}
	}
	switch list, fixed := words(e.kind); {
	case e.Arg == getopt.NoArg, e.kind == "", e.kind == "files":
	case fixed:
		value += " -a " + fishQuoted(strings.Join(list, " "))
	case e.kind == "dirs":
		value += " -x -a '(__fish_complete_directories)'"
	default:
		value += " -a " + fishQuoted("(__fish_complete_list , '__fsub_words "+e.kind+"')")
	}
	for i, o := range e.names() {
		names := ""
		if o.Short != 0 {
			names += " -s " + string(rune(o.Short))
		}
		if o.Name != "" {
			names += " -l " + o.Name
		}
		help := e.Help
		if i > 0 && e.Name != "" {
			help = "same as --" + e.Name
		}
		fmt.Fprintf(&b, "complete -c %s%s%s -d %s\n", command, names, value, fishQuoted(help))
	}
	return b.String()
}

// fishQuoted is text as a word of fish.
func fishQuoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
