package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"fsub/cloud/agent/keeper"
	"fsub/cloud/agentapi"
	"fsub/cloud/container/hold"
	"fsub/cloud/jobenv"
	"fsub/cloud/steps/wire"
	"fsub/sbatch"
)

// prepare makes all that the run needs on this machine: user, names, directories, cgroup, sockets.
func (r *run) prepare() error {
	l := r.l
	if l.Group >= len(l.Groups) || l.Node >= len(l.Groups[l.Group].Nodes) {
		return errors.New("the launch does not say which node this machine is")
	}
	if strings.ContainsAny(l.Run, "/\x00") || l.Run == "" || l.Run[0] == '.' {
		return errors.New("the run's name is not one of a file")
	}
	if !asRoot() && int(l.User.UID) != os.Geteuid() {
		return fmt.Errorf("the agent is not root: it runs jobs of user %d only, not of %s (%d)", os.Geteuid(), l.User.Name, l.User.UID)
	}
	if err := r.makeUser(); err != nil {
		return fmt.Errorf("make user %s: %w", l.User.Name, err)
	}
	if err := r.a.hosts.add(l); err != nil {
		return fmt.Errorf("write the names of the gang's nodes: %w", err)
	}
	r.dir = filepath.Join(r.a.cfg.Dir, "run", l.Run)
	if err := makeOpen(r.dir); err != nil {
		return err
	}
	r.group = r.a.groups.add(r)
	var err error
	if r.sock, err = r.listen(); err != nil {
		return fmt.Errorf("socket for the job's commands: %w", err)
	}
	r.env = []string{"FSUB_SOCKET=" + r.sock.path}
	more, err := r.steps.add(r.stepRun())
	if err != nil {
		return fmt.Errorf("step service: %w", err)
	}
	r.env = append(r.env, more...)
	return nil
}

// makeUser makes the job's user known where that is the agent's to do. The homes of a machine that
// is not alone are the host's.
func (r *run) makeUser() error {
	switch b := &r.a.cfg.Boot; {
	case !asRoot():
		return nil
	case b.PowerOff:
		return r.makeUserIn("/etc")
	case b.Users != "":
		return makeUser(b.Users, r.l.User, false)
	}
	return nil
}

// makeUserIn makes the user on a machine that is alone.
func (r *run) makeUserIn(etc string) error {
	as, err := apart(etc, r.l.User, !r.l.Stream)
	if err != nil {
		return err
	}
	fit, left, err := fitGroups(etc, as)
	if err != nil {
		return err
	}
	for _, g := range left {
		if _, said := r.a.leftOut.LoadOrStore(r.l.User.Name+" "+g, true); !said {
			r.a.log.Warn("a group of a user is another on this machine, and is left out", "user", r.l.User.Name, "group", g)
		}
	}
	r.l.User = fit
	return makeUser(etc, fit, true)
}

// makeOpen makes a directory that everybody may read, whatever the umask is.
func makeOpen(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return os.Chmod(dir, 0o755)
}

// asRoot reports whether the job's processes get an identity that the agent does not have.
func asRoot() bool { return os.Geteuid() == 0 }

// script writes the spool copy and returns what to start.
func (r *run) script() (keeper.Config, error) {
	l := r.l
	r.spool = filepath.Join(r.a.cfg.Dir, "spool", fmt.Sprintf("job%05d", l.Job))
	path := filepath.Join(r.spool, "slurm_script")
	if err := r.writeScript(path); err != nil {
		return keeper.Config{}, err
	}
	spec := &l.Groups[0].Spec
	c := keeper.Config{Argv: append([]string{path}, l.Argv...), Dir: spec.WorkDir, Become: asRoot(), UID: l.User.UID, GID: l.User.GID, Groups: l.User.Groups,
		Umask: umask(l.Environment), Limits: limits(l.Environment), CPUs: r.node.CPUIDs, Append: spec.OpenMode == "append"}
	c.In = r.fileName(spec.Input)
	c.Out = r.fileName(outputPattern(r.l))
	c.Err = r.fileName(spec.Error)
	c.Cgroup, c.Tasks = r.group.forBatch()
	c.Env = r.environment()
	r.mu.Lock()
	r.outer = &wire.JobInfo{Env: slices.Clone(c.Env), Dir: spec.WorkDir} // what is done to c is not seen there
	r.mu.Unlock()
	return c, r.contain(&c)
}

