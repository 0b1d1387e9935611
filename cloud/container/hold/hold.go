package hold

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fsub/cloud/container"
)

// Spec is a container that is wanted, with what its maker has.
type Spec struct {
	container.Want
	Env []string     // the job's
	Dir string       // where relative paths begin
	Say func(string) // takes lines for the step's stderr
}

// Held is a container with its holder.
type Held struct {
	PID int      // of the holder
	Env []string // of the holder: the image's
	Dir string   // of the holder: where tasks begin

	s      *Spec
	engine container.Engine
	name   string
	life   *os.File // closing it ends the holder
	state  string   // crun's number for it: never one that was used before, since an old one's end removes what is known by it
	joined bool     // it belongs to another step
}

// name of the container. It is pyxis', and so found by who looks for it with enroot list.
func (s *Spec) name() string {
	if s.Options.Name != "" {
		return "pyxis_" + s.Options.Name
	}
	return "pyxis_" + s.ID
}

func (s *Spec) path(parts ...string) string {
	return filepath.Join(append([]string{s.Dirs.Run}, parts...)...)
}

// rootfs is where the container's files lie, with either engine.
func (s *Spec) rootfs() string { return s.path("root", s.name()) }

// Start makes the container, or finds it, and its holder. Its error has as many lines as there is to say.
func Start(ctx context.Context, s *Spec) (*Held, error) {
	engine, err := container.Choose(s.Engine, s.has)
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{s.path("root"), s.path("bundle"), s.path("enroot"), s.Dirs.Images} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	if err := s.resolve(engine); err != nil {
		return nil, err
	}
	unlock, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	h := &Held{s: s, engine: engine, name: s.name(), state: s.name() + "." + rand.Text()}
	running, err := s.find()
	if err != nil {
		return nil, err
	}
	if running != nil {
		if len(s.Options.Mounts) > 0 {
			s.Say("pyxis: ignoring --container-mounts when attaching to a running container")
		}
		h.PID, h.Env, h.Dir, h.joined = running.PID, running.Env, running.Dir, true
		return h, nil
	}
	if _, err := os.Lstat(s.rootfs()); errors.Is(err, os.ErrNotExist) {
		if err := s.unpack(ctx, engine); err != nil {
			Remove(s.rootfs())
			return nil, err
		}
	}
	if err := h.start(ctx); err != nil {
		h.Close(ctx)
		return nil, err
	}
	return h, nil
}

// resolve makes paths of the options absolute, and refuses mounts of what is not there.
func (s *Spec) resolve(engine container.Engine) error {
	o := *s.Options
	o.Mounts = append([]container.Mount(nil), o.Mounts...)
	for i := range o.Mounts {
		m := &o.Mounts[i]
		if m.Source[0] == '.' {
			m.Source = filepath.Join(s.Dir, m.Source)
		}
		if err := m.Check(engine); err != nil {
			return err
		}
		if _, err := os.Stat(m.Source); m.Source[0] == '/' && (errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
			return fmt.Errorf("--container-mounts: source path does not exist: %s", m.Source)
		}
	}
	if o.Save != "" && o.Save[0] != '/' {
		o.Save = filepath.Join(s.Dir, o.Save)
	}
	s.Options = &o
	return nil
}

// lock keeps two steps from making a container of one name at the same time.
func (s *Spec) lock() (unlock func(), err error) {
	if s.Options.Name == "" {
		return func() {}, nil
	}
	f, err := os.OpenFile(s.path(s.name()+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return func() { f.Close() }, unix.Flock(int(f.Fd()), unix.LOCK_EX)
}

// start starts the holder and waits for what it tells.
func (h *Held) start(ctx context.Context) error {
	cmd, err := h.command(ctx)
	if err != nil {
		return err
	}
	log, err := h.s.logFile()
	if err != nil {
		return err
	}
	defer log.Close()
	out, told, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = told, log
	if !h.s.Stay {
		var life *os.File
		if life, h.life, err = os.Pipe(); err != nil {
			return err
		}
		defer life.Close()
		cmd.Stdin = life
	}
	err = cmd.Start()
	told.Close()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { cmd.Process.Kill() })
	defer stop()
	var r report
	line, err := firstReport(out)
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	switch {
	case err != nil:
		return errors.New("container start failed" + h.s.logged(log, string(h.engine)))
	case r.Failed != "":
		return errors.New(r.Failed)
	}
	h.PID, h.Env, h.Dir = r.PID, r.Env, r.Dir
	if h.s.Options.EntrypointLog == container.Yes && h.s.Options.Entrypoint == container.Yes {
		for _, l := range h.s.lines(log) {
			h.s.Say(l)
		}
	}
	return h.s.note(&r)
}

// firstReport reads to the holder's line: an entry point may print others before it.
func firstReport(out *os.File) ([]byte, error) {
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		if rest, ok := strings.CutPrefix(string(line), reportMark); ok {
			return []byte(rest), nil
		}
	}
}

// command is what starts the holder.
func (h *Held) command(ctx context.Context) (*exec.Cmd, error) {
	s := h.s
	argv := append(append([]string{}, s.Self...), Word, s.Options.Workdir)
	if h.engine == container.Podman {
		return s.crun(ctx, h.state, argv)
	}
	conf := s.path(h.name + ".conf")
	if err := os.WriteFile(conf, []byte(container.EnrootConf(s.Options, s.Binds)), 0o600); err != nil {
		return nil, err
	}
	return s.cmd(container.EnrootStart(s.Dirs, s.Options, h.name, conf, argv)), nil
}

// Close ends the holder, saves the container if that was asked for, and removes what nobody can
// find again. Nothing of it runs any more when it is called for a step.
func (h *Held) Close(ctx context.Context) {
	if h.life != nil {
		h.life.Close()
	}
	s := h.s
	if s.Options.Save != "" && h.PID != 0 {
		if err := s.save(ctx, h.engine); err != nil {
			s.Say("slurmstepd: error: pyxis: failed to export container " + h.name + " to " + s.Options.Save + ": " + err.Error())
		} else {
			s.Say("pyxis: exported container " + h.name + " to " + s.Options.Save)
		}
	}
	if s.Options.Name == "" { // else the run's end removes it
		Remove(s.rootfs())
	}
	for _, dir := range []string{s.path("bundle", h.state), s.path("crun", h.state), s.path(h.name + ".conf"), s.path(h.name + ".log")} {
		Remove(dir)
	}
}

// Environ is the environment of a task of the container whose environment would be env.
func (h *Held) Environ(env []string) []string {
	return container.Environ(env, h.Env, h.s.Options.Env, h.s.Commands)
}
