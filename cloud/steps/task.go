package steps

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fsub/cloud/steps/wire"
	"fsub/sbatch"
)

// start starts the i-th task of the node. If it cannot, the task has ended with the error's number,
// as slurmstepd has it.
func (d *daemon) start(i int) {
	spec := &d.n.Tasks[i]
	fd, env, err := d.connectMPI(spec.Rank, override(d.n.Part.Env, spec.Env))
	env = d.box.environ(env)
	argv := spec.Argv
	if d.n.Receive != "" {
		argv = append(append([]string{}, d.n.Self...), receiveWord, d.n.Receive)
	}
	path := lookPath(argv[0], env)
	c := &child{}
	if fd > 0 {
		c.own, c.keep = append(c.own, fd), fd
	}
	if err == nil {
		err = c.set(path, argv, env)
	}
	if err == nil {
		err = d.box.enter(c, argv[0], env)
	}
	if err == nil {
		err = d.streams(i, c)
	}
	if err == nil {
		for _, l := range d.n.Part.Limits {
			c.limits = append(c.limits, limitOf(l))
		}
		c.cpus = cpuSet(spec.CPUs)
		var pid int
		if pid, err = c.start(); err == nil {
			d.tasks[i].pid = pid
		} else {
			d.complain("execve(): " + argv[0] + ": " + words(err))
		}
	}
	for _, fd := range c.own {
		syscall.Close(fd)
	}
	if err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.endTask(i, exitOf(err))
	}
}

// exitOf is the status of a task that could not be started.
func exitOf(err error) uint32 {
	if n, ok := errors.AsType[syscall.Errno](err); ok {
		return uint32(n) & 0xff << 8
	}
	return 1 << 8
}

// limitOf keeps a limit within what the machine allows.
func limitOf(l wire.Limit) rlimit {
	r := rlimit{resource: uintptr(l.Resource)}
	var now unix.Rlimit
	if unix.Getrlimit(l.Resource, &now) != nil {
		now.Max = l.Soft
	}
	r.value = syscall.Rlimit{Cur: min(l.Soft, now.Max), Max: now.Max}
	return r
}

// lookPath finds a command as execvp does.
func lookPath(name string, env []string) string {
	if strings.Contains(name, "/") || name == "" {
		return name
	}
	for _, dir := range filepath.SplitList(valueOf(env, "PATH")) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			if !strings.Contains(file, "/") {
				file = "./" + file
			}
			return file
		}
	}
	return name
}

// streams gives a task its stdin, stdout and stderr.
func (d *daemon) streams(i int, c *child) (err error) {
	rank := d.n.Tasks[i].Rank
	if d.n.Pty != nil && rank == 0 {
		return d.terminal(c)
	}
	p := &d.n.Part
	if c.fds[0], err = d.input(i, c, p.Stdin, rank); err != nil {
		return err
	}
	if c.fds[1], err = d.output(c, p.Stdout, rank, wire.Stdout, "stdout"); err != nil {
		return err
	}
	if p.Stderr.Kind == "stdout" {
		c.fds[2] = c.fds[1]
		return nil
	}
	c.fds[2], err = d.output(c, p.Stderr, rank, wire.Stderr, "stderr")
	return err
}

// input opens a task's stdin.
func (d *daemon) input(i int, c *child, s wire.Stream, rank int) (int, error) {
	switch {
	case s.Kind == "null" || s.Rank != nil && *s.Rank != rank:
		return c.open(os.DevNull, unix.O_RDONLY)
	case s.Kind == "file":
		fd, err := c.open(d.fileName(s.Pattern, rank), unix.O_RDONLY)
		if err != nil {
			d.complain("Could not open stdin file " + d.fileName(s.Pattern, rank) + ": " + words(err))
		}
		return fd, err
	}
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		return 0, err
	}
	c.own = append(c.own, p[0])
	d.tasks[i].stdin = newFeed(d, p[1])
	return p[0], nil
}

// output opens a task's stdout or stderr.
func (d *daemon) output(c *child, s wire.Stream, rank int, kind wire.Kind, name string) (int, error) {
	switch {
	case s.Kind == "null" || s.Rank != nil && *s.Rank != rank:
		return c.open(os.DevNull, unix.O_WRONLY)
	case s.Kind == "file":
		file := d.fileName(s.Pattern, rank)
		if f := d.files[file]; f != nil {
			return int(f.Fd()), nil
		}
		flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
		if d.n.Part.Append {
			flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
		}
		os.MkdirAll(filepath.Dir(file), 0o755) // as 24.11 does; if it cannot be, opening says so
		f, err := os.OpenFile(file, flags, 0o666)
		if err != nil {
			d.complain("Could not open " + name + " file " + file + ": " + words(err))
			return 0, err
		}
		d.files[file] = f
		return int(f.Fd()), nil
	}
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		return 0, err
	}
	c.own = append(c.own, p[1])
	d.pump(pollable(p[0]), kind, uint32(rank))
	return p[1], nil
}

// fileName expands a pattern for a task of this node.
func (d *daemon) fileName(pattern string, rank int) string {
	return sbatch.FileName(pattern, sbatch.FileVars{
		Job: d.n.Job, ArrayJob: d.n.Names.ArrayJob, Task: d.n.Names.Task, JobName: d.n.Names.JobName, User: d.n.Names.User, Node: d.n.Host0, NodeID: d.n.Node,
		Step: strconv.FormatUint(uint64(d.n.Step), 10), Rank: rank, Dir: d.n.Part.Dir,
	})
}
