package salloc

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	"fsub/cmd/internal/srun"
	"fsub/sbatch"
	"fsub/sbatch/getopt"
)

// options are what a call asks for.
type options struct {
	line    string   // the call
	job     []string // options of sbatch
	env     []string // variables of sbatch
	command []string
	quiet   bool
	sites   string // --fed-sites; "": any

	noShell bool
	kill    syscall.Signal // for the command when the allocation ends; 0: none
}

// batchOnly are options of sbatch that speak of a script and its files.
var batchOnly = []string{"array", "batch", "error", "export", "export-file", "ignore-pbs", "input", "kill-on-invalid-dep", "no-requeue", "open-mode", "output", "parsable", "propagate",
	"requeue", "test-only", "wait", "wrap", "explain", "fed-explain", "help", "usage", "version"}

// hold is the script of a job that holds its nodes: it ends well after USR1, and badly after USR2.
const hold = "trap 'exit 0' USR1; trap 'exit 1' USR2; while :; do sleep 86400 & wait $!; done"

// ofSalloc are the options that salloc has beside those of sbatch.
var ofSalloc = []getopt.Described{
	{Option: getopt.Option{Name: "no-shell"}, Help: "leave the allocation to itself: it ends with scancel or at its time limit"},
	{Option: getopt.Option{Name: "kill-command", Short: 'K', Arg: getopt.OptionalArg}, Value: "signal",
		Help: "send the command a signal, SIGTERM if none is named, when the allocation ends"},
	{Option: getopt.Option{Name: "bell"}, Help: "taken without effect: no bell rings"},
	{Option: getopt.Option{Name: "no-bell"}, Help: "taken without effect: no bell rings"},
	{Option: getopt.Option{Name: "help", Short: 'h'}, Help: "show this help"},
	{Option: getopt.Option{Name: "usage"}, Help: "show how salloc is called"},
	{Option: getopt.Option{Name: "version", Short: 'V'}, Help: "show the version of Slurm whose salloc this is"},
}

// About describes salloc.
func About() option.About {
	a := option.About{Name: "salloc", Does: "get an allocation, and run a command with it", Usage: []string{strings.TrimSpace(strings.TrimPrefix(usage, "Usage: "))},
		Text: "Gets nodes at the site that the federation chooses, as for a batch job, and runs a command here with the environment of the job: " +
			"a shell, if none is named. When the command ends the allocation ends. Within a job salloc is the site's own.",
		Groups: []getopt.Group{{Title: "Options of salloc", Options: ofSalloc}}}
	groups, refused := sbatch.Described()
	for _, g := range groups {
		g.Options = slices.DeleteFunc(slices.Clone(g.Options), func(d getopt.Described) bool { return slices.Contains(batchOnly, d.Name) })
		if len(g.Options) > 0 {
			a.Groups = append(a.Groups, g)
		}
	}
	for _, name := range refused {
		a.Refused = append(a.Refused, "--"+name)
	}
	return a
}

// readSalloc reads salloc's command line. nil: it is over, with the exit code.
func readSalloc(args, env []string, stdout, stderr io.Writer) (*options, int) {
	rows := getopt.Plain(ofSalloc)
	for _, o := range sbatch.Known() {
		if !slices.Contains(batchOnly, o.Name) {
			rows = append(rows, o)
		}
	}
	found, command, err := getopt.NewSet("salloc", rows).Parse(args, getopt.StopAtFirst)
	if err != nil {
		fmt.Fprintf(stderr, "%s\nTry \"salloc --help\" for more information\n", err)
		return nil, 255
	}
	o := &options{line: line("salloc", args), command: command, env: translated(env, "SALLOC_"), sites: show.Env(env, "FSUB_SITES")}
	name := "interactive"
	for _, f := range found {
		switch f.Name {
		case "help":
			about := About()
			io.WriteString(stdout, about.Help())
			return nil, 0
		case "usage":
			io.WriteString(stdout, usage)
			return nil, 0
		case "version":
			fmt.Fprintln(stdout, show.Version)
			return nil, 0
		case "bell", "no-bell":
		case "no-shell":
			o.noShell, name = true, "no-shell"
		case "kill-command":
			if o.kill = syscall.SIGTERM; f.Given {
				if o.kill = signalOf(f.Value); o.kill == 0 {
					fmt.Fprintf(stderr, "salloc: error: Invalid --kill-command specification: %q is no signal\n", f.Value)
					return nil, 255
				}
			}
		default:
			o.give(f)
		}
	}
	if !o.noShell && len(command) > 0 {
		name = filepath.Base(command[0])
	}
	o.named(name)
	return o, 0
}

