package daemons

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/testbed/postgres"
	"fsub/testbed/simsite"
)

// suffering is a way in which the database of a daemon suffers, and what a user is told meanwhile.
type suffering struct {
	name    string
	prepare func(w *suffered)
	begin   func(w *suffered)
	end     func(w *suffered)
	says    string // an expression
	always  bool   // without FSUB_FULL too
}

// suffered is a database that suffers.
type suffered struct {
	t          *testing.T
	pg         *postgres.Server
	url        string
	standby    *postgres.Server
	fill, free func()
}

var sufferings = []suffering{
	{
		name:  "stopped",
		begin: func(s *suffered) { s.pg.Stop() },
		end:   func(s *suffered) { s.pg.Restart() },
		says:  "the database does not answer",
	},
	{
		name:  "killed",
		begin: func(s *suffered) { s.pg.Kill() },
		end:   func(s *suffered) { s.pg.Restart() },
		says:  "the database does not answer",
	},
	{
		name:   "read-only",
		begin:  func(s *suffered) { s.readOnly("on"); s.cut() },
		end:    func(s *suffered) { s.readOnly("off") },
		says:   "no host of the URL takes writes",
		always: true,
	},
	{
		name:    "full",
		prepare: func(s *suffered) { s.url, s.fill, s.free = s.pg.Small(64) },
		begin:   func(s *suffered) { s.fill() },
		end:     func(s *suffered) { s.free() },
		says:    "no space left for the database",
		always:  true,
	},
	{
		name:    "its log's disk full",
		prepare: func(s *suffered) { s.fill, s.free = s.pg.SmallLog(128) },
		begin:   func(s *suffered) { s.fill() },
		end:     func(s *suffered) { s.free() },
		says:    "the database does not answer|the database has crashed|the database is starting|the connection to the database was lost",
	},
	{
		name:    "without its standby",
		prepare: func(s *suffered) { s.standby = s.pg.Standby() },
		begin:   func(s *suffered) { s.standby.Stop() },
		end:     func(s *suffered) { s.standby.Restart() },
		says:    "the database has not confirmed it|has not answered in time",
	},
	{
		name: "slow, six seconds a commit",
		prepare: func(s *suffered) {
			s.standby = s.pg.Standby()
			s.pg.Exec("ALTER ROLE " + postgres.Role + " SET synchronous_commit = remote_apply")
		},
		begin: func(s *suffered) { s.delay("6s") },
		end:   func(s *suffered) { s.delay("0") },
		says:  "the database has not confirmed it|has not answered in time",
	},
}

func (s *suffered) readOnly(to string) {
	s.pg.Exec("ALTER ROLE " + postgres.Role + " SET default_transaction_read_only = " + to)
}

// cut ends the connections of daemons.
func (s *suffered) cut() {
	s.pg.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fed'")
}

// delay has the standby apply what comes so late.
func (s *suffered) delay(by string) {
	s.standby.Exec("ALTER SYSTEM SET recovery_min_apply_delay = '" + by + "'")
	s.standby.Exec("SELECT pg_reload_conf()")
}

// The database suffers while jobs are submitted and run: whoever submits is told why it takes longer, and waits; no command fails, each job runs once, and
// the ends of those that ended meanwhile are recorded. Only the database is repaired. All ways with FSUB_FULL=1.
func TestDatabaseSuffers(t *testing.T) {
	for _, how := range sufferings {
		t.Run(how.name, func(t *testing.T) {
			if os.Getenv("FSUB_FULL") == "" && !how.always {
				t.Skip("SKIPPED: takes half a minute, as two other ways do: FSUB_FULL=1 runs it")
			}
			t.Parallel()
			s := &suffered{t: t, pg: postgres.Start(t)}
			s.url = s.pg.URL()
			if how.prepare != nil {
				how.prepare(s)
			}
			w := newWorld(t, 1, on(s.pg, s.url), alone)
			jobs := w.submit(4)
			eventually(t, "some jobs run", func() error { return atLeast(20, jobs.count()) })
			how.begin(s)
			told := w.ask(how.says)
			time.Sleep(3 * time.Second) // jobs end meanwhile
			how.end(s)
			told()
			before := jobs.count()
			eventually(t, "jobs are submitted again", func() error { return atLeast(before+20, jobs.count()) })
			jobs.end()
			w.recorded(jobs.ids)
		})
	}
}

func atLeast(want, have int) error {
	if have < want {
		return fmt.Errorf("%d of %d", have, want)
	}
	return nil
}

func (s *submitter) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ids)
}

