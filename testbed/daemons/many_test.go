package daemons

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// manyLive is how many live jobs there are where it matters.
const manyLive = 100_000

// fill makes so many jobs like one that waits. No daemon runs meanwhile.
func (w *world) fill(like string, count int) {
	w.t.Helper()
	for _, d := range w.daemons {
		d.kill()
	}
	address, err := url.Parse(w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	database := strings.TrimPrefix(address.Path, "/")
	columns := strings.Split(w.pg.ExecIn(database, "SELECT column_name FROM information_schema.columns WHERE table_name = 'jobs' AND is_generated = 'NEVER' AND column_name <> 'id' ORDER BY 1"), "\n")
	list := `"` + strings.Join(columns, `", "`) + `"`
	w.pg.ExecIn(database, fmt.Sprintf("INSERT INTO jobs (id, %s) SELECT %s + n, %s FROM jobs, generate_series(1, %d) AS n WHERE id = %s", list, like, list, count, like))
	w.pg.ExecIn(database, fmt.Sprintf("SELECT setval('job_ids', %s + %d)", like, count))
	w.pg.ExecIn(database, "ANALYZE")
	for _, d := range w.daemons {
		d.start()
	}
	w.stand()
}

var leadTimes = regexp.MustCompile(`time=(\S+) level=INFO msg="this daemon (is to lead|leads)"`)

// openings are how long each term of the daemon took from the lease until it answered.
func (d *daemon) openings() (all []time.Duration) {
	log, err := os.ReadFile(d.path(d.name + ".log"))
	if err != nil {
		d.t.Fatal(err)
	}
	var won time.Time
	for _, m := range leadTimes.FindAllStringSubmatch(string(log), -1) {
		at, err := time.Parse(time.RFC3339Nano, m[1])
		if err != nil {
			d.t.Fatal(err)
		}
		if m[2] == "is to lead" {
			won = at
		} else {
			all = append(all, at.Sub(won))
		}
	}
	return all
}

// How long it takes from the lease until a daemon that stood by answers, with many jobs. It reports, and fails at nothing but what takes minutes.
func TestTakeOverOfMany(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: reports how long a take-over takes, in a minute: FSUB_FULL=1 runs it")
	}
	w := newWorld(t, 2)
	w.write("job.sh", "#!/bin/sh\n#SBATCH --time=5\n#SBATCH --hold\n")
	like, err := w.daemons[0].run("fsub", "--parsable", w.path("job.sh"))
	if err != nil {
		t.Fatal(err)
	}
	w.fill(like, manyLive)
	for range 6 {
		was := w.leader(w.daemons[0])
		if _, err := was.run("fed", "daemon", "step-down"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the other one leads", func() error {
			if w.leader(was) == was {
				return errors.New("not yet")
			}
			return nil
		})
		w.stand()
		for _, d := range w.daemons {
			if out, err := d.run("squeue", "-h", "-o", "%i"); err != nil || strings.Count(out, "\n") != manyLive {
				t.Fatalf("%s lists %d jobs: %v", d.name, 1+strings.Count(out, "\n"), err)
			}
		}
	}
	var warm []time.Duration
	for _, d := range w.daemons {
		all := d.openings()
		t.Logf("%s: %v", d.name, all)
		warm = append(warm, all[max(0, len(all)-3):]...)
	}
	slices.Sort(warm)
	t.Logf("with %s live jobs a daemon that stood by answers %v after it has won the lease (median of %d)", strconv.Itoa(manyLive), warm[len(warm)/2], len(warm))
}
