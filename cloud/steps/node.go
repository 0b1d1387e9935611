package steps

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/jobenv"
	"fsub/cloud/steps/wire"
)

// startNode starts what another machine's service asks for, and stands between it and the step daemon.
func (s *Service) startNode(r *run, c net.Conn, in *wire.Reader, first wire.Frame) {
	launch, err := wire.JSON[wire.NodeLaunch](first)
	if err != nil {
		r.log.Warn("a step cannot be read", "err", err)
		return
	}
	d, err := s.startDaemon(r, &launch)
	if err != nil {
		r.log.Warn("a step did not start", "step", launch.Step, "err", err)
		out := wire.NewWriter(c)
		out.Write(wire.Stderr, wire.All, []byte("slurmstepd: error: "+err.Error()+"\n"))
		return
	}
	s.wg.Go(func() {
		for {
			f, err := in.Read()
			if err != nil {
				d.Close() // the other side is gone: so are its tasks
				return
			}
			wire.NewWriter(d).Write(f.Kind, f.N, f.Payload)
		}
	})
	io.Copy(c, d)
}

// startDaemon starts the step daemon and gives it its orders. Closing the connection kills all that it started.
func (s *Service) startDaemon(r *run, launch *wire.NodeLaunch) (net.Conn, error) {
	complete(r, launch, s.c.Daemon)
	back, err := r.room(r.ctx, launch)
	if err != nil {
		return nil, err
	}
	defer back()
	if launch.Box != nil {
		if err := MakeDirs(launch.Box, r.Launch.User.UID, r.Launch.User.GID); err != nil {
			return nil, fmt.Errorf("make a folder for containers: %w", err)
		}
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd := r.command(s.c.Daemon)
	cmd.ExtraFiles = []*os.File{theirs}
	r.local.Add(1)
	if err := cmd.Start(); err != nil {
		r.local.Add(-1)
		ours.Close()
		return nil, fmt.Errorf("start the step daemon: %w", err)
	}
	r.daemons.Store(cmd.Process, true)
	r.join(cmd.Process.Pid)
	stop := context.AfterFunc(r.ctx, func() { ours.Close() })
	s.wg.Go(func() {
		cmd.Wait()
		if killed(cmd.ProcessState) && launch.MPI != nil && launch.MPI.Type == "pmix" {
			s.sweep(r)
		}
		r.daemons.Delete(cmd.Process)
		stop()
		r.local.Add(-1)
	})
	if err := wire.NewWriter(ours).WriteJSON(wire.Launch, 0, launch); err != nil {
		ours.Close()
		return nil, err
	}
	return ours, nil
}

// killed reports whether a process may have been killed before it could clean up; nil: it is
// unknown how it ended.
func killed(p *os.ProcessState) bool {
	if p == nil {
		return true
	}
	w, ok := p.Sys().(syscall.WaitStatus)
	return ok && w.Signaled()
}

// join puts a process of the run's user into the run's cgroups of version 1. Prepare does so for version 2.
func (r *run) join(pid int) {
	for _, file := range r.Join {
		if err := os.WriteFile(file, []byte(digits(pid)), 0); err != nil {
			r.log.Warn("a step is outside of its run's limits", "file", file, "err", err)
		}
	}
}

// command is a process of the run's user.
func (r *run) command(argv []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"GOMAXPROCS=2", "GOTRACEBACK=single"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = &crash{log: r.log, left: maxCrash} // not the agent's own log: the daemon is the user's, and who can trace it can write to all that it has open
	cmd.WaitDelay = time.Second
	if u := r.Launch.User; os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
	}
	if r.Prepare != nil {
		r.Prepare(cmd)
	}
	return cmd
}

// sweepTime is how long the removal of what a killed step daemon leaves behind may take.
const sweepTime = time.Minute

