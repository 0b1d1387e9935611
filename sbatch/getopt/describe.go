package getopt

import (
	"fmt"
	"strings"
)

// Described is an option as help, manual pages and completions show it. Without Name and Short it is a word of the command line, which Value has.
type Described struct {
	Option
	Also  []Option // its other names
	Value string   // what its value is called: "names"
	Env   string   // the variables that stand for it, with blanks between them
	Help  string   // one sentence of what it is for, without a capital letter and a period
}

// Group is options under a heading, "GPU scheduling options".
type Group struct {
	Title   string
	Options []Described
}

// Form is the option as it is written: "-p, --partition=names".
func (d *Described) Form() string {
	if d.Name == "" && d.Short == 0 {
		return d.Value
	}
	var names []string
	for _, o := range append([]Option{d.Option}, d.Also...) {
		if o.Short != 0 {
			names = append(names, "-"+string(rune(o.Short)))
		}
		if o.Name != "" {
			names = append(names, "--"+o.Name)
		}
	}
	form := strings.Join(names, ", ")
	switch {
	case d.Arg == RequiredArg && d.Name == "":
		return form + " " + d.Value
	case d.Arg == RequiredArg:
		return form + "=" + d.Value
	case d.Arg == OptionalArg:
		return form + "[=" + d.Value + "]"
	}
	return form
}

// line is the option in a help text.
func (d *Described) line() string {
	help := d.Help
	if d.Env != "" {
		help += " [" + d.Env + "]"
	}
	begin := "  " + d.Form()
	if d.Short == 0 && d.Name != "" {
		begin = "      " + d.Form()
	}
	const column = 34
	next := strings.Repeat(" ", column)
	if len(begin) > column-2 {
		return begin + "\n" + Wrapped(next, next, help)
	}
	return Wrapped(fmt.Sprintf("%-*s", column, begin), next, help)
}

// HelpText is a group in a help text.
func (g *Group) HelpText() string {
	var b strings.Builder
	b.WriteString("\n" + g.Title + ":\n")
	for i := range g.Options {
		b.WriteString(g.Options[i].line())
	}
	return b.String()
}

// Wrapped breaks a text between words into lines of at most 100 columns, the first behind first, the others behind next.
func Wrapped(first, next, text string) string {
	const width = 100
	var b strings.Builder
	b.WriteString(first)
	col, begun := len(first), false
	for _, word := range strings.Fields(text) {
		switch {
		case !begun:
			begun = true
		case col+1+len(word) > width:
			b.WriteString("\n" + next)
			col = len(next)
		default:
			b.WriteString(" ")
			col++
		}
		b.WriteString(word)
		col += len(word)
	}
	return b.String() + "\n"
}

// Plain are options without what is said of them.
func Plain(all []Described) []Option {
	out := make([]Option, len(all))
	for i := range all {
		out[i] = all[i].Option
	}
	return out
}
