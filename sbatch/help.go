package sbatch

import (
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

// helpText lists the options of the table: first those that are carried to a site, then those that are refused.
func helpText() string {
	var b strings.Builder
	b.WriteString(usageText())
	b.WriteString("\nsubmits a batch script to the federation, under the rules of Slurm's sbatch.\n\nOptions:\n")
	var not []string
	for i := range options {
		o := &options[i]
		if !o.in(Following) {
			continue
		}
		if o.class == refused {
			not = append(not, "--"+o.name)
			continue
		}
		short := "    "
		if o.short != 0 {
			short = "-" + string(rune(o.short)) + ", "
		}
		value := [...]string{getopt.NoArg: "", getopt.RequiredArg: "=value", getopt.OptionalArg: "[=value]"}[o.arg]
		line := "  " + short + "--" + o.name + value
		if o.env != "" {
			line += strings.Repeat(" ", max(2, 36-len(line))) + o.env
		}
		b.WriteString(line + "\n")
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
