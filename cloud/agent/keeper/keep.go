package keeper

import (
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keep is the keeper's whole life.
func keep() {
	debug.SetGCPercent(50)
	// A terminal, a shell or an operator may signal the whole group; the keeper ends with its agent
	// and not before.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	// This thread is the one whose end would end the script (PDEATHSIG): init runs on the main
	// thread, which stays.
	k := &keeping{}
	if err := k.start(); err != nil {
		tell(event{Failed: err.Error()})
	} else {
		go k.obey()
		k.wait()
	}
	tell(event{Done: true, Usage: usage()})
}

// keeping is a keeper's state.
type keeping struct {
	c   Config
	pid atomic.Int64 // of the script; 0: it has ended

	noted map[int]string // when the descendants that were remembered have begun, by number of process; obey's alone
}

func readConfig() (c Config, err error) {
	f := os.NewFile(configFD, "config")
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<40)) // the stage reads the same file
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	return c, err
}

// start forks the stage.
func (k *keeping) start() (err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	if k.c, err = readConfig(); err != nil {
		return err
	}
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if k.c.Become {
		attr.Credential = &syscall.Credential{Uid: k.c.UID, Gid: k.c.GID, Groups: k.c.Groups}
	}
	if k.c.Cgroup != "" {
		attr.UseCgroupFD, attr.CgroupFD = true, cgroupFD
	}
	for _, f := range k.c.Tasks { // version 1 counts threads: what this one forks is where it is
		if err := os.WriteFile(f, []byte("0"), 0); err != nil {
			return err
		}
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{stageName}, &syscall.ProcAttr{
		Env: []string{"GOMAXPROCS=1"}, Files: []uintptr{configFD, ^uintptr(0), 2, eventFD}, Sys: attr})
	k.pid.Store(int64(pid))
	return err
}

// obey does what the agent asks. The socket's end is the agent's.
func (k *keeping) obey() {
	buf := make([]byte, 512)
	for {
		n, err := syscall.Read(eventFD, buf)
		if err == syscall.EINTR {
			continue
		}
		var r request
		if err != nil || n <= 0 || json.Unmarshal(buf[:n], &r) != nil {
			r = request{Kill: true}
		}
		switch {
		case r.Kill:
			killAll(k.c.Cgroup) // wait ends when nothing is left, and with it this process
		case r.Note:
			k.noted = map[int]string{}
			for _, pid := range descendants(os.Getpid()) {
				k.noted[pid] = begun(pid)
			}
		case r.All, r.Rest:
			for _, pid := range descendants(os.Getpid()) {
				switch {
				case r.Rest && pid == int(k.pid.Load()):
				case r.Noted && (k.noted[pid] == "" || k.noted[pid] != begun(pid)):
				default:
					syscall.Kill(pid, syscall.Signal(r.Signal))
				}
			}
		default:
			if pid := k.pid.Load(); pid != 0 {
				syscall.Kill(int(pid), syscall.Signal(r.Signal))
			}
		}
	}
}

// wait collects children, the script and what it left, until there is none.
func (k *keeping) wait() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WALL, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return
		case pid == int(k.pid.Load()):
			k.pid.Store(0) // a signal that comes now must not meet another process
			tell(event{Exited: true, Status: int(status), Usage: usage()})
		}
	}
}

func tell(e event) {
	text, err := json.Marshal(e)
	if err != nil {
		return
	}
	for unix.Send(eventFD, text, unix.MSG_NOSIGNAL) == syscall.EINTR {
	}
}

// usage is what children that were waited for have used, and their children if they were waited for.
func usage() Usage {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ru) != nil {
		return Usage{}
	}
	return Usage{User: time.Duration(ru.Utime.Nano()), System: time.Duration(ru.Stime.Nano()), MaxRSS: ru.Maxrss << 10, Read: ru.Inblock * 512, Write: ru.Oublock * 512}
}
