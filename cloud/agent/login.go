package agent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"fsub/cloud/agentapi"
)

// loginTime is how long a login shell may take. Without its environment the job begins
// nevertheless, as under slurmd.
const loginTime = 10 * time.Second

// loginEnvironment is what a login shell of the user has in its environment: by su, as slurmd asks
// for it, or where that will not do (a user who was made a moment ago has no line in /etc/shadow)
// by a login shell itself. What its profile starts lives in the run's cgroup, if prepare puts it
// there, and ends with it.
func loginEnvironment(u agentapi.User, prepare func(*exec.Cmd), log *slog.Logger) []string {
	if os.Geteuid() == 0 && hasSu(u.Name) {
		if env, err := loginBy(u, prepare, suPath, "-", u.Name, "-c", tellLogin); err == nil {
			return env
		}
	}
	env, err := loginBy(u, prepare, "/bin/bash", "-l", "-c", tellLogin)
	if err != nil {
		log.Warn("no environment of a login shell", "user", u.Name, "err", err)
	}
	return env
}

const (
	beginLogin = "\x00fsub-login\x00"                       // what profiles print goes before it
	tellLogin  = `printf '\0fsub-login\0'; env -0; exit $?` // no exec: SHLVL is then what it is under slurmd
)

// maxLogin is how much a profile and its environment may be: a profile may print without end.
const maxLogin = 4 << 20

// capped takes so many bytes and then fails.
type capped struct {
	strings.Builder
	left int
}

func (c *capped) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		return 0, errors.New("it says too much")
	}
	return c.Builder.Write(p)
}

// loginBy runs a command that tells the environment of a login shell.
func loginBy(u agentapi.User, prepare func(*exec.Cmd), name string, args ...string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), loginTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = u.Home
	if !isDir(u.Home) {
		cmd.Dir = "/"
	}
	cmd.Env = []string{"HOME=" + u.Home, "USER=" + u.Name, "LOGNAME=" + u.Name, "SHELL=" + u.Shell, "MAIL=/var/mail/" + u.Name, "PATH=/usr/local/bin:/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if os.Geteuid() == 0 && name != suPath {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
	}
	if prepare != nil {
		prepare(cmd)
	}
	text := &capped{left: maxLogin}
	cmd.Stdout = text
	err := cmd.Run()
	_, vars, ok := strings.Cut(text.String(), beginLogin)
	switch {
	case !ok && err == nil:
		return nil, errors.New("it told nothing")
	case !ok:
		return nil, err
	}
	var env []string
	for v := range strings.SplitSeq(vars, "\x00") {
		if name, _, ok := strings.Cut(v, "="); ok && name != "_" {
			env = append(env, v)
		}
	}
	return env, nil
}

const suPath = "/bin/su"

// hasSu reports whether su can become a user: there is one of the name, with a shell to log in with.
func hasSu(name string) bool {
	text, err := os.ReadFile("/etc/passwd")
	if _, missing := os.Stat(suPath); err != nil || missing != nil || name == "" {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 7 && f[0] == name {
			return !strings.HasSuffix(f[6], "nologin") && !strings.HasSuffix(f[6], "false")
		}
	}
	return false
}
