package daemons

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// squeue has what a daemon lists of a job, and what it says beside that.
func (d *daemon) squeue(id string) (string, error) {
	return d.run("squeue", "--noheader", "-j", id, "-o", "%i %T")
}

// A job that was submitted at one daemon is listed by each other one at once, whichever leads.
func TestReadYourWrites(t *testing.T) {
	w := newWorld(t, 3)
	w.write("job.sh", "#!/bin/sh\n#SBATCH --time=5\n#SBATCH --hold\n")
	w.stand()
	times := 200
	if os.Getenv("FSUB_FULL") != "" {
		times = 10_000
	}
	for i := range times {
		at, asked := w.daemons[i%3], w.daemons[(i+1+i/3%2)%3]
		id, err := at.run("fsub", "--parsable", w.path("job.sh"))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := asked.squeue(id); err != nil || out != id+" PENDING" {
			t.Fatalf("job %s, submitted at %s, at %s: %q, %v", id, at.name, asked.name, out, err)
		}
		if _, err := asked.run("scancel", id); err != nil {
			t.Fatal(err)
		}
		if out, err := at.run("squeue", "--noheader", "-t", "all", "-j", id, "-o", "%i %T"); err != nil || out != id+" CANCELLED" {
			t.Fatalf("job %s, cancelled at %s, at %s: %q, %v", id, asked.name, at.name, out, err)
		}
	}
}

// stand waits until each daemon is ready to answer.
func (w *world) stand() {
	for _, d := range w.daemons {
		eventually(w.t, d.name+" is ready", func() error { return d.ready() })
	}
}

// When a job is expected to start whoever plans knows; each daemon says it.
func TestEachTellsStarts(t *testing.T) {
	w := newWorld(t, 2)
	w.write("all.sh", "#!/bin/sh\n#SBATCH -p spare -N 20 --exclusive --time=60\n#SIM run=3600s\n")
	w.stand()
	leads := w.leader(w.daemons[0])
	var id string
	for range 2 { // the second waits for the first
		var err error
		if id, err = leads.run("fsub", "--parsable", w.path("all.sh")); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []*daemon{leads, w.others(leads)[0]} {
		eventually(t, d.name+" says when the job starts", func() error {
			out, err := d.run("squeue", "--start", "-h", "-j", id, "-o", "%i %S")
			if err != nil || !strings.HasPrefix(out, id+" 20") {
				return fmt.Errorf("%q, %v", out, err)
			}
			return nil
		})
	}
}

// Those that stand by list jobs while the leader is frozen, and also while the database is gone: what they have then, with its age.
func TestFollowersAnswer(t *testing.T) {
	w := newWorld(t, 3)
	w.write("job.sh", "#!/bin/sh\n#SBATCH --time=5\n#SBATCH --hold\n")
	w.stand()
	leads := w.leader(w.daemons[0])
	id, err := leads.run("fsub", "--parsable", w.path("job.sh"))
	if err != nil {
		t.Fatal(err)
	}
	leads.end(syscall.SIGSTOP)
	for _, d := range w.others(leads) {
		for _, command := range []string{"squeue -h -o %i", "sacct -n -X -o JobID -j " + id, "fed job list"} {
			began := time.Now()
			if out, err := d.run(strings.Fields(command)...); err != nil || !strings.Contains(out, id) {
				t.Errorf("%s at %s: %q, %v", command, d.name, out, err)
			}
			t.Logf("%s: %s answered in %v while the leader was frozen", command, d.name, time.Since(began).Round(time.Millisecond))
		}
	}
	w.pg.Kill()
	for _, d := range w.others(leads) {
		eventually(t, d.name+" says how old its list is", func() error {
			out, said, err := d.both("squeue", "-h", "-o", "%i")
			if err != nil || out != id || !strings.Contains(said, "squeue: warning: the database does not answer: these are the jobs of ") {
				return fmt.Errorf("%q, %q, %v", out, said, err)
			}
			return nil
		})
		eventually(t, d.name+" is not ready", func() error {
			if d.ready() == nil {
				return fmt.Errorf("it is")
			}
			return nil
		})
	}
	w.pg.Restart()
	leads.end(syscall.SIGCONT)
	w.stand()
	for _, d := range w.daemons {
		if out, said, err := d.both("squeue", "-h", "-o", "%i"); err != nil || out != id || said != "" {
			t.Errorf("%s, after all: %q, %q, %v", d.name, out, said, err)
		}
	}
}

// A daemon that stands by and is stopped does not wait for those who follow events, or wait for a job, at it.
func TestFollowerStops(t *testing.T) {
	w := newWorld(t, 2)
	w.stand()
	d := w.others(w.leader(w.daemons[0]))[0]
	resp, err := d.http().Get("http://fed/fed/v1/events?follow=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil { // the mark from which it goes on
		t.Fatal(err)
	}
	began := time.Now()
	d.end(syscall.SIGTERM)
	<-d.ended
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it has stopped after %v", took)
	}
	d.cmd = nil
}

// A daemon that leads and loses the database lists what it has, too: one that has led since it was started, and one that has for a moment only.
func TestLeaderLosesTheDatabase(t *testing.T) {
	for _, stepsDown := range []bool{false, true} {
		t.Run(fmt.Sprintf("stepDown=%t", stepsDown), func(t *testing.T) {
			if stepsDown && os.Getenv("FSUB_FULL") == "" {
				t.Skip("SKIPPED: takes a minute or more: FSUB_FULL=1 runs it")
			}
			t.Parallel()
			w := newWorld(t, 2)
			w.write("job.sh", "#!/bin/sh\n#SBATCH --time=5\n#SBATCH --hold\n")
			w.stand()
			was := w.leader(w.daemons[0])
			id, err := was.run("fsub", "--parsable", w.path("job.sh"))
			if err != nil {
				t.Fatal(err)
			}
			if stepsDown {
				if _, err := was.run("fed", "daemon", "step-down"); err != nil {
					t.Fatal(err)
				}
				is := w.others(was)[0]
				eventually(t, is.name+" leads", func() error {
					if w.leader(was) != is {
						return fmt.Errorf("not yet")
					}
					return nil
				})
			}
			time.Sleep(4 * time.Second) // each daemon reads what is new once a second
			w.pg.Kill()
			for _, d := range w.daemons {
				eventually(t, d.name+" says how old its list is", func() error {
					out, said, err := d.both("squeue", "-h", "-o", "%i")
					if err != nil || out != id || !strings.Contains(said, "ago") {
						return fmt.Errorf("%q, %q, %v", out, said, err)
					}
					return nil
				})
			}
			w.pg.Restart()
			w.stand()
		})
	}
}
