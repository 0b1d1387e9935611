package manual

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

//go:embed fed.md
var fedTail string

// fed is the page of fed itself, which names the others.
func fed(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# NAME\nfed - the daemon of a federation, and the tool of its users, leads and operators\n\n# SYNOPSIS\n**fed** *noun* *verb* [*flags*] [*arguments*]\n\n# DESCRIPTION\n")
	b.WriteString(prose(root.Long))
	for _, g := range root.Groups() {
		fmt.Fprintf(&b, "# %s\n", strings.ToUpper(strings.TrimSuffix(g.Title, ":")))
		for _, c := range listed(root) {
			if c.GroupID == g.ID {
				fmt.Fprintf(&b, "**fed-%s**(8)\n: %s\n\n", c.Name(), escaped(sentence(c.Short)))
			}
		}
	}
	return b.String() + fedTail
}

// noun is the page of a command of fed with all that is below it.
func noun(cmd *cobra.Command) string {
	all := runnable(cmd)
	var b strings.Builder
	fmt.Fprintf(&b, "# NAME\nfed-%s - %s\n\n# SYNOPSIS\n", cmd.Name(), escaped(lower(cmd.Short)))
	for _, c := range all {
		fmt.Fprintf(&b, "%s  \n", usage(c))
	}
	b.WriteString("\n")
	if cmd.Long != "" || len(all) == 1 {
		b.WriteString("# DESCRIPTION\n" + about(cmd))
	}
	common := shared(all)
	if len(all) == 1 {
		if flags := flagsOf(all[0], nil); flags != "" {
			b.WriteString("# OPTIONS\n" + flags)
		}
		example(&b, all[0], "#")
		return b.String() + "# SEE ALSO\n**fed**(8)\n"
	}
	b.WriteString("# COMMANDS\n")
	for _, c := range all {
		fmt.Fprintf(&b, "### %s\n", strings.ReplaceAll(usage(c), "**", ""))
		if c != cmd || cmd.Long == "" {
			b.WriteString(about(c))
		}
		b.WriteString(flagsOf(c, common))
		example(&b, c, "")
	}
	if len(common) > 0 {
		b.WriteString("# COMMON OPTIONS\nEach of these commands has them.\n\n" + flagsNamed(all[0], common))
	}
	return b.String() + "# SEE ALSO\n**fed**(8)\n"
}

// runnable are cmd, and the commands below it, that do something.
func runnable(cmd *cobra.Command) (all []*cobra.Command) {
	if cmd.Runnable() {
		all = append(all, cmd)
	}
	for _, c := range listed(cmd) {
		all = append(all, runnable(c)...)
	}
	return all
}

// usage is how a command is called, its own words in bold letters.
func usage(c *cobra.Command) string {
	rest := strings.TrimPrefix(c.UseLine(), c.CommandPath())
	return "**" + c.CommandPath() + "**" + escaped(rest)
}

func about(c *cobra.Command) string {
	if c.Long != "" {
		return prose(c.Long)
	}
	return prose(sentence(c.Short))
}

func example(b *strings.Builder, c *cobra.Command, level string) {
	if c.Example == "" {
		return
	}
	if level != "" {
		b.WriteString(level + " EXAMPLES\n")
	}
	b.WriteString("```\n" + strings.Trim(c.Example, "\n") + "\n```\n\n")
}

// lower is a text that begins with a small letter, unless its first word is a name.
func lower(text string) string {
	first, _, _ := strings.Cut(text, " ")
	if first != strings.ToUpper(first) || len(first) == 1 {
		text = strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

// shared are the flags that all of several commands have, with the same meaning.
func shared(all []*cobra.Command) (names []string) {
	if len(all) < 2 {
		return nil
	}
	each(all[0], func(f *pflag.Flag) {
		for _, c := range all[1:] {
			if other := c.Flag(f.Name); other == nil || other.Usage != f.Usage {
				return
			}
		}
		names = append(names, f.Name)
	})
	return names
}

// each calls f for the flags of a command, inherited ones too, that help lists. All commands have --help.
func each(c *cobra.Command, f func(*pflag.Flag)) {
	for _, set := range []*pflag.FlagSet{c.LocalFlags(), c.InheritedFlags()} {
		set.VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden && flag.Name != "help" {
				f(flag)
			}
		})
	}
}

func flagsOf(c *cobra.Command, but []string) string {
	var b strings.Builder
	each(c, func(f *pflag.Flag) {
		if !slices.Contains(but, f.Name) {
			b.WriteString(flag(f))
		}
	})
	return b.String()
}

func flagsNamed(c *cobra.Command, names []string) string {
	var b strings.Builder
	each(c, func(f *pflag.Flag) {
		if slices.Contains(names, f.Name) {
			b.WriteString(flag(f))
		}
	})
	return b.String()
}

// valueWords are Slurm's words for the types of flags.
var valueWords = map[string]string{"string": "text", "strings": "list", "stringArray": "text", "int": "n", "int64": "n", "uint32": "n", "float": "number", "duration": "time"}

// longList is a list without blanks that no line could hold.
var longList = regexp.MustCompile(`[a-z_]+(,[a-z_]+){5,}`)

// flag is one flag with what it is for and its default.
func flag(f *pflag.Flag) string {
	value, text := pflag.UnquoteUsage(f)
	if word := valueWords[value]; word != "" {
		value = word
	}
	out := "**--" + f.Name + "**"
	if f.Shorthand != "" {
		out = "**-" + f.Shorthand + "**, " + out
	}
	if value != "" {
		out += " *" + escaped(value) + "*"
	}
	text = sentence(text)
	if zero := []string{"", "false", "0", "0s", "[]", "<nil>"}; !slices.Contains(zero, f.DefValue) && !strings.Contains(text, "default") {
		text += " Default: " + strings.Trim(f.DefValue, "[]") + "."
	}
	text = longList.ReplaceAllStringFunc(text, func(list string) string { return strings.ReplaceAll(list, ",", ", ") })
	return out + "\n: " + escaped(text) + "\n\n"
}

var (
	link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	key  = regexp.MustCompile("(?m)^- `([^`]+)` \\(([^)]*)\\): (.*)$")
)

// configuration is the page of the configuration, from its reference, docs/configuration.md.
func configuration(reference string) string {
	_, intro, _ := strings.Cut(reference, "\n\n")
	intro, keys, _ := strings.Cut(intro, "<!--")
	_, keys, _ = strings.Cut(keys, "-->")
	text := func(s string) string { return link.ReplaceAllString(s, "$1") }
	keys = strings.ReplaceAll(keys, "\n## ", "\n### ")
	keys = key.ReplaceAllString(text(keys), "**$1** ($2)\n: $3\n")
	return "# NAME\nfed.yaml - the configuration of the daemon of a federation\n\n# SYNOPSIS\n/etc/fsub/fed.yaml\n\n# DESCRIPTION\n" + text(intro) +
		"\nA heading below names the key under which its keys stand.\n\n# KEYS\n" + keys +
		"\n# SEE ALSO\n**fed**(8), **fed-config**(8), **fed-serve**(8)\n"
}
