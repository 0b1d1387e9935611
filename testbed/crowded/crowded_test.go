package crowded

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

var world suite.Suite

// crowd is a site, and how many of its nodes a gang takes.
type crowd struct {
	site string
	gang int
}

func full() bool { return os.Getenv("FSUB_FULL") != "" }

func crowds() []crowd {
	if full() {
		return []crowd{{"beta", 4}, {"gamma", 3}, {"delta", 3}}
	}
	return []crowd{{"beta", 4}}
}

func TestMain(m *testing.M) {
	suite.Scontrol()
	var sites []string
	for _, c := range crowds() {
		sites = append(sites, c.site)
	}
	for _, k := range keepers() {
		if !slices.Contains(sites, k.site) {
			sites = append(sites, k.site)
		}
	}
	world.Main(m, suite.Config{Name: "crowded", Sites: sites, Start: start})
}

func start(ctx context.Context) error {
	if err := world.Programs("fsub", "fed"); err != nil {
		return err
	}
	if err := world.StartDaemon(ctx, holdPlaces); err != nil {
		return err
	}
	return world.Daemon.AwaitSites(ctx)
}

const patience = 5 * time.Minute

// A gang handed to fsub starts about as soon as one handed to the site's sbatch, and so does a small job, though local jobs wait all the time.
func TestStartsAsSoonAsLocalJobs(t *testing.T) {
	world.Need(t)
	runs, factor, run := 1, 3.0, [2]int{6, 12} // one measurement says little, but a job that never comes first it shows
	if full() {
		runs, factor, run = 5, 1.3, [2]int{10, 20}
	}
	for _, c := range crowds() {
		t.Run(c.site, func(t *testing.T) {
			t.Parallel()
			stream(t, c.site, run)
			for _, nodes := range []int{c.gang, 1} {
				var local, ours []time.Duration
				for range runs {
					local = append(local, starts(t, c.site, nodes, "sbatch"))
					ours = append(ours, starts(t, c.site, nodes, "fsub"))
				}
				a, b := median(local), median(ours)
				t.Logf("%s: %d nodes start after %.1f s by sbatch %.1f, %.1f s by fsub %.1f: %.2fx", c.site, nodes, a.Seconds(), seconds(local), b.Seconds(), seconds(ours), b.Seconds()/a.Seconds())
				// Nodes fall free every few seconds: that much is chance.
				if grace := 5 * time.Second; b > time.Duration(factor*float64(a))+grace {
					t.Errorf("%s: %d nodes start after %v by fsub, after %v by sbatch", c.site, nodes, b, a)
				}
			}
		})
	}
}

// Where a user may have no more jobs submitted, the next ones wait with us until some have ended.
func TestSubmitLimitPasses(t *testing.T) {
	world.Need(t)
	for _, c := range crowds() {
		t.Run(c.site, func(t *testing.T) {
			limit := func(n int) {
				if _, err := world.Bed.Output(context.Background(), c.site, "", "sacctmgr", "-i", "modify", "qos", "normal", "set", fmt.Sprintf("MaxSubmitJobsPerUser=%d", n)); err != nil {
					t.Fatal(err)
				}
			}
			limit(2)
			defer limit(-1)
			var ids []federation.JobID
			for range 4 {
				ids = append(ids, submit(t, "fsub", "-t5", "--fed-sites="+c.site, "-o", "/dev/null", "--wrap", "sleep 8"))
			}
			client := world.Daemon.Client()
			defer client.Close()
			waited := map[federation.JobID]bool{}
			for deadline := time.Now().Add(patience); len(ids) > 0; time.Sleep(200 * time.Millisecond) {
				ids = slices.DeleteFunc(ids, func(id federation.JobID) bool {
					r, err := client.Job(t.Context(), id)
					if err != nil {
						t.Fatal(err)
					}
					waited[id] = waited[id] || r.Job.Reason == reasons.SubmitLimit
					if r.Job.State.Ended() && r.Job.State != federation.Completed {
						t.Errorf("job %d ended as %s %s", id, r.Job.State, r.Job.Reason)
					}
					return r.Job.State.Ended()
				})
				if time.Now().After(deadline) {
					t.Fatalf("jobs %v have not ended", ids)
				}
			}
			reasons := 0
			for _, w := range waited {
				if w {
					reasons++
				}
			}
			if reasons != 2 {
				t.Errorf("%d jobs waited for the limit, want 2", reasons)
			}
		})
	}
}

