package admin

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
)

func newShimsCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Say which of Slurm's commands win in this shell: ours, or the site's own; exit 1 if ours do not",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return checkShims(os.Getenv("PATH"), cmd.OutOrStdout())
		},
	}
}

// standing says what a command name leads to: all programs of that name in PATH, in order, and
// whether each is ours.
type standing struct {
	name  string
	files []string
	ours  []bool
}

func (s standing) wins() bool { return len(s.ours) > 0 && s.ours[0] }

func look(name, path string) standing {
	s := standing{name: name}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if !executable(file) || slices.Contains(s.files, file) {
			continue
		}
		real, err := filepath.EvalSymlinks(file)
		s.files, s.ours = append(s.files, file), append(s.ours, err == nil && filepath.Base(real) == "fsub")
	}
	return s
}

// checkShims prints a table of all commands, then what to do. Shell functions and aliases are not in sight.
func checkShims(path string, w io.Writer) error {
	t := cli.NewTable(w)
	t.Row("COMMAND", "FIRST IN PATH", "IS", "BEHIND IT")
	var lost []standing
	for _, name := range append(slices.Clone(shimNames), passNames...) {
		s := look(name, path)
		first, is, behind := "", "missing", ""
		if len(s.files) > 0 {
			first, is, behind = s.files[0], "the site's own", strings.Join(s.files[1:], " ")
			if s.ours[0] {
				is = "ours"
			}
		}
		if !s.wins() && !slices.Contains(passNames, name) { // without ours the site's srun and salloc are as good
			lost = append(lost, s)
		}
		t.Row(name, first, is, behind)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(lost) == 0 {
		return nil
	}
	fmt.Fprintln(w, advice(lost))
	return cli.ExitError(1)
}

// advice says what to do about commands that are not ours.
func advice(lost []standing) string {
	names := make([]string, len(lost))
	for i, s := range lost {
		names[i] = s.name
	}
	head := "not the federation's: " + strings.Join(names, " ") + "; "
	for _, s := range lost {
		if i := slices.Index(s.ours, true); i > 0 {
			return head + "ours stand behind others in PATH: export PATH=" + quoted(filepath.Dir(s.files[i])) + ":$PATH"
		}
	}
	return head + `run: eval "$(fed shims install $HOME/.fsub/bin)"`
}
