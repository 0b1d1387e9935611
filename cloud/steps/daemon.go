package steps

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/container/hold"
	"fsub/cloud/steps/wire"
)

// Daemon is the main function of the process that runs a step's tasks on one node, as the job's
// user. Its only way out is the socket that it inherits as file 3: the orders come from there, and
// when it closes everything ends.
func Daemon() int {
	if n := len(os.Args); n > 2 && os.Args[n-2] == receiveWord {
		return receive(os.Args[n-1], os.Stdin)
	} else if n > 2 && os.Args[n-2] == hold.Word {
		return hold.Main(os.Args[n-1])
	} else if n > 1 && os.Args[n-1] == sweepWord {
		return sweepStale()
	}
	debug.SetGCPercent(400)
	// Whoever has started the agent in the background may have had these ignored. What is caught
	// has its default action in tasks; what is ignored would stay so.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT)
	unix.CloseRange(4, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC) // what the agent may have left open is not for tasks
	f := os.NewFile(3, "orders")
	if f == nil {
		return 2
	}
	c, err := net.FileConn(f)
	f.Close()
	if err != nil {
		return 2
	}
	in := wire.NewReader(bufio.NewReaderSize(c, 16<<10))
	first, err := in.Read()
	if err != nil || first.Kind != wire.Launch {
		return 2
	}
	var launch wire.NodeLaunch
	if json.Unmarshal(first.Payload, &launch) != nil {
		return 2
	}
	// What tasks leave behind becomes a child of this process, and is found and killed at the end.
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	d := &daemon{n: &launch, out: wire.NewWriter(c), tasks: make([]task, len(launch.Tasks)), files: map[string]*os.File{}}
	return d.main(in)
}

// daemon is a step on one node.
type daemon struct {
	n     *wire.NodeLaunch
	out   *wire.Writer
	files map[string]*os.File // opened for several tasks, by name
	pumps sync.WaitGroup
	pty   *os.File // the terminal's other side
	mpi   mpi      // nil: not for MPI programs
	box   *box     // nil: the tasks are in no container
	ptyFD int
	ooms  int // kills for want of memory in the cgroup, so far

	mu     sync.Mutex
	tasks  []task
	left   int         // tasks that have not ended
	exits  []wire.Exit // not reported yet
	killed time.Time   // when all that is left was killed
	used   wire.NodeUsed
	taken  uint64 // bytes of stdin that all tasks have taken, as reported
	fed    uint64 // that came
}

// task is one task.
type task struct {
	pid   int
	ended bool
	stdin *feed // nil: not from srun
}

func (d *daemon) main(in *wire.Reader) int {
	var err error
	d.prepare()
	d.left = len(d.tasks)
	if d.mpi, err = newMPI(d); err != nil {
		d.complain("mpi/" + d.n.MPI.Type + ": " + words(err))
	}
	if d.n.Box == nil || d.contain(in) {
		for i := range d.tasks {
			d.start(i)
		}
	}
	for _, f := range d.files {
		f.Close()
	}
	d.out.Write(wire.Started, uint32(d.n.Node), nil)
	if d.box == nil {
		go d.obey(in)
	}
	d.box.begin(d)
	if d.left == 0 {
		killAll(syscall.SIGKILL) // no task's end will do it, and a container has a process beside the tasks
	}
	d.reap()
	d.drain()
	d.closeMPI() // which may remove files in the container
	d.box.close()
	d.tellExits()
	if d.used.OOM {
		kills, events := oomKills()-d.ooms, "events"
		if kills == 1 {
			events = "event"
		}
		d.complain(fmt.Sprintf("Detected %d oom_kill %s in StepId=%d.%d. Some of the step tasks have been OOM Killed.", kills, events, d.n.Job, d.n.Step))
	}
	d.out.WriteJSON(wire.NodeEnd, uint32(d.n.Node), d.used)
	return 0
}

// prepare gives the daemon what all of its tasks inherit.
func (d *daemon) prepare() {
	d.ooms = oomKills()
	p := &d.n.Part
	syscall.Umask(p.Umask)
	if err := os.Chdir(p.Dir); err != nil {
		if d.n.Box == nil { // a folder of a container is not one of the machine's, and the container says where its tasks begin
			d.complain("couldn't chdir to `" + p.Dir + "': " + words(err) + ": going to /tmp instead")
		}
		os.Chdir("/tmp")
	}
}

// complain tells the step's stderr, as slurmstepd would.
func (d *daemon) complain(text string) {
	d.out.Write(wire.Stderr, wire.All, []byte("slurmstepd: error: "+text+"\n"))
}

// words is the C library's text for an error, without what was done to what.
func words(err error) string {
	if n, ok := errors.AsType[syscall.Errno](err); ok {
		return errnoWords(n)
	}
	return err.Error()
}

// obey carries out what comes through the socket. Its end is the end of everything.
func (d *daemon) obey(in *wire.Reader) {
	for {
		f, err := in.Read()
		if err != nil {
			for range 50 {
				killAll(syscall.SIGKILL)
				time.Sleep(20 * time.Millisecond)
			}
			d.closeMPI()
			os.Exit(1)
		}
		if !d.box.later(f) {
			d.give(f)
		}
	}
}

