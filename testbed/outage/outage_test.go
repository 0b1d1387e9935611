package outage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/driver"
	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

var world suite.Suite

// full: two hundred jobs instead of forty.
var full = os.Getenv("FSUB_FULL") != ""

const (
	lost  = "alpha" // 24.11
	other = "gamma" // 26.05; the daemon has a token for it, and no key
)

func TestMain(m *testing.M) {
	options := bed.Options{MinJobAge: time.Minute}
	if full {
		options.Nodes = 20 // room for all that moves there
	}
	world.Main(m, suite.Config{Name: "outage", Sites: []string{lost, other}, Bed: options, Start: start})
}

func start(ctx context.Context) error {
	if err := world.Programs("fsub", "fed"); err != nil {
		return err
	}
	if err := newToken(ctx, 24*time.Hour); err != nil {
		return err
	}
	err := world.StartDaemon(ctx, func(config map[string]any) {
		for _, s := range config["sites"].([]any) {
			site := s.(map[string]any)
			if site["backlog"] = 400; site["name"] == other {
				delete(site, "key_file")
				site["token_file"] = tokenFile()
			}
		}
	})
	if err != nil {
		return err
	}
	return world.Daemon.AwaitSites(ctx)
}

func tokenFile() string { return filepath.Join(world.Bed.Dir(), "outage.token") }

// newToken has the other site make a token for so long.
func newToken(ctx context.Context, life time.Duration) error {
	out, err := world.Bed.Output(ctx, other, "", "scontrol", "token", "username=slurm", fmt.Sprintf("lifespan=%d", int(life.Seconds())))
	if err != nil {
		return err
	}
	return os.WriteFile(tokenFile(), []byte(out), 0o600)
}

const patience = 5 * time.Minute