// ask submits jobs until a command says why that takes longer. The function that it returns waits until that command has succeeded.
func (w *world) ask(says string) (wait func()) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		said, ended := w.hold()
		for {
			if regexp.MustCompile(says).MatchString(said.String()) {
				return func() {
					w.t.Helper()
					if err := <-ended; err != nil {
						w.t.Errorf("the submission failed: %v: %s", err, said)
					}
					w.t.Logf("the user was told:\n%s", said)
				}
			}
			select {
			case err := <-ended:
				if err != nil {
					w.t.Fatalf("the submission failed: %v: %s", err, said)
				}
			case <-time.After(20 * time.Millisecond):
				continue
			}
			break // the database has still done that one
		}
	}
	w.t.Fatalf("nobody was told %q", says)
	return nil
}

// hold submits a job that never runs, and returns what the command says and the channel to which it sends how it ended.
func (w *world) hold() (*text, <-chan error) {
	w.t.Helper()
	d := w.daemons[0]
	cmd := exec.Command(d.path("fsub"), "--parsable", "--hold", "job.sh")
	cmd.Env = append(os.Environ(), "FSUB_SOCKET="+d.path(d.name+".sock"), "LC_ALL=C.UTF-8")
	cmd.Dir = d.dir
	said := new(text)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return said, ended
}

// text is what a command says.
type text struct {
	mu sync.Mutex
	strings.Builder
}

func (b *text) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.Write(p)
}

func (b *text) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.String()
}

// recorded checks that the store has the end of each job as the site has it.
func (w *world) recorded(ids []uint32) {
	w.t.Helper()
	eventually(w.t, "the ends are recorded", func() error {
		ends := map[uint32]time.Time{}
		w.site.EachRun(func(r simsite.Run) bool { ends[r.JobID] = r.End; return true })
		out, err := w.daemons[0].run("sacct", "-X", "-n", "-P", "-a", "--format=jobid,state,end")
		if err != nil {
			return err
		}
		has := map[string]string{}
		for line := range strings.Lines(out) {
			id, rest, _ := strings.Cut(strings.TrimSpace(line), "|")
			has[id] = rest
		}
		for _, id := range ids {
			if want := "COMPLETED|" + ends[id].Local().Format("2006-01-02T15:04:05"); has[fmt.Sprint(id)] != want {
				return fmt.Errorf("job %d: %s, want %s", id, has[fmt.Sprint(id)], want)
			}
		}
		return nil
	})
}

// The database is gone for ten minutes, as in a botched upgrade. Whoever submits then gives up, and has been told why; jobs run to their ends, which are recorded.
func TestDatabaseGoneForTenMinutes(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: takes a quarter of an hour: FSUB_FULL=1 runs it")
	}
	for _, count := range []int{1, 3} {
		t.Run(fmt.Sprint(count, " daemons"), func(t *testing.T) {
			t.Parallel()
			var options []option
			if count == 1 {
				options = append(options, alone)
			}
			w := newWorld(t, count, options...)
			d := w.daemons[0]
			w.write("job.sh", "#!/bin/sh\n#SBATCH --time=20\n#SIM run=300s\n")
			var ids []uint32
			for range 20 {
				out, err := d.run("fsub", "--parsable", "job.sh")
				id, bad := strconv.ParseUint(out, 10, 32)
				if err := errors.Join(err, bad); err != nil {
					t.Fatal(err)
				}
				ids = append(ids, uint32(id))
			}
			eventually(t, "all run", func() error { return atLeast(20, len(w.site.Active())) })
			w.pg.Stop()
			back := time.After(10 * time.Minute)
			began := time.Now()
			_, err := d.run("fsub", "--parsable", "job.sh")
			if err == nil || !regexp.MustCompile("the database does not answer|the one that leads has not answered").MatchString(err.Error()) {
				t.Errorf("without its database: %v", err)
			}
			t.Logf("given up after %v: %v", time.Since(began).Round(time.Second), err)
			<-back
			w.pg.Restart()
			eventually(t, "a job is submitted again", func() error {
				_, err := d.run("fsub", "--parsable", "--hold", "job.sh")
				return err
			})
			w.recorded(ids)
			for _, id := range ids {
				if n := w.site.RunCount(id); n != 1 {
					t.Errorf("job %d ran %d times", id, n)
				}
			}
			for _, d := range w.daemons {
				log, _ := os.ReadFile(w.path(d.name + ".log"))
				t.Logf("%s has written %d lines of log", d.name, strings.Count(string(log), "\n"))
			}
		})
	}
}