// give does to the tasks what a frame says.
func (d *daemon) give(f wire.Frame) {
	switch f.Kind {
	case wire.Stdin:
		d.feed(f)
	case wire.Window:
		if size, err := wire.JSON[wire.Size](f); err == nil {
			d.resize(size)
		}
	case wire.Signal:
		killAll(syscall.Signal(f.N))
	case wire.Kill:
		if d.mpi != nil {
			d.mpi.end()
		}
		d.kill(time.Duration(f.N) * time.Millisecond)
	case wire.Met:
		d.met(f)
	}
}

// kill ends the tasks: at once, or with a warning first.
func (d *daemon) kill(grace time.Duration) {
	if grace > 0 {
		killAll(syscall.SIGCONT)
		killAll(syscall.SIGTERM)
	}
	time.AfterFunc(grace, func() {
		d.mu.Lock()
		d.killed = time.Now()
		d.mu.Unlock()
		for alive := true; alive; time.Sleep(dying) { // the kernel's list of children may miss one while another ends
			killAll(syscall.SIGKILL)
			d.mu.Lock()
			alive = d.left > 0
			d.mu.Unlock()
		}
	})
}

// gather is how long the end of a task waits for others, so that srun tells of them in one line; dying is how long after all were killed.
const (
	gather = 15 * time.Millisecond
	dying  = time.Second
)

// tellSoon tells of ended tasks once no other task ends, or all have.
func (d *daemon) tellSoon(told int) {
	time.AfterFunc(gather, func() {
		d.mu.Lock()
		more := len(d.exits) > told || d.left > 0 && !d.killed.IsZero() && time.Since(d.killed) < dying
		told = len(d.exits)
		d.mu.Unlock()
		switch {
		case told == 0:
		case more:
			d.tellSoon(told)
		default:
			d.tellExits()
		}
	})
}

// reap waits for the tasks, kills what they leave behind, and waits for that too.
func (d *daemon) reap() {
	over := make(chan struct{})
	var killing sync.WaitGroup
	defer killing.Wait() // what is started from now on is not to be killed
	defer close(over)
	keeps := false
	for {
		d.mu.Lock()
		left := d.left
		d.mu.Unlock()
		if left == 0 && !keeps {
			keeps = true
			killing.Go(func() { keepKilling(func() { killAll(syscall.SIGKILL) }, over) })
		}
		var status syscall.WaitStatus
		var used syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, 0, &used)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil: // ECHILD: nothing is left
			return
		}
		d.mu.Lock()
		d.count(pid, &used)
		mine := d.end(pid, status)
		left = d.left
		d.mu.Unlock()
		if left == 0 {
			if mine {
				d.tellExits()
			}
			killAll(syscall.SIGKILL)
		}
	}
}

// keepKilling kills what the tasks have left behind, again and again until all of it is over: the kernel's list of children may miss one while another ends, and what
// was missed last would be waited for as long as it likes.
func keepKilling(kill func(), over <-chan struct{}) {
	again := time.NewTicker(dying)
	defer again.Stop()
	for {
		select {
		case <-over:
			return
		case <-again.C:
			kill()
		}
	}
}

// end notes the end of a task. The caller holds mu.
func (d *daemon) end(pid int, status syscall.WaitStatus) bool {
	for i := range d.tasks {
		if t := &d.tasks[i]; t.pid == pid && !t.ended {
			d.endTask(i, uint32(status))
			return true
		}
	}
	return false
}

// endTask: the caller holds mu.
func (d *daemon) endTask(i int, status uint32) {
	t := &d.tasks[i]
	t.ended = true
	d.left--
	if t.stdin != nil {
		t.stdin.close()
	}
	if len(d.exits) == 0 && d.left > 0 {
		d.tellSoon(1)
	}
	e := wire.Exit{Rank: d.n.Tasks[i].Rank, Status: status}
	if now := oomKills(); syscall.WaitStatus(status).Signal() == syscall.SIGKILL && now > d.ooms {
		e.OOM, d.used.OOM = true, true
	}
	d.exits = append(d.exits, e)
}

func (d *daemon) tellExits() {
	d.mu.Lock()
	exits := d.exits
	d.exits = nil
	d.mu.Unlock()
	if len(exits) > 0 {
		d.out.WriteJSON(wire.Exits, uint32(d.n.Node), exits)
	}
}

// count adds what an ended process used. The caller holds mu.
func (d *daemon) count(pid int, u *syscall.Rusage) {
	d.used.User += time.Duration(u.Utime.Nano())
	d.used.System += time.Duration(u.Stime.Nano())
	rss := u.Maxrss << 10
	if d.used.RSS += rss; rss > d.used.MaxRSS { // tasks run side by side, as a rule
		d.used.MaxRSS, d.used.Rank = rss, 0
		for i := range d.tasks {
			if d.tasks[i].pid == pid {
				d.used.Rank = d.n.Tasks[i].Rank
			}
		}
	}
	d.used.Read += u.Inblock * 512
	d.used.Write += u.Oublock * 512
}

// drain waits for the rest of the output. A process that cannot be killed does not block the step forever.
func (d *daemon) drain() {
	done := make(chan struct{})
	go func() { d.pumps.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
	}
}