// eventually returns how long it took until say has nothing more to say.
func eventually(t *testing.T, what string, say func() string) time.Duration {
	t.Helper()
	began, why := time.Now(), ""
	for time.Since(began) < patience {
		if why = say(); why == "" {
			return time.Since(began)
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatalf("%s: not within %v: %s", what, patience, why)
	return 0
}

func site(t *testing.T, c *client.Client, name federation.SiteName) *v1.SiteDetail {
	t.Helper()
	s, err := c.Site(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func conditions(t *testing.T, c *client.Client, name federation.SiteName) string {
	t.Helper()
	var names []string
	for _, k := range site(t, c, name).Conditions {
		names = append(names, string(k.Name))
	}
	return strings.Join(names, ",")
}

func wants(t *testing.T, c *client.Client, name federation.SiteName, want string) {
	t.Helper()
	took := eventually(t, fmt.Sprintf("%s is %q", name, want), func() string {
		if is := conditions(t, c, name); is != want {
			return fmt.Sprintf("it is %q", is)
		}
		return ""
	})
	t.Logf("%s is %q after %.1f s", name, want, took.Seconds())
}

func set(t *testing.T, c *client.Client, name federation.SiteName, r v1.SetSiteState) {
	t.Helper()
	if r.Lost {
		r.Reason = "a fire"
	}
	if _, err := c.SetSiteState(context.Background(), name, r); err != nil {
		t.Fatal(err)
	}
}

func submit(t *testing.T, args ...string) federation.JobID {
	t.Helper()
	var stdout, stderr strings.Builder
	args = append([]string{"fsub", "-t5", "-c1", "--mem=100", "-o", "/dev/null"}, args...)
	err := world.Bed.Exec(context.Background(), bed.Cmd{Site: bed.Login, User: "alice", Args: args, Stdout: &stdout, Stderr: &stderr,
		Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket()}})
	id, bad := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(stdout.String(), "Submitted batch job ")), 10, 32)
	if err != nil || bad != nil {
		t.Fatalf("%v: %v: %s%s", args, err, stdout.String(), stderr.String())
	}
	return federation.JobID(id)
}

func job(t *testing.T, c *client.Client, id federation.JobID) federation.Job {
	t.Helper()
	r, err := c.Job(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r.Job
}

// TestLost: a site loses its power for good, with jobs that run and jobs that wait. After the operator's word all of them run elsewhere, once; when the
// site is back, what it still has of them is ended before it runs.
func TestLost(t *testing.T) {
	world.Need(t)
	ctx := context.Background()
	c := world.Daemon.Client()
	defer c.Close()
	n := 40
	if full {
		n = 200
	}
	dir := filepath.Join(world.Bed.Home("alice"), "lost")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o777)
	set(t, c, other, v1.SetSiteState{State: federation.FedDrain, Reason: "for the test"})
	// None comes to its end where the power goes.
	script := fmt.Sprintf(`f=%s/$SLURM_JOB_ID; echo "start $SLURM_CLUSTER_NAME $(date +%%s.%%N)" >>$f; [ $SLURM_CLUSTER_NAME != %s ] || exec sleep 3000; sleep 15; echo "end $SLURM_CLUSTER_NAME $(date +%%s.%%N)" >>$f`, dir, lost)
	var ids []federation.JobID
	for range n {
		ids = append(ids, submit(t, "-t", "60", "--wrap", script))
	}
	eventually(t, "all are at the site, and some run", func() string {
		at, run := 0, 0
		for _, id := range ids {
			if j := job(t, c, id); j.Site == lost {
				at++
				if j.State == federation.Running {
					run++
				}
			}
		}
		if at == n && run >= n/8 {
			t.Logf("%d jobs at %s, of which %d run", at, lost, run)
			return ""
		}
		return fmt.Sprintf("%d of %d jobs are there, %d run", at, n, run)
	})
	time.Sleep(6 * time.Second) // slurmctld saves what it has
	if _, err := c.SetSiteState(ctx, lost, v1.SetSiteState{Lost: true, Reason: "a fire"}); err == nil {
		t.Error("a site that answers could be lost")
	}
	if err := world.Bed.Down(ctx, []string{lost}, false, os.Stderr); err != nil {
		t.Fatal(err)
	}
	wants(t, c, lost, "NO_ANSWER")
	set(t, c, other, v1.SetSiteState{State: federation.FedActive})
	set(t, c, lost, v1.SetSiteState{Lost: true, Reason: "flood"})
	said := time.Now()
	var waits []time.Duration
	moved := map[federation.JobID]bool{}
	eventually(t, "all run elsewhere", func() string {
		for _, id := range ids {
			if j := job(t, c, id); !moved[id] && j.Site == other && j.State != federation.Pending {
				moved[id] = true
				waits = append(waits, time.Since(said))
			}
		}
		if len(waits) == n {
			return ""
		}
		states := map[string]int{}
		for _, id := range ids {
			if j := job(t, c, id); !moved[id] {
				states[fmt.Sprintf("%s %s at %q", j.State, j.Reason, j.Site)]++
			}
		}
		return fmt.Sprintf("%d of %d; the others are %v", len(waits), n, states)
	})
	slices.Sort(waits)
	p95 := waits[len(waits)*95/100]
	t.Logf("after fed site lost: %d jobs run elsewhere, p50 %.1f s, p95 %.1f s", n, waits[len(waits)/2].Seconds(), p95.Seconds())
	if p95 > 30*time.Second {
		t.Errorf("p95 is %v", p95)
	}

	up := time.Now()
	if err := world.Bed.Up(ctx, []string{lost}, os.Stderr); err != nil {
		t.Fatal(err)
	}
	wants(t, c, lost, "RETURNED")
	took := eventually(t, "nothing of ours is left", func() string {
		out, err := world.Bed.Output(ctx, lost, "", "squeue", "-h", "-t", "PD,R,CF,S", "-o", "%i %T %j")
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(out)
	})
	t.Logf("%.1f s after it was shown as back the site has no copies", took.Seconds())
	eventually(t, "all end", func() string {
		for _, id := range ids {
			if j := job(t, c, id); j.State != federation.Completed {
				return fmt.Sprintf("job %d is %s", id, j.State)
			}
		}
		return ""
	})
	ran, twice := 0, 0
	for _, id := range ids {
		text, err := os.ReadFile(filepath.Join(dir, id.String()))
		if err != nil {
			t.Error(err)
			continue
		}
		here := 0
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			var what, where string
			var at float64
			fmt.Sscan(line, &what, &where, &at)
			if what != "start" {
				continue
			}
			if where == lost && at > float64(said.UnixNano())/1e9 {
				t.Errorf("job %d started at %s after it was lost (it was back at %s):\n%s", id, lost, up.Format(time.TimeOnly), text)
			}
			if where == other {
				here++
			} else {
				ran++
			}
		}
		if here != 1 {
			twice++
			t.Errorf("job %d ran %d times at %s:\n%s", id, here, other, text)
		}
	}
	t.Logf("%d jobs had started at %s before; %d ran twice elsewhere", ran, lost, twice)
	set(t, c, lost, v1.SetSiteState{State: federation.FedActive})
	wants(t, c, lost, "")
	last := submit(t, "--fed-sites="+lost, "--wrap", "true")
	eventually(t, "it gets jobs again", func() string {
		if j := job(t, c, last); j.State != federation.Completed {
			return string(j.State)
		}
		return ""
	})
	for _, h := range site(t, c, lost).History {
		t.Logf("%s %s %s>%s %s", h.Time.Format(time.TimeOnly), h.Who, h.From, h.To, h.Why)
	}
}

