package manual

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fsub/cmd/internal/commands"
	"fsub/cmd/internal/option"
	"fsub/sbatch/getopt"
)

var (
	//go:embed fsub.md
	fsubTail string
	//go:embed shims.md
	shimsText string
	//go:embed agent.md
	agentPage string
)

// slurmCommand is the page of fsub, or of a command of Slurm's that fsub is.
func slurmCommand(name string) string {
	a := commands.About(name)
	var b strings.Builder
	fmt.Fprintf(&b, "# NAME\n%s - %s\n\n# SYNOPSIS\n", name, escaped(a.Does))
	for _, line := range a.Usage {
		first, rest, _ := strings.Cut(line, " ")
		fmt.Fprintf(&b, "**%s** %s  \n", first, escaped(rest))
	}
	b.WriteString("\n# DESCRIPTION\n" + prose(a.Text))
	groups(&b, "#", a.Words)
	if len(a.Groups) > 0 {
		b.WriteString("# OPTIONS\n")
		groups(&b, "###", a.Groups)
	}
	options(&b, "Taken without effect", a.Ignored)
	options(&b, "Known and refused", a.Refused)
	if a.Notes != "" {
		b.WriteString("# NOTES\n" + prose(a.Notes))
	}
	if name == "fsub" {
		login := commands.About("fsub login")
		b.WriteString("# SIGNING IN\n" + prose(login.Text))
		groups(&b, "###", login.Groups)
		b.WriteString(fsubTail)
	} else {
		variables(&b, &a)
		b.WriteString("# SEE ALSO\n**fsub**(1), **fsub-shims**(7), **fed**(8)\n")
	}
	return b.String()
}

func groups(b *strings.Builder, level string, all []getopt.Group) {
	for _, g := range all {
		title := g.Title
		if level == "#" {
			title = strings.ToUpper(title)
		} else if len(all) == 1 || title == "Options" {
			title = ""
		}
		if title != "" {
			fmt.Fprintf(b, "%s %s\n", level, escaped(title))
		}
		for i := range g.Options {
			d := &g.Options[i]
			text := sentence(d.Help)
			if d.Env != "" {
				text += " Variable: " + strings.Join(strings.Fields(d.Env), ", ") + "."
			}
			fmt.Fprintf(b, "%s\n: %s\n\n", form(d), escaped(text))
		}
	}
}

var optionName = regexp.MustCompile(`--?[A-Za-z][A-Za-z0-9-]*`)

// form is how an option is written, its names in bold letters and its value in italics.
func form(d *getopt.Described) string {
	text := d.Form()
	if d.Name == "" && d.Short == 0 {
		return "**" + escaped(text) + "**"
	}
	names, value, valued := text, "", false
	if d.Arg != getopt.NoArg {
		i := strings.LastIndex(text, d.Value)
		if d.Value != "" && i > 0 {
			names, value, valued = strings.TrimRight(text[:i], "=[ "), d.Value, true
		}
	}
	out := optionName.ReplaceAllStringFunc(escaped(names), func(n string) string { return "**" + n + "**" })
	switch {
	case valued && d.Arg == getopt.OptionalArg:
		out += `\[=*` + escaped(value) + `*\]`
	case valued && d.Name == "":
		out += " *" + escaped(value) + "*"
	case valued:
		out += "=*" + escaped(value) + "*"
	}
	return out
}

func options(b *strings.Builder, title string, all []string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "### %s\n**%s**.\n\n", title, strings.Join(all, "**, **"))
}

// variables says where variables are described.
func variables(b *strings.Builder, a *option.About) {
	text := "Variables by which the daemon is found are in **fsub**(1)."
	if slices.ContainsFunc(a.Groups, func(g getopt.Group) bool {
		return slices.ContainsFunc(g.Options, func(d getopt.Described) bool { return d.Env != "" })
	}) {
		text = "Variables of options stand beside these. " + text
	}
	b.WriteString("# ENVIRONMENT\n" + text + "\n\n")
}

// shims is the page about the links as a whole.
func shims() string {
	var table strings.Builder
	for _, name := range commands.Shims() {
		fmt.Fprintf(&table, "**%s**(1)\n: %s\n\n", name, escaped(sentence(commands.About(name).Does)))
	}
	return strings.Replace(shimsText, "COMMANDS-HERE\n", table.String(), 1)
}
