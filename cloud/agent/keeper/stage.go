package keeper

import (
	"encoding/json"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stage makes of this process, which has the user's identity already, the script. It returns only
// if it cannot, with the exit code.
func stage() int {
	c, err := readConfig()
	if err != nil {
		tell(event{Failed: "read what to start: " + err.Error()})
		return 1
	}
	syscall.Umask(c.Umask)
	nowhere := enter(c.Dir)
	files, err := open(&c)
	if err != nil {
		tell(event{Failed: err.Error(), IO: true})
		return 1
	}
	for i, f := range files[:3] {
		if err := unix.Dup3(f, i, 0); err != nil && f != i {
			tell(event{Failed: err.Error(), IO: true})
			return 1
		}
	}
	say(nowhere)
	setLimits(c.Limits)
	if c.CPUs != nil {
		bind(c.CPUs)
	}
	if err := sendBegun(files, files[1] == files[2], c.Append); err != nil {
		tell(event{Failed: "tell the agent: " + err.Error()})
		return 1
	}
	forget()
	env := withPID(c.Env)
	for range 1000 {
		if err = syscall.Exec(c.Argv[0], c.Argv, env); err != syscall.ETXTBSY { // somebody has it open for writing still
			break
		}
		time.Sleep(time.Millisecond)
	}
	say("slurmstepd: error: execve(): " + culprit(c.Argv[0], err) + ": " + sentence(err) + "\n")
	if errno, ok := err.(syscall.Errno); ok {
		return int(errno) // as slurmstepd does
	}
	return 1
}

// forget takes from the script what it might inherit of whoever started the agent: open files, and
// signals that are ignored.
func forget() {
	signal.Notify(make(chan os.Signal, 1))    // a signal with a handler is at its default after exec; one that is ignored stays so
	for _, s := range []uintptr{32, 33, 34} { // those that Go leaves to C libraries
		var action [4]uint64 // the kernel's sigaction: SIG_DFL, no flags, no mask
		unix.RawSyscall6(unix.SYS_RT_SIGACTION, s, uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	}
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	fds, err := os.ReadDir("/proc/self/fd") // a kernel before 5.11
	if err != nil {
		return
	}
	for _, e := range fds {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// culprit is what could not be executed: where there is a script, and nothing is there, it is its interpreter.
func culprit(path string, err error) string {
	text, readErr := os.ReadFile(path)
	line, _, _ := strings.Cut(string(text[:min(len(text), 256)]), "\n")
	if interpreter, is := strings.CutPrefix(line, "#!"); is && readErr == nil && err == syscall.ENOENT {
		if words := strings.Fields(interpreter); len(words) > 0 {
			return "bad interpreter(" + words[0] + ")"
		}
	}
	return path
}

// say writes to the script's standard error.
func say(text string) {
	if text != "" {
		syscall.Write(2, []byte(text))
	}
}

// enter changes to dir, or to /tmp, and returns a message if it is the latter.
func enter(dir string) string {
	err := os.Chdir(dir)
	if err == nil {
		return ""
	}
	os.Chdir("/tmp")
	return strings.Repeat("slurmstepd: error: couldn't chdir to `"+dir+"': "+sentence(err)+": going to /tmp instead\n", 2) // 24.11 says it twice
}

// sentence is strerror(3) of an error, which begins with a capital letter.
func sentence(err error) string {
	text := err.Error()
	var errno syscall.Errno
	switch e := err.(type) {
	case *os.PathError:
		errno, _ = e.Err.(syscall.Errno)
	case syscall.Errno:
		errno = e
	}
	if errno != 0 {
		text = errno.Error()
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// open opens standard input, output and error, and a reader of each of the two. They are above those of a keeper.
func open(c *Config) (files []int, err error) {
	in := c.In
	if in == "" {
		in = "/dev/null"
	}
	how := unix.O_WRONLY | unix.O_CREAT | unix.O_APPEND // so does slurmstepd, whatever the open mode
	if !c.Append {
		how |= unix.O_TRUNC
	}
	files = make([]int, 3, 5)
	if files[0], err = openHigh(in, unix.O_RDONLY); err != nil {
		return nil, &os.PathError{Op: "open standard input", Path: in, Err: err}
	}
	if files[1], err = openHigh(c.Out, how); err != nil {
		return nil, &os.PathError{Op: "open standard output", Path: c.Out, Err: err}
	}
	if c.Err == "" || c.Err == c.Out {
		files[2] = files[1]
	} else if files[2], err = openHigh(c.Err, how); err != nil {
		return nil, &os.PathError{Op: "open standard error", Path: c.Err, Err: err}
	}
	return files, nil
}

// openHigh opens a file under a number that no standard file has. Folders that an output's name goes through are made, as slurmstepd does it.
func openHigh(path string, how int) (int, error) {
	for made := false; ; {
		fd, err := unix.Open(path, how|unix.O_CLOEXEC, 0o666)
		if err == unix.EINTR {
			continue
		}
		if err == unix.ENOENT && how&unix.O_CREAT != 0 && !made && os.MkdirAll(filepath.Dir(path), 0o755) == nil {
			made = true
			continue
		}
		if err != nil || fd > cgroupFD {
			return fd, err
		}
		high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, cgroupFD+1)
		unix.Close(fd)
		return high, err
	}
}

// sendBegun sends the agent what it may write the job's standard error with, and readers of the files that it can send on: those that
// are regular. All were opened with the user's rights.
func sendBegun(files []int, same, appends bool) error {
	e := event{Begun: true, PID: os.Getpid(), Same: same}
	fds := []int{files[2]}
	for i, f := range files[1:] {
		var st unix.Stat_t
		if unix.Fstat(f, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || i == 1 && same {
			continue
		}
		// The same file, whatever its name means by now.
		if r, err := unix.Open("/proc/self/fd/"+strconv.Itoa(f), unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
			fds, e.Readers[i] = append(fds, r), true
			if appends {
				e.Start[i] = st.Size
			}
		}
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	for {
		if err = unix.Sendmsg(eventFD, text, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL); err != unix.EINTR {
			return err
		}
	}
}

// withPID puts the process's number into the environment.
func withPID(env []string) []string {
	for i, e := range env {
		if e == "SLURM_TASK_PID=%PID%" {
			env[i] = "SLURM_TASK_PID=" + strconv.Itoa(os.Getpid())
		}
	}
	return env
}

func bind(cpus []int) {
	var set unix.CPUSet
	for _, n := range cpus {
		set.Set(n)
	}
	unix.SchedSetaffinity(0, &set) // fails for a missing CPU, which is harmless
}
