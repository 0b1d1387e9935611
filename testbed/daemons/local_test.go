package daemons

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fsub/testbed/program"
)

// hostedPool is a world with a local pool whose nodes are on the machine of the third daemon.
func hostedPool(t *testing.T) *rented {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: not root: nodes run jobs as their users")
	}
	r := new(rented)
	newWorld(t, 3, func(w *world) {
		r.world = w
		if err := errors.Join(program.Put(w.dir, "fed-agent"), os.Chmod(w.dir, 0o711)); err != nil {
			t.Fatal(err)
		}
		w.sites = func(*daemon) string {
			return fmt.Sprintf(`agents: {listen: "%s", lease: 1m}
sites:
- name: here
  kind: local
  local: {host: d3, nodes: 4, cpus: 2, mem_mib: 200, network: host}
  pools: [{name: main, idle: 1s}]
  timing: {list: 500ms, list_soon: 300ms, stray: 1s, margin: 1s, kill_wait: 2s}
`, freeAddress(t))
		}
	})
	return r
}

// job submits a job that runs until a file is there.
func (r *rented) job(d *daemon, name, gate string) string {
	r.t.Helper()
	r.write(name+".sh", fmt.Sprintf("#!/bin/bash\n#SBATCH --time=30 --cpus-per-task=2\necho began >> %[1]s/began-%[2]s\n%[3]s\n", r.dir, name, r.waits(gate)))
	id, err := d.run("fsub", "--parsable", "--job-name="+name, d.path(name+".sh"))
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// passOn has a daemon stop leading, if it leads, and returns the one that does.
func (r *rented) passOn(from *daemon) *daemon {
	r.t.Helper()
	eventually(r.t, "another daemon than "+from.name+" leads", func() error {
		if r.leader(from) != from {
			return nil
		}
		_, err := from.run("fed", "daemon", "step-down")
		return errors.Join(err, errors.New(from.name+" leads"))
	})
	return r.leader(from)
}

// nodes are the directories of nodes that live.
func (r *rented) nodes() []string {
	list, _ := filepath.Glob(r.path("*-machines/here/machines/*"))
	return list
}

// The nodes of a local pool are on the machine of one daemon, whichever leads: that it is killed, or another, with jobs that run, loses none and starts none
// two times. While the daemon of that machine is gone the site says so, jobs that run there end as usual, and others wait.
func TestLocalPool(t *testing.T) {
	t.Parallel()
	r := hostedPool(t)
	host := r.daemons[2]
	first := r.passOn(host)
	var asked *daemon
	for _, d := range r.others(first) {
		if d != host {
			asked = d
		}
	}
	soon, late := r.job(asked, "soon", "soon"), r.job(asked, "late", "late")
	r.untilState(asked, "RUNNING", []string{soon, late})
	for _, at := range r.nodes() {
		if !strings.HasPrefix(at, r.path("d3-machines")) {
			t.Errorf("a node is at %s", at)
		}
	}
	first.kill()
	r.write("soon", "")
	r.untilState(asked, "COMPLETED", []string{soon})
	first.start()
	// The daemon of that machine leads itself, and then no more.
	eventually(t, "d3 leads", func() error {
		if l := r.leader(asked); l != host {
			_, err := l.run("fed", "daemon", "step-down")
			return errors.Join(err, errors.New(l.name+" leads"))
		}
		return nil
	})
	own := r.job(asked, "own", "own")
	r.untilState(asked, "RUNNING", []string{own, late})
	host.kill()
	r.write("own", "")
	r.untilState(asked, "COMPLETED", []string{own})
	r.untilState(asked, "RUNNING", []string{late})
	const said = "daemon d3, on whose machine the nodes are, does not answer for them"
	eventually(t, "the site says what is wrong", func() error {
		out, err := asked.run("fed", "site", "show", "here")
		if err == nil && (!strings.Contains(out, "NO_ANSWER") || !strings.Contains(out, said)) {
			err = errors.New(out)
		}
		return err
	})
	next := r.job(asked, "next", "late")
	r.write("late", "")
	r.untilState(asked, "COMPLETED", []string{late})
	r.untilState(asked, "PENDING", []string{next})
	host.start()
	r.untilState(asked, "COMPLETED", []string{next})
	r.beganOnce()
	eventually(t, "no node is left", func() error {
		if left := r.nodes(); len(left) > 0 {
			return errors.New(strings.Join(left, " "))
		}
		return nil
	})
}