// sweep does, as the user, what a step daemon that was killed would have done at its end.
func (s *Service) sweep(r *run) {
	cmd := r.command(append(slices.Clone(s.c.Daemon), sweepWord))
	err := cmd.Start()
	if err == nil {
		r.join(cmd.Process.Pid)
		t := time.AfterFunc(sweepTime, func() { cmd.Process.Kill() })
		err = cmd.Wait()
		t.Stop()
	}
	if err != nil {
		r.log.Warn("files of a step whose daemon was killed are left behind", "err", err)
	}
}

// maxCrash is how much of what a step daemon says is logged.
const maxCrash = 64 << 10

// crash logs what a step daemon says, which is the trace of its crash.
type crash struct {
	log  *slog.Logger
	left int
}

func (c *crash) Write(p []byte) (int, error) {
	if n := min(len(p), c.left); n > 0 {
		c.left -= n
		c.log.Warn("a step daemon says", "text", string(p[:n]))
	}
	return len(p), nil
}

func socketPair() (ours net.Conn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fds[0]), "step")
	defer f.Close()
	theirs = os.NewFile(uintptr(fds[1]), "daemon")
	ours, err = net.FileConn(f)
	return ours, theirs, err
}

// complete adds to a launch what this machine knows: environment, binding, program of each task.
func complete(r *run, n *wire.NodeLaunch, daemon []string) {
	l := r.Launch
	n.User, n.Self, n.Box = l.User.Name, daemon, r.want(n, daemon)
	n.Host0 = l.Groups[l.Group].Nodes[l.Node].Name
	n.Names = wire.Names{JobName: valueOf(n.Part.Env, "SLURM_JOB_NAME"), User: l.User.Name}
	if l.Array != nil {
		n.Names.ArrayJob, n.Names.Task = l.Array.Job, l.Array.Task
	}
	spec := jobenv.StepSpec{
		ID: n.Step, Env: n.Part.Env, Nodes: n.Nodes, Tasks: n.Counts, CPUs: n.CPUs, Distribution: n.Part.Distribution,
		Host: n.Host, Port: n.Port, Umask: n.Part.Umask, Group: n.Group,
	}
	env := jobenv.Step(l, spec)
	own := r.Env
	if r.Commands != "" {
		own = append(own[:len(own):len(own)], "PATH="+replaceFolder(valueOf(env, "PATH"), valueOf(env, CommandsEnv), r.Commands))
	}
	own = append(own[:len(own):len(own)], jobenv.TPU(l)...)
	common := override(env, own)
	ranks := make([]int, len(n.Ranks)) // in the part
	for i, rank := range n.Ranks {
		ranks[i] = rank - n.Rank0
	}
	bound := bindCPUs(n)
	gpus := bindGPUs(n)
	for i, rank := range ranks {
		task := wire.Task{Rank: n.Ranks[i], Argv: program(&n.Part, rank), CPUs: bound[i]}
		whole := jobenv.Task(&spec, env, jobenv.TaskSpec{Node: n.Node, Rank: n.Ranks[i], Local: i, Ranks: n.Ranks, GPUs: gpus[i], NodeGPUs: len(n.GPUs)})
		task.Env = without(override(whole, own), common)
		n.Tasks = append(n.Tasks, task)
	}
	n.Part.Env, n.Part.Programs = common, nil
}

// override is env with the variables of own in the place of those of the same name.
func override(env, own []string) []string {
	if len(own) == 0 {
		return env
	}
	all := make([]string, 0, len(env)+len(own))
	for _, e := range env {
		if !slices.ContainsFunc(own, func(o string) bool { return nameOf(o) == nameOf(e) }) {
			all = append(all, e)
		}
	}
	return append(all, own...)
}

func valueOf(env []string, name string) (value string) {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

func nameOf(e string) string {
	name, _, _ := strings.Cut(e, "=")
	return name
}

// without returns the variables of env that common lacks, or has with another value.
func without(env, common []string) (own []string) {
	have := make(map[string]bool, len(common))
	for _, e := range common {
		have[e] = true
	}
	for _, e := range env {
		if !have[e] {
			own = append(own, e)
		}
	}
	return own
}
