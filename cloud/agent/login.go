package agent

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"fsub/cloud/agentapi"
)

// loginTime is how long a login shell may take. Without its environment the job begins nevertheless, as under slurmd.
const loginTime = 10 * time.Second

// loginEnvironment is what a login shell of the user has in its environment.
func loginEnvironment(u agentapi.User, log *slog.Logger) []string {
	ctx, cancel := context.WithTimeout(context.Background(), loginTime)
	defer cancel()
	const begin = "\x00fsub-login\x00" // what profiles print goes before it
	const tell = `printf '\0fsub-login\0'; exec env -0`
	cmd := exec.CommandContext(ctx, "/bin/bash", "-l", "-c", tell)
	asRoot := os.Geteuid() == 0
	if asRoot && hasSu(u.Name) { // as slurmd does it
		cmd = exec.CommandContext(ctx, suPath, "-", u.Name, "-c", tell)
		asRoot = false
	}
	cmd.Dir = u.Home
	if !isDir(u.Home) {
		cmd.Dir = "/"
	}
	cmd.Env = []string{"HOME=" + u.Home, "USER=" + u.Name, "LOGNAME=" + u.Name, "SHELL=" + u.Shell, "PATH=/usr/local/bin:/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if asRoot {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
	}
	text, err := cmd.Output()
	_, vars, ok := strings.Cut(string(text), begin)
	if !ok {
		log.Warn("no environment of a login shell", "user", u.Name, "err", err)
		return nil
	}
	var env []string
	for v := range strings.SplitSeq(vars, "\x00") {
		if name, _, ok := strings.Cut(v, "="); ok && name != "_" {
			env = append(env, v)
		}
	}
	return env
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
