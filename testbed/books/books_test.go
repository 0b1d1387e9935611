package books

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

var (
	world suite.Suite
	sites = []string{"alpha", "gamma", "delta"} // 24.11, 26.05, 22.05
)

const rented = "rented" // a pool of machines that are processes here

// sreportAt has this program run sreport in a site of a bed: DIRECTORY:SITE.
const sreportAt = "FSUB_BOOKS_SREPORT"

func TestMain(m *testing.M) {
	if at := os.Getenv(sreportAt); at != "" {
		dir, site, _ := strings.Cut(at, ":")
		b, err := bed.New(bed.Options{Dir: dir})
		if err == nil {
			err = b.Exec(context.Background(), bed.Cmd{Site: site, Args: append([]string{"sreport"}, os.Args[1:]...), Stdout: os.Stdout, Stderr: os.Stderr})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if full {
		crowd()
	}
	world.Main(m, suite.Config{Name: "books", Sites: sites, Bed: bed.Options{MinJobAge: 10 * time.Second}, Start: func(context.Context) error { return world.Programs("fsub", "fed", "fed-agent") }})
}

// full: with thousands of jobs of twenty users.
var full = os.Getenv("FSUB_FULL") != ""

// crowd has beds know twenty users in six accounts.
func crowd() {
	accounts := []string{"physics", "vision", "chemistry", "genomics", "climate", "language"}
	for i := len(bed.Users); i < 20; i++ {
		bed.Users = append(bed.Users, bed.User{Name: fmt.Sprintf("user%02d", i), UID: 7001 + i, Accounts: []string{accounts[i%6], accounts[(i+1)%6]}})
	}
}

// jobs is how many are submitted at each site by its own sbatch, and by fsub. Arrays and requeues make more runs of them.
func jobs() (there, here int) {
	if full {
		return 800, 320
	}
	return 24, 12
}

// patience is how long what must come about may take.
func patience() time.Duration {
	if full {
		return 25 * time.Minute
	}
	return 8 * time.Minute
}

// story is what happens at one site.
type story struct {
	testing.TB
	site string
}

func (s *story) as(user string, args ...string) string {
	s.Helper()
	out, err := world.Bed.Output(context.Background(), s.site, user, args...)
	if err != nil {
		s.Fatalf("%s: %v: %v\n%s", s.site, args, err, out)
	}
	return strings.TrimSpace(out)
}

func (s *story) eventually(what string, done func() string) {
	s.Helper()
	last := ""
	for deadline := time.Now().Add(patience()); time.Now().Before(deadline); time.Sleep(time.Second) {
		if last = done(); last == "" {
			return
		}
	}
	s.Fatalf("%s: %s did not come true in %v: %s", s.site, what, patience(), last)
}

// state is a job's state in the site's queue.
func (s *story) state(id string) string {
	out, err := world.Bed.Output(context.Background(), s.site, "", "squeue", "-h", "-t", "all", "-j", id, "-o", "%T")
	if err != nil {
		return "gone"
	}
	return strings.TrimSpace(out)
}

// node is where a job runs, if it does.
func (s *story) node(id string) string {
	out, _ := world.Bed.Output(context.Background(), s.site, "", "squeue", "-h", "-t", "RUNNING", "-j", id, "-o", "%N")
	return strings.TrimSpace(out)
}

// quiet waits until nothing is in the site's queue.
func (s *story) quiet() {
	s.Helper()
	s.eventually("an empty queue", func() string { return s.as("", "squeue", "-h", "-o", "%i %T %r") })
}

// yesterday moves what slurmdbd has a day back, and has it rolled up.
func (s *story) yesterday() {
	s.Helper()
	if err := world.Bed.StopService(s.site, "slurmdbd"); err != nil {
		s.Fatal(err)
	}
	job, step, last := s.site+"_job_table", s.site+"_step_table", s.site+"_last_ran_table"
	sql := fmt.Sprintf("UPDATE %[1]s SET time_submit = time_submit - 86400, time_eligible = IF(time_eligible > 0, time_eligible - 86400, 0), "+
		"time_start = IF(time_start > 0, time_start - 86400, 0), time_end = IF(time_end > 0, time_end - 86400, 0), time_suspended = IF(time_suspended > 86400, time_suspended - 86400, time_suspended); "+
		"UPDATE %[2]s SET time_start = time_start - 86400, time_end = IF(time_end > 0, time_end - 86400, 0); "+
		"UPDATE %[4]s_suspend_table SET time_start = time_start - 86400, time_end = IF(time_end > 0, time_end - 86400, 0); "+
		"UPDATE %[4]s_event_table SET time_start = time_start - 172800; "+
		"UPDATE %[3]s SET hourly_rollup = UNIX_TIMESTAMP() - 172800, daily_rollup = UNIX_TIMESTAMP() - 172800, monthly_rollup = UNIX_TIMESTAMP() - 172800;", job, step, last, s.site)
	db := s.as("", "sh", "-c", "sed -n 's/^StorageLoc=//p' /etc/slurm/slurmdbd.conf")
	if db == "" {
		db = "slurm_acct_db"
	}
	s.as("", "mariadb", "--no-defaults", "-h127.0.0.1", "-uroot", db, "-e", sql)
	if err := world.Bed.StartService(context.Background(), s.site, "slurmdbd"); err != nil {
		s.Fatal(err)
	}
	s.eventually("a roll-up", func() string {
		if s.as("", "mariadb", "--no-defaults", "-h127.0.0.1", "-uroot", db, "-Ne", "SELECT COUNT(*) FROM "+s.site+"_assoc_usage_day_table") == "0" {
			return "nothing is in the table of days"
		}
		return ""
	})
}

// sacct adds up what the site's sacct prints, of all rows, for each account, user and TRES, and counts the rows that held something.
func (s *story) sacct() (map[string]int64, int) {
	s.Helper()
	out, rows := map[string]int64{}, 0
	for line := range strings.Lines(s.as("", "sacct", "-a", "-X", "-D", "-n", "-P", "-S", time.Now().Add(-72*time.Hour).UTC().Format("2006-01-02T15:04:05"), "-o", "Account,User,ElapsedRaw,AllocTRES,Suspended")) {
		f := strings.Split(strings.TrimSpace(line), "|")
		elapsed, err := strconv.ParseInt(f[2], 10, 64)
		tres, err2 := accounting.ParseTRES(f[3])
		if err = errors.Join(err, err2); err != nil {
			s.Fatalf("%s: sacct printed %q: %v", s.site, line, err)
		}
		if f[3] == "" {
			continue
		}
		rows++
		out[f[0]+"|"+f[1]+"|cpu"] += tres["cpu"] * elapsed
		if f[4] == "00:00:00" { // of others sacct leaves out time for which GPUs were held
			out[f[0]+"|"+f[1]+"|gpu"] += tres["gres/gpu"] * elapsed
		}
	}
	return out, rows
}

func TestBooksAgreeWithSites(t *testing.T) {
	world.Need(t)
	there, here := jobs()
	each := func(do func(*story)) {
		var all sync.WaitGroup
		for _, site := range sites {
			all.Go(func() { do(&story{t, site}) })
		}
		all.Wait()
		if t.Failed() {
			t.FailNow()
		}
	}
	each(func(s *story) {
		s.submitThere(there, 0)
		s.quiet()
		time.Sleep(6 * time.Second) // until slurmdbd has it
		s.yesterday()
	})
	err := world.StartDaemon(t.Context(), func(config map[string]any) {
		config["books"] = map[string]any{"sites": true}
		for _, s := range config["sites"].([]any) {
			site := s.(map[string]any)
			site["report_command"] = []string{"/usr/bin/env", sreportAt + "=" + world.Bed.Dir() + ":" + fmt.Sprint(site["name"]), os.Args[0]}
		}
		config["agents"] = map[string]any{"listen": "127.0.0.1:0", "lease": "5m"}
		config["sites"] = append(config["sites"].([]any), map[string]any{"name": rented, "kind": "local", "pools": []any{map[string]any{"name": "main", "default": true, "max": 2, "idle": "5s"}},
			"local": map[string]any{"nodes": 2, "cpus": 8, "mem_mib": 16000, "gpus": 4, "gpu_type": "h100", "price": 3}})
	})
	if err == nil {
		err = world.Daemon.AwaitSites(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	disturb(t) // while what was before is imported
	submitHere(t, here)
	disturb(t)
	each(func(s *story) { s.submitThere(there/3, 1) })
	c := world.Daemon.Client()
	defer c.Close()
	each(func(s *story) { s.quiet() })
	s := &story{t, "all sites"}
	s.eventually("an empty queue here", func() string { return login(t, "squeue", "-h") })

	today := time.Now().UTC().Truncate(24 * time.Hour)
	day := func(n int) string { return today.AddDate(0, 0, n).Format(time.DateOnly) }
	var found []v1.BooksCheck
	s.eventually("books without a difference", func() string {
		if found, err = c.CheckBooks(t.Context(), url.Values{"from": {day(-2)}, "until": {day(2)}}); err != nil {
			return err.Error()
		}
		for _, f := range found {
			for _, d := range f.Differences {
				if d.With == "sacct" {
					return fmt.Sprintf("%s: %+v", f.Site, f.Differences)
				}
			}
			if f.Error != "" {
				return fmt.Sprintf("%s: %s", f.Site, f.Error)
			}
		}
		return ""
	})
	found = slices.DeleteFunc(found, func(f v1.BooksCheck) bool { return f.Site == rented })
	for _, f := range found {
		t.Logf("%s: %d runs, %d figures compared with sacct", f.Site, f.Runs, f.Figures)
		if f.Runs < there+here/len(sites) || f.Figures < 8 {
			t.Errorf("%s: only %d runs and %d figures were compared", f.Site, f.Runs, f.Figures)
		}
	}
	if found, err = c.CheckBooks(t.Context(), url.Values{"from": {day(-3)}, "until": {day(0)}}); err != nil {
		t.Fatal(err)
	}
	found = slices.DeleteFunc(found, func(f v1.BooksCheck) bool { return f.Site == rented })
	for _, f := range found {
		t.Logf("%s: %d runs of the days before, %d figures compared with sreport", f.Site, f.Runs, f.ReportFigures)
		if len(f.Differences) > 0 || f.ReportFigures < 8 {
			t.Errorf("%s: %q, %d figures, %+v", f.Site, f.Report, f.ReportFigures, f.Differences)
		}
	}
	each(func(s *story) {
		want, rows := s.sacct()
		s.compare(c, want, rows, day(-3), day(2))
	})
	s.site = rented
	want, rows := ourSacct(t)
	s.compare(c, want, rows, day(-3), day(2))
}

// login runs one of our commands.
func login(t *testing.T, args ...string) string {
	t.Helper()
	var out, said strings.Builder
	err := world.Bed.Exec(t.Context(), bed.Cmd{Site: bed.Login, Args: args, Stdout: &out, Stderr: &said, Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket()}})
	if err != nil {
		return fmt.Sprintf("%v: %v: %s", args, err, said.String())
	}
	return strings.TrimSpace(out.String())
}

// ourSacct adds up what our sacct says of the rented machines' jobs. It reads jobs and attempts, and knows nothing of the ledger.
func ourSacct(t *testing.T) (map[string]int64, int) {
	t.Helper()
	out, rows := map[string]int64{}, 0
	for line := range strings.Lines(login(t, "sacct", "-a", "-X", "-D", "-n", "-P", "-o", "Account,User,ElapsedRaw,AllocTRES,Cluster")) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 5 || f[4] != rented || f[3] == "" {
			continue
		}
		rows++
		elapsed, err := strconv.ParseInt(f[2], 10, 64)
		tres, err2 := accounting.ParseTRES(f[3])
		if err = errors.Join(err, err2); err != nil {
			t.Fatalf("our sacct printed %q: %v", line, err)
		}
		out[f[0]+"|"+f[1]+"|cpu"] += tres["cpu"] * elapsed
		out[f[0]+"|"+f[1]+"|gpu"] += tres["gres/gpu"] * elapsed
	}
	return out, rows
}

// compare compares the ledger with what sacct's rows come to. A site's sacct knows nothing of slurmrestd.
func (s *story) compare(c *client.Client, want map[string]int64, rows int, from, until string) {
	sums, err := c.BookedSums(context.Background(), url.Values{"site": {s.site}, "by": {"account,user"}, "from": {from}, "until": {until}})
	if err != nil {
		s.Fatal(err)
	}
	got, runs := map[string]int64{}, int64(0)
	for _, x := range sums {
		if x.Runs == 0 && s.site == rented { // machines without a job
			continue
		}
		got[strings.Join(x.Values, "|")+"|cpu"] += x.CPUSeconds
		got[strings.Join(x.Values, "|")+"|gpu"] += x.GPUSeconds
		runs += x.Runs
	}
	for key, n := range want {
		if got[key] != n {
			s.Errorf("%s: %s: the ledger has %d seconds, sacct %d", s.site, key, got[key], n)
		}
		delete(got, key)
	}
	for key, n := range got {
		if n != 0 {
			s.Errorf("%s: %s: the ledger has %d seconds, sacct none", s.site, key, n)
		}
	}
	s.Logf("%s: %d runs, %d rows of sacct, %d figures", s.site, runs, rows, len(want))
}

// disturb kills what the import needs, at random, a few times.
func disturb(t *testing.T) {
	times := 1
	if full {
		times = 5
	}
	for range times {
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Millisecond)
		site := sites[rand.IntN(len(sites))]
		for _, name := range []string{"mariadb", "slurmdbd"}[rand.IntN(2):] {
			if err := world.Bed.KillService(site, name); err != nil {
				t.Fatal(err)
			}
		}
		world.Daemon.Kill()
		if err := world.Daemon.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"mariadb", "slurmdbd"} {
			if pid, err := world.Bed.ServicePID(site, name); err != nil || pid == 0 {
				if err := world.Bed.StartService(t.Context(), site, name); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := world.Daemon.AwaitSites(t.Context()); err != nil {
		t.Fatal(err)
	}
}
