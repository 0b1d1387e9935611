package steps

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"fsub/cloud/container"
	"fsub/cloud/container/hold"
	"fsub/cloud/steps/wire"
)

// want is the container that a step's tasks are to have on this node; nil: none.
func (r *run) want(n *wire.NodeLaunch, daemon []string) *container.Want {
	if !n.Part.Container.Asked() || n.Receive != "" {
		return nil
	}
	id := strconv.FormatUint(uint64(n.Job), 10) + "." + strconv.FormatUint(uint64(n.Step), 10)
	if n.Group < 0 { // two components of a step may be on one machine
		id += "." + digits(n.Node)
	}
	tasks := 0
	for _, c := range n.Counts {
		tasks += c
	}
	w := r.Container(n.Part.Container, id, daemon[1:])
	w.Loud = tasks == 1 // somebody may sit before it
	return w
}

// Container is what a container of the run on this machine is made of, by the options that a step
// or the batch script has. words are what the program of our commands is called with as the holder,
// before [hold.Word].
func (r *Run) Container(o *container.Options, id string, words []string) *container.Want {
	l := r.Launch
	w := &container.Want{Options: o, Engine: l.Containers, ID: id, User: l.User.Name, Home: l.User.Home, Commands: r.Commands,
		Dirs: container.Dirs{Run: filepath.Join(r.Dir, "containers"), Images: r.Images}}
	if w.Dirs.Images == "" {
		w.Dirs.Images = filepath.Join(r.Dir, "images")
	}
	program, err := filepath.EvalSymlinks(filepath.Join(r.Commands, "srun"))
	if r.Commands == "" || err != nil {
		program, _ = os.Executable()
	} else {
		w.Binds = append(w.Binds, container.Bind{Path: r.Commands, ReadOnly: true})
	}
	w.Self = append([]string{program}, words...)
	w.Binds = append(w.Binds, container.Bind{Path: r.Dir}, container.Bind{Path: program, ReadOnly: true})
	if socket, ok := container.Lookup(r.Env, "FSUB_SOCKET"); ok && !strings.HasPrefix(socket, r.Dir+"/") {
		w.Binds = append(w.Binds, container.Bind{Path: filepath.Dir(socket)})
	}
	return w
}

// MakeDirs makes the folders of a user's containers, which are the user's.
func MakeDirs(w *container.Want, uid, gid uint32) error {
	for _, dir := range []string{w.Dirs.Run, w.Dirs.Images} {
		if err := os.MkdirAll(filepath.Dir(dir), 0o711); err != nil {
			return err
		}
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		if os.Geteuid() == 0 {
			if err := os.Lchown(dir, int(uid), int(gid)); err != nil {
				return err
			}
		}
	}
	return nil
}

// box is the container of a step daemon's tasks, from its making on, which may take minutes.
type box struct {
	held   *hold.Held
	spaces []*os.File
	root   *os.File // the container's; nil: it is not known
	cancel context.CancelFunc

	mu     sync.Mutex
	made   bool           // the tasks are being started
	open   bool           // the tasks have started
	early  []wire.Frame   // what came before, for them
	signal syscall.Signal // that has ended the making
}

// contain makes the container, and obeys meanwhile. false: there is none, and the tasks have ended.
func (d *daemon) contain(in *wire.Reader) bool {
	ctx, cancel := context.WithCancel(context.Background())
	d.box = &box{cancel: cancel}
	go d.obey(in)
	s := &hold.Spec{Want: *d.n.Box, Env: d.n.Part.Env, Dir: d.n.Part.Dir, Say: func(line string) { d.out.Write(wire.Stderr, wire.All, []byte(line+"\n")) }}
	held, err := hold.Start(ctx, s)
	if err == nil {
		d.box.held = held
		d.box.spaces, err = held.Namespaces()
	}
	if err == nil {
		d.box.root = openBoxRoot(held.PID, d.box.spaces)
	}
	d.box.mu.Lock()
	signal := d.box.signal
	d.box.made = err == nil && signal == 0
	d.box.mu.Unlock()
	if err == nil && signal == 0 {
		return true
	}
	status := uint32(signal)
	if signal == 0 {
		status = exitOf(err)
		for line := range strings.SplitSeq(err.Error(), "\n") {
			d.complain("pyxis: " + line)
		}
	}
	d.mu.Lock()
	for i := range d.tasks {
		d.endTask(i, status)
	}
	d.mu.Unlock()
	killAll(syscall.SIGKILL)
	return false
}

