package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a running script with all its descendants. The three channels are closed in their
// order; the fields below each are valid from then on.
type Process struct {
	Begun  chan struct{} // the script has begun, or cannot
	PID    int           // of the script
	Failed error         // why it cannot; an *IOError if input or output could not be opened
	Stderr *os.File      // the script's standard error, to write to. nil if it could not begin
	Out    *Output       // nil if it is not a regular file, or its user may not read it
	Err    *Output       // the same, and nil if both are one file

	Exited chan struct{}      // the script has ended; what it left may live on
	Status syscall.WaitStatus // how

	Done  chan struct{} // nothing lives any more
	Usage Usage

	cmd  *exec.Cmd
	conn *net.UnixConn
	mu   sync.Mutex // of conn's sending side
}

// Output is a file that a script writes, open for reading.
type Output struct {
	File  *os.File
	Start int64 // where the script's output begins
}

// IOError is standard input, output or error that could not be opened.
type IOError struct{ Text string }

func (e *IOError) Error() string { return e.Text }

// errKeeper: the keeper itself was killed. What it kept is on its way to the agent, or to PID 1.
var errKeeper = errors.New("the process that kept the job's processes together has died")

// Start starts a keeper. log takes what it has to say if it breaks.
func Start(c Config, log *os.File) (*Process, error) {
	config, err := memoryFile(c)
	if err != nil {
		return nil, err
	}
	defer config.Close()
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	p := &Process{Begun: make(chan struct{}), Exited: make(chan struct{}), Done: make(chan struct{}), conn: ours}
	p.cmd = &exec.Cmd{Path: "/proc/self/exe", Args: []string{keeperName}, Env: []string{"GOMAXPROCS=2"}, Dir: "/", Stdin: config, Stdout: log, Stderr: log,
		ExtraFiles: []*os.File{theirs}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if c.Cgroup != "" {
		dir, err := os.Open(c.Cgroup)
		if err != nil {
			ours.Close()
			return nil, err
		}
		defer dir.Close()
		p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, dir)
	}
	if err := p.cmd.Start(); err != nil {
		ours.Close()
		return nil, err
	}
	go p.follow()
	return p, nil
}

// memoryFile is c in a file that has no name: nothing of it shows in any process list.
func memoryFile(c Config) (*os.File, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("config", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "config")
	if _, err := f.Write(text); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func socketPair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	theirs = os.NewFile(uintptr(fds[1]), "events")
	file := os.NewFile(uintptr(fds[0]), "events")
	defer file.Close()
	c, err := net.FileConn(file)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return c.(*net.UnixConn), theirs, nil
}

// follow takes what keeper and stage tell until both have ended.
func (p *Process) follow() {
	begun, exited := false, false
	buf, oob := make([]byte, 4096), make([]byte, unix.CmsgSpace(3*4))
	for {
		n, oobn, _, _, err := p.conn.ReadMsgUnix(buf, oob)
		var e event
		if err != nil || n == 0 || json.Unmarshal(buf[:n], &e) != nil {
			break
		}
		switch {
		case e.Begun && !begun:
			p.PID = e.PID
			p.take(oob[:oobn], e)
			begun = true
			close(p.Begun)
		case e.Failed != "" && !begun:
			p.Failed = errors.New(e.Failed)
			if e.IO {
				p.Failed = &IOError{e.Failed}
			}
			begun = true
			close(p.Begun)
		case e.Exited && !exited:
			p.Status, exited = syscall.WaitStatus(e.Status), true
			if !begun {
				p.Failed, begun = fmt.Errorf("the process that was to become the script died (%s)", how(p.Status)), true
				close(p.Begun)
			}
			close(p.Exited)
		case e.Done:
			p.Usage = e.Usage
		}
	}
	p.conn.Close()
	err := p.cmd.Wait()
	if !begun {
		p.Failed = errors.Join(errKeeper, err)
		close(p.Begun)
	}
	if !exited {
		p.Status = syscall.WaitStatus(syscall.SIGKILL)
		close(p.Exited)
	}
	close(p.Done)
}

