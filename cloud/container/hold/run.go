package hold

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"fsub/cloud/container"
)

// hostPath is where the programs of a machine are beyond the job's PATH.
const hostPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func (s *Spec) hostPath() string {
	if path, _ := container.Lookup(s.Env, "PATH"); path != "" {
		return path + ":" + hostPath
	}
	return hostPath
}

// find is the path of a program, "" if there is none.
func (s *Spec) program(name string) string {
	for _, dir := range filepath.SplitList(s.hostPath()) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

func (s *Spec) has(program string) bool { return s.program(program) != "" }

// cmd is a command with the environment that the programs get.
func (s *Spec) cmd(c container.Command) *exec.Cmd {
	cmd := &exec.Cmd{Path: s.program(c.Argv[0]), Args: c.Argv, Dir: s.Dir}
	if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
		cmd.Dir = "/"
	}
	cmd.Env = append(append(container.Passed(s.Env), "PATH="+s.hostPath()), c.Env...)
	return cmd
}

// run runs a command to its end; what it prints comes along with an error.
func (s *Spec) run(ctx context.Context, c container.Command) error {
	_, err := s.output(ctx, c)
	return err
}

// output runs a command and returns its stdout.
func (s *Spec) output(ctx context.Context, c container.Command) ([]byte, error) {
	log, err := s.logFile()
	if err != nil {
		return nil, err
	}
	defer log.Close()
	var out bytes.Buffer
	cmd := s.cmd(c)
	if cmd.Path == "" {
		return nil, container.Missing(c.Argv[0], c.Argv[0], "this")
	}
	cmd.Stdout, cmd.Stderr = &out, log
	if err := waitFor(ctx, cmd); err != nil {
		return nil, errors.New(err.Error() + s.logged(log, c.Argv[0]))
	}
	return out.Bytes(), nil
}

// waitFor runs a command, and when ctx ends kills it with its children: without root, podman lets
// another podman work for it, which would go on.
func waitFor(ctx context.Context, cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer stop()
	return cmd.Wait()
}

// logFile takes what programs say; it has no name.
func (s *Spec) logFile() (*os.File, error) {
	f, err := os.CreateTemp(s.Dirs.Run, "log-")
	if err == nil {
		os.Remove(f.Name())
	}
	return f, err
}

const maxLog = 16 << 10

// lines returns the last lines of a program's output.
func (s *Spec) lines(log *os.File) []string {
	info, err := log.Stat()
	if err != nil {
		return nil
	}
	text, _ := io.ReadAll(io.NewSectionReader(log, max(info.Size()-maxLog, 0), maxLog))
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' })
}

// logged formats a program's output as pyxis does.
func (s *Spec) logged(log *os.File, program string) string {
	lines := s.lines(log)
	if len(lines) == 0 {
		return ""
	}
	return "\nprinting " + program + " log file:\n    " + strings.Join(lines, "\n    ")
}

// Remove removes a folder, even if folders in it are not writable. root needs no mode for that, and
// changes none: users, who can replace a folder at any moment, could choose whose mode changes.
func Remove(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	if os.Geteuid() != 0 {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() {
				os.Chmod(path, 0o700) // before it is read
			}
			return nil
		})
	}
	return os.RemoveAll(dir)
}