// TestPartialOutages: each is a condition with a name, is over when its cause is, and keeps no job from running that can run.
func TestPartialOutages(t *testing.T) {
	world.Need(t)
	ctx := context.Background()
	c := world.Daemon.Client()
	defer c.Close()
	if err := world.Bed.Up(ctx, []string{lost}, os.Stderr); err != nil { // it may have been lost before
		t.Fatal(err)
	}
	runs := func(at string) {
		t.Helper()
		id := submit(t, "--fed-sites="+at, "--wrap", "true")
		eventually(t, "a job runs at "+at, func() string {
			if j := job(t, c, id); j.State != federation.Completed {
				return string(j.State) + " " + string(j.Reason)
			}
			return ""
		})
	}
	t.Run("accounting", func(t *testing.T) {
		if err := world.Bed.KillService(lost, "slurmdbd"); err != nil {
			t.Fatal(err)
		}
		wants(t, c, lost, "NO_ACCOUNTING")
		runs(lost)
		if err := world.Bed.StartService(ctx, lost, "slurmdbd"); err != nil {
			t.Fatal(err)
		}
		wants(t, c, lost, "")
	})
	t.Run("token", func(t *testing.T) {
		if err := newToken(ctx, 10*time.Second); err != nil {
			t.Fatal(err)
		}
		wants(t, c, other, "TOKEN_REFUSED")
		checks, err := c.TestSite(ctx, other)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(checks, func(k v1.SiteCheck) bool { return k.Name == "token" })
		if i < 0 || checks[i].Result != driver.CheckFailed || !strings.Contains(checks[i].Detail, "expired at") {
			t.Errorf("fed site test: %+v", checks)
		}
		if err := newToken(ctx, 24*time.Hour); err != nil {
			t.Fatal(err)
		}
		wants(t, c, other, "")
		runs(other)
	})
	t.Run("nodes", func(t *testing.T) {
		for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
			for i := range 2 {
				pid, err := world.Bed.ServicePID(lost, fmt.Sprintf("slurmd:%s%d", lost, i+1))
				if err != nil || pid == 0 {
					t.Fatal(pid, err)
				}
				if err := syscall.Kill(pid, sig); err != nil {
					t.Fatal(err)
				}
			}
			if sig == syscall.SIGSTOP {
				wants(t, c, lost, "NODES_SILENT")
				runs(lost)
			}
		}
		wants(t, c, lost, "")
	})
	t.Run("test", func(t *testing.T) {
		for _, name := range []federation.SiteName{lost, other} {
			checks, err := c.TestSite(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range checks {
				t.Logf("%s: %s %s: %s %s", name, k.Name, k.Result, k.Detail, k.Advice)
				if k.Result == driver.CheckFailed || k.Name == "node updates" && k.Result != driver.CheckOK {
					t.Errorf("%s: %s", name, k.Name)
				}
			}
		}
	})
}