// openBoxRoot opens the root of a container while its holder lives, for use when no process of the
// container runs. nil: the holder has ended, and its number may be another process's.
func openBoxRoot(pid int, spaces []*os.File) *os.File {
	i := slices.IndexFunc(spaces, func(f *os.File) bool { return filepath.Base(f.Name()) == "mnt" })
	if i < 0 {
		return nil // it is the machine's
	}
	proc := "/proc/" + digits(pid)
	root, err := os.OpenFile(proc+"/root", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil
	}
	var held, now unix.Stat_t // a namespace that is open has its number for itself
	if unix.Fstat(int(spaces[i].Fd()), &held) != nil || unix.Stat(proc+"/ns/mnt", &now) != nil || held.Dev != now.Dev || held.Ino != now.Ino {
		root.Close()
		return nil
	}
	return root
}

// openRoot opens the root of the tasks' container again.
func (b *box) openRoot() (*os.File, error) {
	if b == nil || b.root == nil {
		return nil, os.ErrNotExist
	}
	raw, err := b.root.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	if err2 := raw.Control(func(own uintptr) { fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); err2 != nil || err != nil {
		return nil, errors.Join(err, err2)
	}
	return os.NewFile(uintptr(fd), b.root.Name()), nil
}

// begin gives the tasks what came for them before they were there.
func (b *box) begin(d *daemon) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = true
	for _, f := range b.early {
		d.give(f)
	}
	b.early = nil
}

// later keeps a frame for tasks that have not all started. Signals and the order to end are for the
// container's making while there is none.
func (b *box) later(f wire.Frame) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		return false
	}
	switch {
	case f.Kind == wire.Kill && !b.made:
		b.stop(syscall.SIGKILL)
	case f.Kind == wire.Signal && !b.made:
		switch s := syscall.Signal(f.N); s {
		case syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL, syscall.SIGQUIT, syscall.SIGHUP:
			b.stop(s)
		}
	default:
		f.Payload = append([]byte(nil), f.Payload...)
		b.early = append(b.early, f)
	}
	return true
}

func (b *box) stop(s syscall.Signal) {
	if b.signal == 0 {
		b.signal = s
	}
	b.cancel()
}

// environ is a task's environment within the container.
func (b *box) environ(env []string) []string {
	if b == nil {
		return env
	}
	return b.held.Environ(env)
}

// enter has a child enter the container.
func (b *box) enter(c *child, name string, env []string) error {
	if b == nil {
		return nil
	}
	for _, f := range b.spaces {
		c.spaces = append(c.spaces, int(f.Fd()))
	}
	var err error
	if c.dir, err = syscall.BytePtrFromString(b.held.Dir); err != nil {
		return err
	}
	c.paths, err = syscall.SlicePtrFromStrings(lookPaths(name, env))
	return err
}

// lookPaths are the files that execvp would try for a command, where they cannot be looked at yet.
func lookPaths(name string, env []string) (paths []string) {
	if strings.Contains(name, "/") || name == "" {
		return []string{name}
	}
	for _, dir := range filepath.SplitList(valueOf(env, "PATH")) {
		paths = append(paths, strings.TrimSuffix(dir, "/")+"/"+name)
	}
	if paths == nil {
		paths = []string{name}
	}
	return paths
}

// close ends the container. Its tasks have ended.
func (b *box) close() {
	if b == nil {
		return
	}
	hold.Close(b.spaces)
	if b.root != nil {
		b.root.Close()
	}
	if b.held != nil {
		b.held.Close(context.Background())
	}
}
