package daemons

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/federation/leader"
	"fsub/testbed/postgres"
	"fsub/testbed/simsite"
)

// TestMain has more tests run at a time than there are cores: they wait for the ends of leases.
func TestMain(m *testing.M) {
	flag.Parse()
	at := "6"
	if os.Getenv("FSUB_FULL") != "" {
		at = "20"
	}
	if err := flag.Set("test.parallel", at); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// moment is one at which a leader is frozen.
type moment struct {
	name    string
	trap    func(leads *daemon, round int) *trap
	options []option
	denied  bool // the site refuses what arrives late, by its token
	late    bool // it arrives when the job was submitted again, and there are two copies
}

var moments = []moment{
	{name: "between BEGIN and COMMIT", trap: func(d *daemon, round int) *trap { return d.toDB.hold(false, commits(round%4)) }},
	{name: "between COMMIT and the first call", trap: func(d *daemon, round int) *trap { return d.toDB.hold(true, commits(round%4)) }},
	{name: "inside a call", trap: func(d *daemon, _ int) *trap { return d.toSite.hold(false, submits) }, denied: true},
	{name: "inside a call to a mapped site", trap: func(d *daemon, _ int) *trap { return d.toSite.hold(false, submits) }, options: []option{mapped}, late: true},
}

// The leader is frozen at each of these moments. What it has begun goes on when another one leads: the database refuses it, and so does the site, or the copy is cancelled.
// Each job runs once, and no command fails. With FSUB_FULL=1 a hundred times each, for three leases.
func TestFrozenLeader(t *testing.T) {
	worlds, rounds, freeze := 1, 1, time.Second
	if os.Getenv("FSUB_FULL") != "" {
		worlds, rounds, freeze = 10, 10, 3*leader.TTL
	}
	pg := postgres.Start(t, "max_connections=1000") // each daemon has some fifteen
	t.Run("at", func(t *testing.T) {
		for _, m := range moments {
			if m.late && os.Getenv("FSUB_FULL") == "" {
				continue // a new leader waits for half a minute there
			}
			for k := range worlds {
				t.Run(fmt.Sprintf("%s/%d", m.name, k), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, 2, append(slices.Clone(m.options), on(pg, pg.URL()), throughWays)...)
					run := "3s"
					if m.late {
						run = "30s" // while it runs, the site is polled for late copies twice a second
					}
					w.write("job.sh", "#!/bin/sh\n#SBATCH --time=5\n#SIM run="+run+"\n")
					f := &freezer{world: w, moment: m, freeze: freeze}
					for round := range rounds {
						f.round(k + round)
					}
					f.check()
				})
			}
		}
	})
}

// freezer freezes the leaders of a world.
type freezer struct {
	*world
	moment
	freeze time.Duration // for so long after another one leads

	ids    []uint32
	longer time.Duration // the longest time until another one led
}

// round submits a job, freezes the leader on its way, and thaws it when another one leads.
func (f *freezer) round(n int) {
	t := f.t
	t.Helper()
	was := f.leader(f.daemons[0])
	other := f.others(was)[0]
	trap := f.moment.trap(was, n)
	type answer struct {
		out string
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		out, err := other.run("fsub", "--parsable", other.path("job.sh"))
		answered <- answer{out, err}
	}()
	select {
	case <-trap.caught:
	case <-time.After(patience):
		t.Fatal("nothing was caught")
	}
	was.end(syscall.SIGSTOP)
	began, submitted := time.Now(), f.site.Stats().Submitted
	eventually(t, "another daemon leads", func() error {
		if f.leader(other) != other {
			return errors.New(was.name + " does")
		}
		return nil
	})
	f.longer = max(f.longer, time.Since(began))
	time.Sleep(f.freeze)
	if f.late {
		f.ranAgain(submitted)
	}
	before := f.site.Stats().Denied
	was.end(syscall.SIGCONT)
	close(trap.free)
	a := <-answered
	id, err := strconv.ParseUint(a.out, 10, 32)
	if err := errors.Join(a.err, err); err != nil {
		t.Fatal(err)
	}
	f.ids = append(f.ids, uint32(id))
	if f.denied {
		eventually(t, "the site refuses what arrives late", func() error {
			if f.site.Stats().Denied == before {
				return errors.New("it has not")
			}
			return nil
		})
	}
	eventually(t, "the job has run", func() error { return f.ran(uint32(id)) })
	eventually(t, was.name+" answers", func() error { _, err := was.list(); return err })
}

// ranAgain waits until the next leader has submitted the job once more.
func (f *freezer) ranAgain(submitted int) {
	eventually(f.t, "the job is submitted again", func() error {
		if f.site.Stats().Submitted == submitted {
			return errors.New("it is not")
		}
		return nil
	})
}

// ran reports whether a job has run to its end, once.
func (f *freezer) ran(id uint32) error {
	out, err := f.daemons[0].run("sacct", "-X", "-n", "-P", "-o", "State", "-j", strconv.Itoa(int(id)))
	if err == nil && out != "COMPLETED" {
		err = errors.New(out)
	}
	return err
}

// check checks that each job has run once, but for copies that were cancelled.
func (f *freezer) check() {
	t := f.t
	completed, others := map[string]int{}, 0
	f.site.EachRun(func(r simsite.Run) bool {
		if r.Outcome == simsite.RunCompleted {
			completed[r.Key]++
		} else {
			others++
		}
		return true
	})
	for key, n := range completed {
		if n != 1 {
			t.Errorf("%s ran %d times", key, n)
		}
	}
	if len(completed) != len(f.ids) {
		t.Errorf("%d jobs ran, %d were acknowledged", len(completed), len(f.ids))
	}
	late := 0
	for _, id := range f.ids {
		out, err := f.daemons[0].run("fed", "job", "show", strconv.Itoa(int(id)))
		if err != nil {
			t.Error(err)
		}
		late += strings.Count(out, "a second copy of it arrived late")
	}
	if submitted := f.site.Stats().Submitted; submitted-late != len(f.ids) || f.late != (late > 0) || others > late {
		t.Errorf("%d submissions of %d jobs, %d were told as late copies, %d runs did not complete", submitted, len(f.ids), late, others)
	}
	t.Logf("%d times; another daemon led after %v at most; %d late copies were cancelled", len(f.ids), f.longer.Round(10*time.Millisecond), late)
}