// ofSteps are options of srun that sbatch has too, and that speak of a step only, or of sbatch's script.
var ofSteps = []string{"error", "export", "input", "open-mode", "output", "quiet", "verbose", "wait", "jobid", "chdir", "propagate", "test-only", "help", "usage", "version"}

// readSrun reads srun's command line. nil: it is over, with the exit code.
func readSrun(args, env []string, stdout, stderr io.Writer) (*options, int) {
	found, command, err := srun.Split(args)
	for _, f := range found {
		if f.Name == "help" || f.Name == "usage" || f.Name == "version" || f.Name == "test-only" {
			return nil, srun.Main("srun", args, env, nil, stdout, stderr)
		}
	}
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "%s\nTry \"srun --help\" for more information\n", err)
		return nil, 255
	case len(command) == 0:
		fmt.Fprintln(stderr, "srun: fatal: No command given to execute.")
		return nil, 1
	case slices.Contains(args[:len(args)-len(command)], ":") || slices.Contains(command, ":"):
		fmt.Fprintln(stderr, "srun: error: heterogeneous jobs are submitted with sbatch: call srun in their script")
		return nil, 1
	}
	o := &options{line: line("srun", args), command: command, env: translated(env, "SLURM_"), sites: show.Env(env, "FSUB_SITES")}
	known := map[string]bool{}
	for _, row := range sbatch.Known() {
		known[row.Name] = true
	}
	for _, f := range found {
		switch {
		case f.Name == "quiet":
			o.quiet = true
		case known[f.Name] && !slices.Contains(ofSteps, f.Name):
			o.give(f)
		}
	}
	o.named(filepath.Base(command[0]))
	return o, 0
}

// give passes an option on to sbatch.
func (o *options) give(f getopt.Found) {
	switch word := "--" + f.Name; {
	case f.Name == "fed-sites":
		o.sites = f.Value
	case f.Given:
		o.job = append(o.job, word+"="+f.Value)
	default:
		o.job = append(o.job, word)
	}
	o.quiet = o.quiet || f.Name == "quiet"
}

// named completes the options of the job, whose name it is if nothing else gives it one.
func (o *options) named(name string) {
	first := []string{"--no-requeue", "--output=/dev/null"}
	if show.Env(o.env, "SBATCH_JOB_NAME") == "" {
		first = append(first, "--job-name="+name)
	}
	o.job = append(first, o.job...)
}

// translated is an environment in which sbatch's variables are those that begin with prefix.
func translated(env []string, prefix string) []string {
	var out []string
	for _, e := range env {
		if strings.HasPrefix(e, "SBATCH_") || strings.HasPrefix(e, "FSUB_SITES=") {
			continue
		}
		if rest, ok := strings.CutPrefix(e, prefix); ok {
			out = append(out, "SBATCH_"+rest)
		}
		out = append(out, e)
	}
	return out
}

// signalOf reads "TERM", "SIGTERM" or "15"; 0: it is none.
func signalOf(s string) syscall.Signal {
	var n int
	if _, err := fmt.Sscanf(s, "%d", &n); err == nil && n > 0 && n < 65 && fmt.Sprint(n) == s {
		return syscall.Signal(n)
	}
	return unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(s), "SIG"))
}
