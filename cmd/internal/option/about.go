package option

import (
	"slices"
	"strings"

	"fsub/sbatch/getopt"
)

// About is what a command says of itself: its help, its manual page and its completion are made of it.
type About struct {
	Name    string
	Does    string         // what it does in some words: "view the jobs of the federation"
	Usage   []string       // how it is called; each line begins with the name
	Text    string         // paragraphs that stand before the options
	Words   []getopt.Group // words of its command line that are not options
	Groups  []getopt.Group // its options
	Ignored []string       // options that are taken and change nothing
	Refused []string       // options that are known and refused
	Notes   string         // paragraphs that stand behind the options
}

// Help is what --help prints.
func (a *About) Help() string {
	var b strings.Builder
	for i, line := range a.Usage {
		b.WriteString([]string{"Usage: ", "       "}[min(i, 1)] + line + "\n")
	}
	paragraphs(&b, a.Text)
	for _, all := range [][]getopt.Group{a.Words, a.Groups} {
		for i := range all {
			b.WriteString(all[i].HelpText())
		}
	}
	if len(a.Ignored) > 0 {
		b.WriteString("\nTaken without effect:\n" + getopt.Wrapped("  ", "  ", strings.Join(a.Ignored, " ")))
	}
	if len(a.Refused) > 0 {
		b.WriteString("\nKnown and refused:\n" + getopt.Wrapped("  ", "  ", strings.Join(a.Refused, " ")))
	}
	paragraphs(&b, a.Notes)
	return b.String()
}

func paragraphs(b *strings.Builder, text string) {
	if text == "" {
		return
	}
	for p := range strings.SplitSeq(text, "\n\n") {
		b.WriteString("\n" + getopt.Wrapped("", "", p))
	}
}

// aboutHelp are options that tell about the command; they stand behind the others.
var aboutHelp = []string{"help", "usage", "version", "helpformat", "helpFormat", "helpstate", "helpreason"}

// About describes the command with the options of the table.
func (s *Set[T]) About() About {
	a := s.about
	own, help := getopt.Group{Title: "Options"}, getopt.Group{Title: "Help options"}
	for i := range s.rows {
		r := &s.rows[i]
		switch {
		case r.As != "":
		case r.ignored() && r.Name != "":
			a.Ignored = append(a.Ignored, "--"+r.Name)
		case slices.Contains(aboutHelp, r.Name):
			help.Options = append(help.Options, s.described(r))
		default:
			own.Options = append(own.Options, s.described(r))
		}
	}
	for _, g := range []getopt.Group{own, help} {
		slices.SortStableFunc(g.Options, func(a, b getopt.Described) int {
			return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
		})
	}
	slices.Sort(a.Ignored)
	a.Groups = append(slices.Clip(a.Groups), own, help)
	return a
}

// described is a row with its other names.
func (s *Set[T]) described(r *Row[T]) getopt.Described {
	d := getopt.Described{Option: getopt.Option{Name: r.Name, Short: r.Short, Arg: r.takes()}, Value: r.Value, Env: r.Env, Help: r.Help}
	for i := range s.rows {
		if other := &s.rows[i]; other.As == r.Name && other.As != "" {
			d.Also = append(d.Also, getopt.Option{Name: other.Name, Short: other.Short})
		}
	}
	return d
}

// Help is what --help prints.
func (s *Set[T]) Help() string {
	a := s.About()
	return a.Help()
}