// writeScript writes the script into a directory that the user's group can read, as slurmd does.
func (r *run) writeScript(path string) error {
	os.RemoveAll(r.spool)                                                                   // of an earlier run of the job, whose agent was killed
	if err := errors.Join(os.Mkdir(r.spool, 0o750), os.Chmod(r.spool, 0o750)); err != nil { // whatever the umask is
		return err
	}
	// A process that is forked meanwhile would have the file open for writing, and until its exec
	// nobody could execute the script.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = f.WriteString(r.l.Script)
	if asRoot() {
		err = errors.Join(err, f.Chown(int(r.l.User.UID), int(r.l.User.GID)), os.Chown(r.spool, -1, int(r.l.User.GID)))
	}
	return errors.Join(err, f.Chmod(0o700), f.Close())
}

func outputPattern(l *agentapi.Launch) string {
	switch spec := &l.Groups[0].Spec; {
	case spec.Output != "":
		return spec.Output
	case l.Array != nil:
		return "slurm-%A_%a.out"
	default:
		return "slurm-%j.out"
	}
}

// fileName expands a pattern; "" stays so.
func (r *run) fileName(pattern string) string {
	if pattern == "" {
		return ""
	}
	return sbatch.FileName(pattern, fileVars(r.l, r.node.Name))
}

// fileVars are what patterns in names of files stand for on a node.
func fileVars(l *agentapi.Launch, node string) sbatch.FileVars {
	n := sbatch.FileVars{Job: l.Job, JobName: l.Groups[0].Spec.Name, User: l.User.Name, Node: node, Step: "batch", Dir: l.Groups[0].Spec.WorkDir}
	if l.Array != nil {
		n.ArrayJob, n.Task = l.Array.Job, l.Array.Task
	}
	return n
}

// environment is the script's. Its process's number is filled in by the process itself.
func (r *run) environment() []string {
	own := jobenv.Own{Commands: r.a.commands(), Socket: r.sock.path, IsDir: isDir}
	if jobenv.WantsLogin(r.l) {
		own.Login = loginEnvironment(r.l.User, r.group.forSteps(), r.a.log)
	}
	env := jobenv.Batch(r.l, own)
	env = setenv(env, "SLURM_TASK_PID=%PID%")
	for _, e := range r.env {
		env = setenv(env, e)
	}
	return env
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// setenv sets a variable in env.
func setenv(env []string, entry string) []string {
	name := entry[:strings.IndexByte(entry, '=')+1]
	for i, e := range env {
		if strings.HasPrefix(e, name) {
			env[i] = entry
			return env
		}
	}
	return append(env, entry)
}

// limits are those that sbatch sends in variables of the user's environment:
// "SLURM_RLIMIT_NOFILE=1024", or "U1024" for one that the user asked for. That of locked memory counts only if it was asked for: a login node's is far too
// small for a machine with a fast network. (Sites set PropagateResourceLimitsExcept=MEMLOCK for this.)
func limits(env []string) (list []keeper.Limit) {
	for _, e := range env {
		name, value, ok := strings.Cut(e, "=")
		name, is := strings.CutPrefix(name, "SLURM_RLIMIT_")
		if !ok || !is {
			continue
		}
		number, asked := strings.CutPrefix(value, "U")
		if name == "MEMLOCK" && !asked {
			continue
		}
		if n, err := strconv.ParseUint(number, 10, 64); err == nil {
			list = append(list, keeper.Limit{Name: name, Value: n, Asked: asked})
		}
	}
	return list
}

// umask is the one that sbatch sends in SLURM_UMASK.
func umask(env []string) int {
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "SLURM_UMASK="); ok {
			if n, err := strconv.ParseInt(value, 8, 32); err == nil {
				return int(n) & 0o777
			}
		}
	}
	return 0o022
}

// cleanup takes away what prepare and script made. Nothing of the run lives when it returns.
func (r *run) cleanup() {
	if r.steps.known {
		r.mu.Lock()
		r.status.Steps = r.stepsNow(r.status) // they are forgotten next
		r.steps.known = false
		r.mu.Unlock()
		r.steps.service.RemoveRun(r.l.Run)
	}
	if r.sock != nil {
		killStrays("FSUB_SOCKET=" + r.sock.path)
		r.sock.close()
	}
	r.group.remove()
	r.a.hosts.remove(r.l.Run)
	for _, d := range []string{r.spool, r.dir} {
		if d != "" {
			hold.Remove(d)
		}
	}
	if r.p != nil {
		r.p.Close()
	}
}

// stepsNow are the batch step and those of srun. r.mu is held.
func (r *run) stepsNow(s agentapi.Status) []agentapi.Step {
	if r.p == nil || r.begin.IsZero() {
		return nil
	}
	if !r.steps.known && len(s.Steps) > 0 { // the step service has forgotten the run
		list := slices.Clone(s.Steps) // what is being sent stays as it is
		list[0] = r.batchStep(s)
		return r.pause.note(list)
	}
	list := []agentapi.Step{r.batchStep(s)}
	if r.steps.known {
		list = append(list, r.steps.list()...)
	}
	return r.pause.note(list)
}
