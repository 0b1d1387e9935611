package sbatch

import (
	"strings"

	"fsub/sbatch/getopt"
)

// completions lists the options that fit what a shell has so far.
func completions(release Release, query string) string {
	var b strings.Builder
	add := func(form string) {
		if strings.Contains(form, query) {
			b.WriteString(form + "\n")
		}
	}
	for i := range options {
		o := &options[i]
		if !o.in(release) || query == "" || o.name == "autocomplete" {
			continue
		}
		if o.short != 0 {
			add("-" + string(rune(o.short)))
		}
		if query == "-" {
			continue
		}
		if o.arg != getopt.NoArg {
			add("--" + o.name + "=")
		}
		switch o.arg {
		case getopt.NoArg:
			add("--" + o.name)
		case getopt.OptionalArg:
			add("--" + o.name + " ")
		}
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}
