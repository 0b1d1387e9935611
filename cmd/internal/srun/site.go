package srun

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/refusal"
	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
)

// siteSrun is the srun of the Slurm cluster that a job runs at.
type siteSrun v1.SiteSrun

func readSiteSrun(reply []byte, c *conn.Conn) (*siteSrun, error) {
	s := new(siteSrun)
	if err := json.Unmarshal(reply, s); err != nil || s.Job <= 0 {
		return nil, errors.New("the daemon's answer makes no sense: is it of another version?")
	}
	if s.Host == "" && c.Remote() { // what it names is on the daemon's machine, and would be something else on this one
		return nil, fmt.Errorf("site %s is reached from the daemon's machine only: call this there (%s)", s.Site, c.Server())
	}
	return s, nil
}

// command is the site's srun, with args; without a command in them, it runs the user's shell there.
func (s *siteSrun) command(args []string, command bool, env []string, stdin *os.File) (argv []string, err error) {
	args = append([]string{"--jobid=" + strconv.FormatInt(s.Job, 10)}, args...)
	if s.Host == "" {
		if !command {
			args = append(args, cmp.Or(show.Env(env, "SHELL"), "/bin/sh"))
		}
		line := s.Command
		if len(line) == 0 {
			path := refusal.After("srun", env)
			if path == "" {
				return nil, fmt.Errorf("site %s: this machine has no srun in PATH beside the federation's", s.Site)
			}
			line = []string{path}
		}
		return slices.Concat(line, args), nil
	}
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		return nil, fmt.Errorf("site %s is reached by ssh: %w", s.Site, err)
	}
	argv = []string{ssh}
	if _, err := winsize(stdin); err == nil && slices.Contains(args, "--pty") {
		argv = append(argv, "-t")
	}
	if s.User != "" {
		argv = append(argv, "-l", s.User)
	}
	line := s.Command
	if len(line) == 0 {
		line = []string{"srun"}
	}
	text := quoted(slices.Concat(line, args))
	if !command {
		text += ` "${SHELL:-/bin/sh}"`
	}
	return append(argv, "--", s.Host, text), nil
}

// become has this process become a command. It returns only on error.
func become(argv, env []string) (int, error) {
	return 1, fmt.Errorf("%s: %w", argv[0], syscall.Exec(argv[0], argv, env))
}

// quoted is a line that a shell reads as these words.
func quoted(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("'" + strings.ReplaceAll(w, "'", `'\''`) + "'")
	}
	return b.String()
}

// withoutJob is a command line without its --jobid. What follows the command is the command's.
func withoutJob(args []string) []string {
	args = slices.Clone(args)
	_, command, _ := Split(args)
	for i := range len(args) - len(command) {
		name, _, given := strings.Cut(args[i], "=")
		if name != "--jobid" && name != "--jobi" {
			continue
		}
		n := 1
		if !given {
			n = 2
		}
		return slices.Delete(args, i, min(i+n, len(args)))
	}
	return args
}
