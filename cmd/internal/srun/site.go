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

// become has this process become the site's srun, with args; without a command in them, it runs the user's shell there. It returns only on error.
func (s *siteSrun) become(args []string, command bool, env []string, stdin *os.File) error {
	args = append([]string{"--jobid=" + strconv.FormatInt(s.Job, 10)}, args...)
	if s.Host == "" {
		if !command {
			args = append(args, cmp.Or(show.Env(env, "SHELL"), "/bin/sh"))
		}
		return s.here(args, env)
	}
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		return fmt.Errorf("site %s is reached by ssh: %w", s.Site, err)
	}
	words := []string{"ssh"}
	if _, err := winsize(stdin); err == nil && slices.Contains(args, "--pty") {
		words = append(words, "-t")
	}
	if s.User != "" {
		words = append(words, "-l", s.User)
	}
	line := s.Command
	if len(line) == 0 {
		line = []string{"srun"}
	}
	text := quoted(slices.Concat(line, args))
	if !command {
		text += ` "${SHELL:-/bin/sh}"`
	}
	return fmt.Errorf("%s: %w", ssh, syscall.Exec(ssh, append(words, "--", s.Host, text), env))
}

// here runs it on this machine.
func (s *siteSrun) here(args, env []string) error {
	line := s.Command
	if len(line) == 0 {
		path := refusal.After("srun", env)
		if path == "" {
			return fmt.Errorf("site %s: this machine has no srun in PATH beside the federation's", s.Site)
		}
		line = []string{path}
	}
	return fmt.Errorf("site %s: %s: %w", s.Site, line[0], syscall.Exec(line[0], slices.Concat(line, args), env))
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

// withoutJob is a command line without its --jobid, which stands before the command.
func withoutJob(args []string) []string {
	args = slices.Clone(args)
	for i := 0; i < len(args); i++ {
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
