// Package terminal runs a program on a terminal of its own, and waits for what it prints, as a user before the screen would.
package terminal

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal is a program on a terminal.
type Terminal struct {
	t    testing.TB
	side *os.File // the user's
	cmd  *exec.Cmd

	mu     sync.Mutex
	screen []byte // what was printed and not expected yet
	came   chan struct{}
	ended  chan struct{}
}

// Start starts cmd as the first process of a session on a terminal of so many rows and columns.
func Start(t testing.TB, cmd *exec.Cmd, rows, columns uint16) *Terminal {
	t.Helper()
	return StartBy(t, rows, columns, func(tty *os.File) (*exec.Cmd, error) {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
		return cmd, cmd.Start()
	})
}

// StartBy is Start with a function that starts the program with tty as its streams. It is the program's terminal once it has said so: setsid --ctty.
func StartBy(t testing.TB, rows, columns uint16, start func(tty *os.File) (*exec.Cmd, error)) *Terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("SKIPPED: this machine gives no terminals: %v", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	x := &Terminal{t: t, side: os.NewFile(uintptr(fd), "terminal"), came: make(chan struct{}, 1), ended: make(chan struct{})}
	x.resize(rows, columns)
	program, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if x.cmd, err = start(program); err != nil {
		t.Fatal(err)
	}
	go x.read()
	go func() { x.cmd.Wait(); close(x.ended) }()
	t.Cleanup(func() {
		x.cmd.Process.Kill()
		<-x.ended
		x.side.Close()
	})
	return x
}

func (x *Terminal) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := x.side.Read(buf)
		x.mu.Lock()
		x.screen = append(x.screen, buf[:n]...)
		x.mu.Unlock()
		select {
		case x.came <- struct{}{}:
		default:
		}
		if err != nil { // EIO: no process has the terminal any more
			return
		}
	}
}

func (x *Terminal) resize(rows, columns uint16) {
	x.t.Helper()
	if err := unix.IoctlSetWinsize(int(x.side.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		x.t.Fatal(err)
	}
	unix.SetNonblock(int(x.side.Fd()), true) // Fd has ended that
}

// Resize gives the terminal another size.
func (x *Terminal) Resize(rows, columns uint16) {
	x.t.Helper()
	x.resize(rows, columns)
}

// Type types text.
func (x *Terminal) Type(text string) {
	x.t.Helper()
	if _, err := x.side.WriteString(text); err != nil {
		x.t.Errorf("type %.40q: %v", text, err)
	}
}

// patience is how long anything may take on a busy machine.
const patience = time.Minute

// Expect waits until text is printed, and returns what came before it.
func (x *Terminal) Expect(text string) string {
	x.t.Helper()
	late := time.After(patience)
	for over := false; ; {
		x.mu.Lock()
		before, after, ok := strings.Cut(string(x.screen), text)
		if ok {
			x.screen = []byte(after)
		}
		x.mu.Unlock()
		if ok {
			return before
		}
		if over {
			x.t.Fatalf("the program has ended without %q; last it printed %q", text, last(before))
		}
		select {
		case <-x.came:
		case <-x.ended:
			over = true
			time.Sleep(50 * time.Millisecond) // what it printed last is on its way
		case <-late:
			x.t.Fatalf("%q is not printed; last came %q", text, last(before))
		}
	}
}

func last(s string) string { return s[max(0, len(s)-800):] }

// Process is the program's.
func (x *Terminal) Process() *os.Process { return x.cmd.Process }

// Wait waits for the program's end and returns its exit code, -1 if a signal ended it.
func (x *Terminal) Wait() int {
	x.t.Helper()
	select {
	case <-x.ended:
	case <-time.After(patience):
		x.t.Fatalf("the program does not end; last it printed %q", last(x.Expect("")))
	}
	return x.cmd.ProcessState.ExitCode()
}
