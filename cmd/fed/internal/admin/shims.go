package admin

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fsub/cmd/internal/commands"
	"fsub/cmd/internal/refusal"
)

// shimNames are Slurm's commands that fsub is by the name of the file. passNames pass on to the site's own within a job.
var (
	shimNames = commands.Names
	passNames = refusal.Names
)

func NewShimsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shims",
		Short: "Make Slurm's command names mean the federation, and see which win in a shell",
	}
	cmd.AddCommand(newShimsInstallCommand(), newShimsCheckCommand())
	return cmd
}

// shimInstaller is "fed shims install".
type shimInstaller struct {
	dir, fsub string
	noSrun    bool
}

func newShimsInstallCommand() *cobra.Command {
	var s shimInstaller
	cmd := &cobra.Command{
		Use:   "install DIR",
		Short: "Link Slurm's commands in DIR to fsub, and print the line that puts DIR first in PATH",
		Long: `Link Slurm's commands in DIR to fsub, and print the line that puts DIR first in PATH: eval "$(fed shims install DIR)".

Login shells set PATH again (bash -l, by which AiiDA and Cylc run every command): they need that line in ~/.profile.

They are ` + strings.Join(shimNames, ", ") + `, and ` + strings.Join(passNames, ", ") + `: these become the site's own within a job, and say what to do instead elsewhere.
Links to fsub are renewed; any other file with one of these names in DIR is an error and stays as it is.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.dir = args[0]
			return s.run(cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&s.fsub, "fsub", "", "the fsub binary (default: beside fed, else the one in PATH)")
	cmd.Flags().BoolVar(&s.noSrun, "no-srun", false, "leave out srun, salloc and the others that become a site's own where the federation does not answer")
	return cmd
}

func (s *shimInstaller) run(stdout, stderr io.Writer) error {
	target, err := s.target()
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return err
	}
	names := shimNames
	if !s.noSrun {
		names = append(append([]string(nil), shimNames...), passNames...)
	}
	todo, err := missingLinks(dir, target, names)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range todo {
		if err := replaceLink(target, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	line := "export PATH=" + quoted(dir) + ":$PATH"
	if len(todo) > 0 {
		fmt.Fprintf(stderr, "linked in %s to %s: %s\n", dir, target, strings.Join(todo, " "))
		if file := profile(os.Getenv("HOME")); !mentions(file, dir) {
			fmt.Fprintf(stderr, "login shells (bash -l, by which AiiDA and Cylc run every command) set PATH again; for them: echo %s >>%s\n", quoted(line), quoted(file))
		}
	}
	_, err = fmt.Fprintln(stdout, line)
	return err
}

// profile is the file that a login shell of bash reads in home: the first of these that is there.
func profile(home string) string {
	for _, name := range []string{".bash_profile", ".bash_login"} {
		if file := filepath.Join(home, name); mentions(file, "") {
			return file
		}
	}
	return filepath.Join(home, ".profile")
}

// mentions reports whether a file can be read and has text in it.
func mentions(file, text string) bool {
	b, err := os.ReadFile(file)
	return err == nil && strings.Contains(string(b), text)
}

// target is the fsub to link to.
func (s *shimInstaller) target() (string, error) {
	if s.fsub != "" {
		if !executable(s.fsub) {
			return "", fmt.Errorf("%s is not a program", s.fsub)
		}
		return filepath.Abs(s.fsub)
	}
	if self, err := os.Executable(); err == nil {
		if beside := filepath.Join(filepath.Dir(self), "fsub"); executable(beside) {
			return beside, nil
		}
	}
	found, err := exec.LookPath("fsub")
	if err != nil {
		return "", errors.New("no fsub beside fed or in PATH: name it with --fsub FILE")
	}
	return filepath.Abs(found)
}

// missingLinks are the names whose links are not there or lead to another fsub. What is not ours is
// an error that names all of it.
func missingLinks(dir, target string, names []string) (todo []string, err error) {
	var foreign []string
	for _, name := range names {
		file := filepath.Join(dir, name)
		to, linkErr := os.Readlink(file)
		_, statErr := os.Lstat(file)
		switch {
		case errors.Is(statErr, os.ErrNotExist):
			todo = append(todo, name)
		case statErr != nil:
			return nil, statErr
		case linkErr != nil || filepath.Base(to) != "fsub":
			foreign = append(foreign, file)
		case to != target:
			todo = append(todo, name)
		}
	}
	if len(foreign) > 0 {
		return nil, fmt.Errorf("these are not links to fsub: %s; nothing was linked: move them away, or choose an empty directory", strings.Join(foreign, " "))
	}
	return todo, nil
}

// replaceLink makes a link where there is none or one of ours, without a moment in which there is none.
func replaceLink(target, file string) error {
	tmp := file + ".new"
	os.Remove(tmp)
	if err := os.Symlink(target, tmp); err != nil {
		return err
	}
	return os.Rename(tmp, file)
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}

// quoted is text as a shell reads it as one word.
func quoted(text string) string {
	if !strings.ContainsAny(text, " \t\n\"'\\$`*?[]{}()<>|&;#~!") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
