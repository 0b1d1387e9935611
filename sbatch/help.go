package sbatch

import (
	"slices"
	"strings"

	"fsub/sbatch/getopt"
)

func usageText() string {
	return "Usage: sbatch [OPTIONS...] script [args...]\n" +
		"       sbatch [OPTIONS...] --wrap=command\n" +
		"       sbatch [OPTIONS...] < script\n"
}

const fedHelp = `
Options of the federation, also in #FSUB lines of a script (--sites=a,b):
      --fed-sites=names           run at one of these sites             FSUB_SITES
      --fed-exclude-sites=names   at none of these                      FSUB_EXCLUDE_SITES
      --fed-accelerators=list     types of GPU that will do: h100,a100:2 (twice as many of the second)
                                                                        FSUB_ACCELERATORS
      --fed-max-cost=dollars      the most that the job may cost        FSUB_MAX_COST
      --fed-stage-in=from[->to]   copied to the job's directory first; path, pattern or URL; may be repeated
                                                                        FSUB_STAGE_IN
      --fed-stage-out=from[->to]  copied back when it has ended         FSUB_STAGE_OUT
`

// headings are those under which sbatch lists options, each with its options; what is in none is under the first. Programs look for the words.
var headings = []struct {
	text    string
	options []string
}{
	{"Parallel run options:", nil},
	{"Constraint options:", []string{"cluster-constraint", "constraint", "contiguous", "exclude", "mem", "mincpus", "nodefile", "nodelist", "prefer",
		"reservation", "tmp"}},
	{"Consumable resources related options:", []string{"exclusive", "mem-per-cpu"}},
	{"Affinity/Multi-core options:", []string{"cores-per-socket", "extra-node-info", "hint", "mem-bind", "ntasks-per-core", "ntasks-per-socket",
		"sockets-per-node", "threads-per-core", "tres-bind"}},
	{"GPU scheduling options:", []string{"cpus-per-gpu", "gpu-bind", "gpu-freq", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "mem-per-gpu"}},
	{"Help options:", []string{"help", "usage"}},
	{"Other options:", []string{"version"}},
}

// heading is the index in headings under which an option stands.
func heading(name string) int {
	for i, h := range headings {
		if slices.Contains(h.options, name) {
			return i
		}
	}
	return 0
}

// helpText lists the options of the table: first those that are carried to a site, then those that are refused.
func helpText() string {
	under := make([]strings.Builder, len(headings))
	var not []string
	for i := range options {
		o := &options[i]
		switch {
		case !o.in(Following):
		case o.class == refused:
			not = append(not, "--"+o.name)
		default:
			under[heading(o.name)].WriteString(o.helpLine())
		}
	}
	var b strings.Builder
	b.WriteString(usageText())
	b.WriteString("\nsubmits a batch script to the federation, under the rules of Slurm's sbatch.\n")
	for i, h := range headings {
		b.WriteString("\n" + h.text + "\n" + under[i].String())
	}
	b.WriteString(fedHelp)
	b.WriteString("\nKnown and not carried:")
	col := 80
	for _, n := range not {
		if col+len(n) > 76 {
			b.WriteString("\n ")
			col = 1
		}
		b.WriteString(" " + n)
		col += len(n) + 1
	}
	b.WriteString("\n")
	return b.String()
}

// helpLine is an option with its short form and its environment variables.
func (o *option) helpLine() string {
	short := "    "
	if o.short != 0 {
		short = "-" + string(rune(o.short)) + ", "
	}
	value := [...]string{getopt.NoArg: "", getopt.RequiredArg: "=value", getopt.OptionalArg: "[=value]"}[o.arg]
	line := "  " + short + "--" + o.name + value
	if o.env != "" {
		line += strings.Repeat(" ", max(2, 36-len(line))) + o.env
	}
	return line + "\n"
}
