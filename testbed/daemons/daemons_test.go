package daemons

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"fsub/testbed/simsite"
)

// submitter submits jobs by fsub, at one daemon after another, until it is told to end.
type submitter struct {
	w    *world
	stop chan struct{}
	done sync.WaitGroup

	mu     sync.Mutex
	absent *daemon // not asked: it does not run, so nobody answers at its socket
	ids    []uint32
	failed []error
	slow   time.Duration // the longest that a command took
}

// submit has so many loops submit.
func (w *world) submit(loops int) *submitter {
	s := &submitter{w: w, stop: make(chan struct{})}
	w.write("job.sh", "#!/bin/sh\n#SBATCH --time=5\n#SIM run=1s\n")
	for k := range loops {
		s.done.Go(func() {
			for i := k; ; i++ {
				select {
				case <-s.stop:
					return
				default:
					s.one(w.daemons[i%len(w.daemons)])
				}
			}
		})
	}
	return s
}

func (s *submitter) one(d *daemon) {
	s.mu.Lock()
	absent := d == s.absent
	s.mu.Unlock()
	if absent {
		return
	}
	began := time.Now()
	out, err := d.run("fsub", "--parsable", d.path("job.sh"))
	id, bad := strconv.ParseUint(out, 10, 32)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = max(s.slow, time.Since(began))
	if err := errors.Join(err, bad); err != nil {
		s.failed = append(s.failed, fmt.Errorf("after %v: %w", time.Since(began).Round(time.Millisecond), err))
		return
	}
	s.ids = append(s.ids, uint32(id))
}

// without asks one daemon no more, nil: all.
func (s *submitter) without(d *daemon) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.absent = d
}

// end stops the loops, and checks that no command has failed, and that each job ran once and to its end.
func (s *submitter) end() {
	t := s.w.t
	t.Helper()
	close(s.stop)
	s.done.Wait()
	for _, err := range s.failed[:min(5, len(s.failed))] {
		t.Error(err)
	}
	if len(s.failed) > 0 || len(s.ids) < 20 {
		t.Errorf("%d of %d commands failed", len(s.failed), len(s.failed)+len(s.ids))
	}
	eventually(t, "all jobs have ended", func() error {
		ran := map[uint32]int{}
		s.w.site.EachRun(func(r simsite.Run) bool {
			if r.Outcome == simsite.RunCompleted {
				ran[r.JobID]++
			}
			return true
		})
		missing := 0
		for _, id := range s.ids {
			if ran[id] == 0 {
				missing++
			}
		}
		if missing > 0 {
			return fmt.Errorf("%d of %d have not", missing, len(s.ids))
		}
		return nil
	})
	all := map[uint32]int{}
	s.w.site.EachRun(func(r simsite.Run) bool { all[r.JobID]++; return true })
	for _, id := range s.ids {
		if all[id] != 1 {
			t.Errorf("job %d ran %d times", id, all[id])
		}
	}
	if len(all) != len(s.ids) {
		t.Errorf("%d jobs ran, %d were acknowledged", len(all), len(s.ids))
	}
	t.Logf("%d jobs were submitted; the slowest command took %v", len(s.ids), s.slow.Round(time.Millisecond))
}

// notWaited checks that the lease of a daemon that was killed was not waited for.
func (w *world) notWaited(killed *daemon) {
	for _, d := range w.daemons {
		log, err := os.ReadFile(w.path(d.name + ".log"))
		if err != nil {
			w.t.Error(err)
		}
		if bytes.Contains(log, []byte("its lease is not waited for\" component=leader leader="+killed.name+" ")) {
			return
		}
	}
	w.t.Errorf("%s was killed, and the others have waited for the end of its lease", killed.name)
}

// The leader is taken away while jobs are submitted, in each way that a daemon may go: no command fails, and each job runs exactly once.
func TestLeaderGoes(t *testing.T) {
	w := newWorld(t, 3)
	s := w.submit(4)
	time.Sleep(2 * time.Second)
	for _, tt := range []struct {
		name string
		gone func(d *daemon) // takes it away
		back func(d *daemon)
	}{
		{"killed", (*daemon).kill, func(d *daemon) { w.notWaited(d); d.start() }},
		{"killed and started again at once", func(d *daemon) { d.kill(); d.start() }, func(d *daemon) { w.notWaited(d) }},
		{"stopped", func(d *daemon) { d.end(syscall.SIGTERM); <-d.ended; d.cmd = nil }, (*daemon).start},
		{"frozen for three leases", func(d *daemon) { d.end(syscall.SIGSTOP) }, func(d *daemon) { time.Sleep(15 * time.Second); d.end(syscall.SIGCONT) }},
		{"stepped down", func(d *daemon) {
			if _, err := d.run("fed", "daemon", "step-down"); err != nil {
				t.Error(err)
			}
		}, func(*daemon) {}},
	} {
		was := w.leader(w.daemons[0])
		if tt.name != "stepped down" {
			s.without(was)
			time.Sleep(300 * time.Millisecond) // what was asked of it is answered
		}
		began, before := time.Now(), was.cmd
		tt.gone(was)
		asked := w.others(was)[0]
		var is *daemon
		eventually(t, "another daemon leads", func() error {
			if is = w.leader(asked); is == was && is.cmd == before {
				return errors.New(was.name + " does")
			}
			return nil
		})
		if _, err := asked.run("fsub", "--parsable", "--hold", w.path("job.sh")); err != nil { // it never runs
			t.Error(err)
		}
		t.Logf("%s: %s leads after %s, a command was answered %v later", tt.name, is.name, was.name, time.Since(began).Round(time.Millisecond))
		tt.back(was)
		s.without(nil)
		time.Sleep(2 * time.Second)
	}
	s.end()
}
