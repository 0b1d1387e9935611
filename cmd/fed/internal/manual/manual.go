// Package manual writes the manual pages and the scripts of completion, for packages: fed's from its tree of commands, those of fsub and of Slurm's commands from the tables
// of options that the commands read ([commands.About]), fed.yaml(5) from the reference of the configuration. Nothing of them is kept in the repository.
package manual

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"

	"fsub/cmd/internal/build"
	"fsub/cmd/internal/commands"
	"fsub/cmd/internal/complete"
)

// NewCommand is "fed manual", which packages are made with. root is fed, with all of its commands.
func NewCommand(root *cobra.Command) *cobra.Command {
	var docs string
	cmd := &cobra.Command{
		Use:    "manual DIR",
		Short:  "Write the manual pages and the completions of all commands below DIR",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			reference, err := os.ReadFile(filepath.Join(docs, "configuration.md"))
			if err != nil {
				return err
			}
			date, err := Date()
			if err != nil {
				return err
			}
			return write(args[0], Files(root, string(reference), date, build.Read().Version))
		},
	}
	cmd.Flags().StringVar(&docs, "docs", "docs", "directory with configuration.md")
	return cmd
}

// Date is that of the pages: SOURCE_DATE_EPOCH, else when this build's commit was made.
func Date() (time.Time, error) {
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		n, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("invalid SOURCE_DATE_EPOCH %q: want seconds since 1970", epoch)
		}
		return time.Unix(n, 0).UTC(), nil
	}
	made, err := time.Parse(time.RFC3339, build.Read().Date)
	if err != nil {
		return time.Now().UTC(), nil
	}
	return made, nil
}

// Files are the pages and scripts by name: man/fed.8, completions/bash/fed. Completions for Slurm's own names are apart, in fsub-shims: they are for users whose PATH has
// fsub's links in front, as pages of these names are, which Slurm's packages have too.
func Files(root *cobra.Command, reference string, date time.Time, version string) map[string][]byte {
	p := printer{date: date.Format(time.DateOnly), source: "fsub"}
	if !strings.Contains(version, "-") { // a release
		p.source += " " + version
	}
	files := map[string][]byte{
		"man/fed.yaml.5":    p.page("fed.yaml", 5, configuration(reference)),
		"man/fsub-shims.7":  p.page("fsub-shims", 7, shims()),
		"man/fed-agent.8":   p.page("fed-agent", 8, agentPage),
		"man/fsub-remote.1": p.page("fsub-remote", 1, slurmCommand("fsub")),
	}
	for _, name := range append([]string{"fsub"}, commands.Shims()...) {
		files["man/"+name+".1"] = p.page(name, 1, slurmCommand(name))
	}
	files["man/fed.8"] = p.page("fed", 8, fed(root))
	for _, c := range listed(root) {
		files["man/fed-"+c.Name()+".8"] = p.page("fed-"+c.Name(), 8, noun(c))
	}
	for shell, script := range complete.Shells {
		name := map[string]string{"bash": "%s", "zsh": "_%s", "fish": "%s.fish"}[shell]
		at := func(of string) string { return "completions/" + shell + "/" + fmt.Sprintf(name, of) }
		files[at("fsub")] = []byte(script([]string{"fsub"}))
		files[at("fsub-shims")] = []byte(script(commands.Shims()))
		files[at("fed")] = fedCompletion(root, shell)
	}
	return files
}

func fedCompletion(root *cobra.Command, shell string) []byte {
	var b bytes.Buffer
	switch shell {
	case "bash":
		_ = root.GenBashCompletionV2(&b, true) // a bytes.Buffer takes everything
	case "zsh":
		_ = root.GenZshCompletion(&b)
	case "fish":
		_ = root.GenFishCompletion(&b, true)
	}
	return b.Bytes()
}

func write(dir string, files map[string][]byte) error {
	var all error
	for name, text := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, text, 0o644)
		}
		all = errors.Join(all, err)
	}
	return all
}

// listed are the commands below one that help lists, in the order of the alphabet.
func listed(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return c.Hidden || c.Name() == "help" })
}

// printer makes pages of Markdown.
type printer struct{ date, source string }

func (p *printer) page(name string, section int, markdown string) []byte {
	manual := map[int]string{1: "User Commands", 5: "File Formats", 7: "Miscellaneous", 8: "System Administration"}[section]
	head := fmt.Sprintf("%% %q %q %q %q %q\n", strings.ToUpper(name), strconv.Itoa(section), p.date, p.source, manual)
	return minuses(md2man.Render([]byte(head + markdown)))
}

var bold = regexp.MustCompile(`\\fB[^\\]*`)

// minuses makes minus signs of what is typed: a hyphen of roff is another sign, which no shell takes.
func minuses(roff []byte) []byte {
	var b bytes.Buffer
	example := false
	for line := range bytes.Lines(roff) {
		example = bytes.HasPrefix(line, []byte(".EX")) || example && !bytes.HasPrefix(line, []byte(".EE"))
		switch {
		case bytes.HasPrefix(line, []byte(".TH")):
		case example && !bytes.HasPrefix(line, []byte(".")):
			line = bytes.ReplaceAll(line, []byte("-"), []byte(`\-`))
		default:
			line = bold.ReplaceAllFunc(line, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("-"), []byte(`\-`)) })
			line = bytes.ReplaceAll(line, []byte("--"), []byte(`\-\-`))
		}
		b.Write(line)
	}
	return b.Bytes()
}

// escaped is plain text in Markdown.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "#", `\#`, "|", `\|`, "~", `\~`, "&", `\&`).Replace(text)
}

// sentence is a text with a capital letter and a period.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	if first, rest, _ := strings.Cut(text, " "); first == strings.ToLower(first) && !strings.ContainsAny(first, "=/_") {
		text = strings.ToUpper(first[:1]) + first[1:]
		if rest != "" {
			text += " " + rest
		}
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// prose is a text of paragraphs. Lines that begin with blanks, or have columns, are shown as they are.
func prose(text string) string {
	var b strings.Builder
	var lines []string
	asIs := false
	flush := func() {
		switch {
		case len(lines) == 0:
		case asIs:
			b.WriteString("```\n" + strings.Join(lines, "\n") + "\n```\n\n")
		default:
			b.WriteString(escaped(strings.Join(lines, " ")) + "\n\n")
		}
		lines = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		columns := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t") || strings.Contains(line, "   ")
		if line == "" || columns != asIs {
			flush()
		}
		if asIs = columns; line != "" {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	flush()
	return b.String()
}
