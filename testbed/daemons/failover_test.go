package daemons

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fsub/testbed/postgres"
	"fsub/testbed/simsite"
)

// An asynchronous standby takes over that has not got the last submissions. The daemons notice it, name each job that is lost, and give no ID twice; the old
// primary comes back, as a primary, and gets no write.
func TestStandbyThatLacksCommitsTakesOver(t *testing.T) {
	for _, count := range []int{1, 3} {
		t.Run(fmt.Sprint(count, " daemons"), func(t *testing.T) {
			if count == 1 && os.Getenv("FSUB_FULL") == "" {
				t.Skip("SKIPPED: the run with three daemons shows the same: FSUB_FULL=1 runs it")
			}
			t.Parallel()
			pg := postgres.Start(t)
			standby := pg.Standby()
			pg.Exec("CREATE DATABASE shared OWNER " + postgres.Role)
			options := []option{on(pg, fmt.Sprintf("postgres://%s@%s,%s/shared?sslmode=disable", postgres.Role, pg.Listen(), standby.Listen()))}
			if count == 1 {
				options = append(options, alone)
			}
			w := newWorld(t, count, options...)
			w.write("job.sh", "#!/bin/sh\n#SBATCH --time=5\n#SIM run=1s\n")
			kept := w.submitSome(10)
			eventually(t, "the standby has them", func() error { return atLeast(1, has(standby, kept[len(kept)-1])) })
			pg.Exec("ALTER SYSTEM SET synchronous_standby_names = ''")
			pg.Exec("SELECT pg_reload_conf()")
			standby.Exec("ALTER SYSTEM SET primary_conninfo = ''")
			standby.Exec("SELECT pg_reload_conf()")
			eventually(t, "the standby gets no more", func() error {
				if n := pg.Exec("SELECT COUNT(*) FROM pg_stat_replication"); n != "0" {
					return errors.New(n + " connections")
				}
				return nil
			})
			lost := append(w.submitSome(10), w.submitSome(5, "--hold")...)
			pg.Kill()
			standby.Promote()
			if count == 1 { // as systemd does
				<-w.daemons[0].ended
				w.daemons[0].cmd = nil
				w.daemons[0].start()
			}
			eventually(t, "a job is submitted", func() error {
				_, err := w.daemons[count-1].run("fsub", "--parsable", "--hold", "job.sh")
				return err
			})
			pg.Restart()
			after := w.submitSome(10)
			w.named(lost, kept)
			for _, id := range after {
				if id < lost[len(lost)-1]+5000 {
					t.Errorf("ID %d was given after %d", id, lost[len(lost)-1])
				}
			}
			w.recorded(append(kept, after...))
			runs := map[uint32]int{}
			w.site.EachRun(func(r simsite.Run) bool { runs[r.JobID]++; return true })
			for id, n := range runs {
				if n != 1 {
					t.Errorf("job %d ran %d times", id, n)
				}
			}
			if n := pg.ExecIn("shared", fmt.Sprint("SELECT COUNT(*) FROM jobs WHERE id > ", lost[len(lost)-1])); n != "0" {
				t.Errorf("the old primary has got %s jobs since it is back", n)
			}
		})
	}
}

// submitSome submits so many jobs, each at the next daemon.
func (w *world) submitSome(n int, options ...string) (ids []uint32) {
	w.t.Helper()
	for i := range n {
		out, err := w.daemons[i%len(w.daemons)].run(append(append([]string{"fsub", "--parsable"}, options...), "job.sh")...)
		id, bad := strconv.ParseUint(out, 10, 32)
		if err := errors.Join(err, bad); err != nil {
			w.t.Fatal(err)
		}
		ids = append(ids, uint32(id))
	}
	return ids
}

func has(s *postgres.Server, id uint32) int {
	n, _ := strconv.Atoi(s.ExecIn("shared", fmt.Sprint("SELECT COUNT(*) FROM jobs WHERE id = ", id)))
	return n
}

// named checks that the logs of the daemons name each lost job, and none that is there.
func (w *world) named(lost, kept []uint32) {
	w.t.Helper()
	names := regexp.MustCompile(`a job is lost that its user was told is submitted.* job=(\d+) user=`)
	eventually(w.t, "the lost jobs are named", func() error {
		found := map[string]bool{}
		for _, d := range w.daemons {
			log, err := os.ReadFile(w.path(d.name + ".log"))
			if err != nil {
				return err
			}
			for _, m := range names.FindAllStringSubmatch(string(log), -1) {
				found[m[1]] = true
			}
		}
		for _, id := range kept {
			if found[fmt.Sprint(id)] {
				w.t.Errorf("job %d is named as lost, and is there", id)
			}
		}
		var missing []string
		for _, id := range lost {
			if !found[fmt.Sprint(id)] {
				missing = append(missing, fmt.Sprint(id))
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("not these: %s", strings.Join(missing, " "))
		}
		return nil
	})
}
