package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"fsub/cloud/agent/keeper"
	"fsub/cloud/container"
	"fsub/cloud/container/hold"
	"fsub/cloud/steps"
)

// stepRun describes the run to the step service.
func (r *run) stepRun() steps.Run {
	return steps.Run{Launch: r.l, Dir: r.dir, Env: r.env, Commands: r.a.commands(), Images: filepath.Join(r.a.images(), strconv.FormatUint(uint64(r.l.User.UID), 10)),
		Prepare: r.group.forSteps(), Join: r.group.joinSteps()}
}

// images is where images of containers are kept from one run to the next.
func (a *Agent) images() string { return filepath.Join(a.cfg.Dir, "images") }

// contain has the batch script run in a container, if the job asks for one: options of plugins come
// in its environment, and the plugin takes them out.
func (r *run) contain(c *keeper.Config) error {
	o, err := container.Given(func(name string) (string, bool) { return container.Lookup(c.Env, name) }, container.Variable)
	c.Env = slices.DeleteFunc(c.Env, func(e string) bool { return strings.HasPrefix(e, container.Variable("")) })
	if err == nil && !o.Asked() {
		return nil
	}
	sr := r.stepRun()
	w := sr.Container(o, strconv.FormatUint(uint64(r.l.Job), 10)+".batch", nil)
	w.Binds = append(w.Binds, container.Bind{Path: r.spool, ReadOnly: true})
	w.Stay, w.Loud = true, true
	if err != nil {
		w.Refused = err.Error()
	}
	if err := steps.MakeDirs(w, r.l.User.UID, r.l.User.GID); err != nil {
		return err
	}
	text, err := json.Marshal(w)
	if err != nil {
		return err
	}
	file := filepath.Join(r.spool, "container")
	if err := writeOwned(file, text, r); err != nil {
		return err
	}
	c.Argv = append([]string{w.Self[0], hold.BatchWord, file}, c.Argv...)
	return nil
}

// writeOwned writes a file that the run's user alone can read. A process that is forked meanwhile
// does not keep it open.
func writeOwned(file string, text []byte, r *run) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(file, text, 0o600); err != nil || !asRoot() {
		return err
	}
	return os.Chown(file, int(r.l.User.UID), int(r.l.User.GID))
}
