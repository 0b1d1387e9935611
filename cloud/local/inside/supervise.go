package inside

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// supervise runs the agent and, when it ends or SIGTERM comes, kills all that descends from it:
// orphans become children of this process, so that none gets away by a fork. It does not return
// while one lives.
func supervise(agent string, argv []string, report *os.File) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, unix.SIGTERM)
	signal.Ignore(unix.SIGINT, unix.SIGHUP)
	cmd := &exec.Cmd{Path: agent, Args: argv, Stdout: os.Stdout, Stderr: os.Stderr}
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL} // the thread is locked: it lives as long as the process
	if err := cmd.Start(); err != nil {
		return err
	}
	report.Close()
	ended := make(chan struct{})
	go func() { reapUntil(cmd.Process.Pid); close(ended) }()
	select {
	case <-ended:
	case <-terms:
		_ = cmd.Process.Kill()
		<-ended
	}
	for killChildren() {
		_, _ = unix.Wait4(-1, nil, 0, nil)
	}
	return nil
}

// reapUntil reaps orphans until the agent ends.
func reapUntil(agent int) {
	for {
		pid, err := unix.Wait4(-1, nil, 0, nil)
		if pid == agent || err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// killChildren kills the children of this process and reports whether there were any.
func killChildren() bool {
	self := strconv.Itoa(os.Getpid())
	entries, _ := os.ReadDir("/proc")
	found := false
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) > 1 && fields[1] == self {
			found = true
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	return found
}
