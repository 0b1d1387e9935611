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
		b.WriteString("# DESCRIPTION\n" + about(cmd, nil))
	}
	if len(all) == 1 {
		example(&b, all[0], "# EXAMPLES\n")
		if flags := flagsOf(all[0], nil); flags != "" {
			b.WriteString("# OPTIONS\n" + flags)
		}
		return b.String() + "# SEE ALSO\n**fed**(8)\n"
	}
	flags, said := shared(all), repeated(all)
	b.WriteString("# COMMANDS\n")
	for _, c := range all {
		fmt.Fprintf(&b, "### %s\n", strings.ReplaceAll(usage(c), "**", ""))
		if c != cmd || cmd.Long == "" {
			b.WriteString(about(c, said))
		}
		example(&b, c, "")
		b.WriteString(flagsOf(c, flags))
	}
	if len(said) > 0 {
		b.WriteString("# NOTES\n" + prose(strings.Join(said, "\n\n")))
	}
	if len(flags) > 0 {
		b.WriteString("# COMMON OPTIONS\nSeveral of these commands have them, as each says.\n\n")
		for _, f := range flags {
			b.WriteString(flag(f))
		}
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

// about is what a command does, but for paragraphs that stand elsewhere.
func about(c *cobra.Command, elsewhere []string) string {
	if c.Long == "" {
		return prose(sentence(c.Short))
	}
	paragraphs := slices.DeleteFunc(strings.Split(c.Long, "\n\n"), func(p string) bool { return slices.Contains(elsewhere, p) })
	return prose(strings.Join(paragraphs, "\n\n"))
}

func example(b *strings.Builder, c *cobra.Command, heading string) {
	if c.Example != "" {
		b.WriteString(heading + "```\n" + strings.Trim(c.Example, "\n") + "\n```\n\n")
	}
}

// lower is a text that begins with a small letter, unless its first word is a name.
func lower(text string) string {
	first, _, _ := strings.Cut(text, " ")
	if first != strings.ToUpper(first) || len(first) == 1 {
		text = strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

// several is how many commands of a page have a flag, or a paragraph, that stands there once.
const several = 3

// repeated are long paragraphs of the help that several commands have.
func repeated(all []*cobra.Command) (paragraphs []string) {
	seen := map[string]int{}
	for _, c := range all {
		for p := range strings.SplitSeq(c.Long, "\n\n") {
			if seen[p]++; seen[p] == several && len(p) > 200 {
				paragraphs = append(paragraphs, p)
			}
		}
	}
	return paragraphs
}

// shared are the flags that several commands have, with the same meaning.
func shared(all []*cobra.Command) (flags []*pflag.Flag) {
	seen := map[string]int{}
	for _, c := range all {
		each(c, func(f *pflag.Flag) {
			if seen[flag(f)]++; seen[flag(f)] == several {
				flags = append(flags, f)
			}
		})
	}
	slices.SortFunc(flags, func(a, b *pflag.Flag) int { return strings.Compare(a.Name, b.Name) })
	return flags
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

// flagsOf are the flags of a command; of those that stand elsewhere only the names.
func flagsOf(c *cobra.Command, elsewhere []*pflag.Flag) string {
	var b strings.Builder
	var also []string
	each(c, func(f *pflag.Flag) {
		if slices.ContainsFunc(elsewhere, func(o *pflag.Flag) bool { return flag(o) == flag(f) }) {
			also = append(also, "**--"+f.Name+"**")
		} else {
			b.WriteString(flag(f))
		}
	})
	if len(also) > 0 { // in front: behind a list it would belong to its last entry
		return "Common options: " + strings.Join(also, ", ") + ".\n\n" + b.String()
	}
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