// stream has bob keep ten exclusive jobs of one node waiting at a site, until the test ends.
func stream(t *testing.T, site string, run [2]int) {
	t.Helper()
	end := filepath.Join(world.Bed.Home("bob"), "enough-"+site)
	script := fmt.Sprintf(`cd; while [ ! -e %s ]; do
	n=$(squeue -h -u bob -t PD -o %%r | grep -c "None\|Priority\|Resources")
	while [ $n -lt 10 ]; do
		sbatch -Q --exclusive -N1 -t20 -o /dev/null --wrap "sleep $(shuf -n1 -i%d-%d)"
		n=$((n + 1))
	done
	sleep 0.5
done`, end, run[0], run[1])
	cmd, err := world.Bed.Start(t.Context(), bed.Cmd{Site: site, User: "bob", Args: []string{"bash", "-c", script}, Stdout: io.Discard, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(end, nil, 0o644); err != nil {
			t.Error(err)
		}
		cmd.Wait()
		if _, err := world.Bed.Output(context.Background(), site, "bob", "scancel", "-u", "bob"); err != nil {
			t.Error(err)
		}
	})
}

// awaitStream waits until bob's jobs hold all nodes and more of them wait.
func awaitStream(t *testing.T, site string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		idle, err := world.Bed.Output(t.Context(), site, "bob", "sinfo", "-h", "-p", "main", "-t", "idle", "-o", "%D")
		rows, err2 := world.Bed.Output(t.Context(), site, "bob", "squeue", "-h", "-u", "bob", "-o", "%i %t %r")
		if err == nil && err2 == nil && strings.Trim(idle, "0 \n") == "" && strings.Count(rows, " PD ") >= 9 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the stream of local jobs does not flow: idle %q, %v %v\n%s", idle, err, err2, rows)
		}
	}
}

// starts submits a job of some nodes as alice, by fsub or by the site's sbatch, and returns after how long it started.
func starts(t *testing.T, site string, nodes int, command string) time.Duration {
	t.Helper()
	out, err := os.MkdirTemp(world.Bed.Home("alice"), "job-")
	if err == nil {
		err = os.Chmod(out, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	awaitStream(t, site)
	began := filepath.Join(out, "began")
	args := []string{command, "--exclusive", fmt.Sprintf("-N%d", nodes), "-t5", "-o", "/dev/null", "--wrap", "date +%s.%N > " + began}
	at := time.Now()
	if command == "fsub" {
		submit(t, append(args, "--fed-sites="+site)...)
	} else if _, err := world.Bed.Output(t.Context(), site, "alice", args...); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		text, _ := os.ReadFile(began)
		if s, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64); err == nil {
			return time.UnixMicro(int64(s * 1e6)).Sub(at)
		}
		if time.Now().After(deadline) {
			rows, _ := world.Bed.Output(t.Context(), site, "alice", "squeue", "-o", "%i %u %t %r %p %S")
			t.Fatalf("by %s %d nodes do not start within %v at %s:\n%s", command, nodes, patience, site, rows)
		}
	}
}

// submit runs fsub as alice.
func submit(t *testing.T, args ...string) federation.JobID {
	t.Helper()
	var stdout, stderr strings.Builder
	err := world.Bed.Exec(t.Context(), bed.Cmd{Site: bed.Login, User: "alice", Args: args, Stdout: &stdout, Stderr: &stderr,
		Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket()}})
	id, bad := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(stdout.String(), "Submitted batch job ")), 10, 32)
	if err != nil || bad != nil {
		t.Fatalf("%v: %v: %s%s", args, err, stdout.String(), stderr.String())
	}
	return federation.JobID(id)
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}

func seconds(d []time.Duration) []float64 {
	out := make([]float64, len(d))
	for i := range d {
		out[i] = d[i].Seconds()
	}
	return out
}