func how(s syscall.WaitStatus) string {
	if s.Signaled() {
		return s.Signal().String()
	}
	return "exit code " + strconv.Itoa(s.ExitStatus())
}

// take takes the files that came with the news that the script begins.
func (p *Process) take(oob []byte, e event) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	p.Stderr = os.NewFile(uintptr(fds[0]), "standard error")
	for i, fds := 0, fds[1:]; i < 2 && len(fds) > 0; i++ {
		if !e.Readers[i] {
			continue
		}
		o := &Output{File: os.NewFile(uintptr(fds[0]), "output"), Start: e.Start[i]}
		fds = fds[1:]
		if i == 0 {
			p.Out = o
		} else {
			p.Err = o
		}
	}
}

// Signal sends a signal to the script alone.
func (p *Process) Signal(sig syscall.Signal) { p.ask(request{Signal: int(sig)}) }

// SignalRest sends a signal to all that descends from the script.
func (p *Process) SignalRest(sig syscall.Signal) { p.ask(request{Signal: int(sig), Rest: true}) }

// Note remembers which processes there are, for SignalNoted.
func (p *Process) Note() { p.ask(request{Note: true}) }

// SignalNoted is SignalRest without the processes that have begun since Note: what the script's
// handler of a signal starts is not met by a later signal of the same kind.
func (p *Process) SignalNoted(sig syscall.Signal) {
	p.ask(request{Signal: int(sig), Rest: true, Noted: true})
}

// SignalAll sends a signal to the script and all that descends from it.
func (p *Process) SignalAll(sig syscall.Signal) { p.ask(request{Signal: int(sig), All: true}) }

// Kill kills all processes and makes the keeper end; Done is closed then. Closing our end of the
// socket has the same effect, in case processes of the user hold the other end and read what is
// meant for the keeper.
func (p *Process) Kill() {
	p.ask(request{Kill: true})
	p.conn.CloseWrite()
}

// sayTime is how long a line may take. Standard error may be a pipe that is full, or on a file
// server that is away.
const sayTime = time.Second

// Say writes a line to the script's standard error, if that takes it.
func (p *Process) Say(line string) {
	if p.Stderr == nil {
		return
	}
	said := make(chan struct{})
	go func() {
		defer close(said)
		io.WriteString(p.Stderr, line+"\n")
	}()
	select {
	case <-said:
	case <-time.After(sayTime):
	}
}

// Close gives up the files. The process must be done.
func (p *Process) Close() {
	for _, f := range []*os.File{p.Stderr, p.Out.file(), p.Err.file()} {
		if f != nil {
			f.Close()
		}
	}
}

func (o *Output) file() *os.File {
	if o == nil {
		return nil
	}
	return o.File
}

func (p *Process) ask(r request) {
	text, err := json.Marshal(r)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn.Write(text) // a keeper that has ended has nothing to do any more
}

// Runs reports whether a process of that name descends from the script and still runs.
func (p *Process) Runs(name string) bool {
	return slices.ContainsFunc(descendants(p.cmd.Process.Pid), func(pid int) bool {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
		_, state := Parent(pid)
		return strings.TrimSuffix(string(text), "\n") == name && state != 'Z' && state != 0
	})
}

// CPUTime is what the script, all that descends from it, and those of them that have ended have used so far.
func (p *Process) CPUTime() time.Duration { return CPUTime(p.cmd.Process.Pid) }

// Resident is how much memory all processes that descend from the script have now, in bytes.
func (p *Process) Resident() (sum int64) {
	for _, pid := range descendants(p.cmd.Process.Pid) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
		if f := strings.Fields(string(text)); err == nil && len(f) > 1 {
			pages, _ := strconv.ParseInt(f[1], 10, 64)
			sum += pages * int64(os.Getpagesize())
		}
	}
	return sum
}
