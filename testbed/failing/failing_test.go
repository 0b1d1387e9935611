package failing

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	"fsub/slurm/hostlist"
	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

var world suite.Suite

var sites = []string{"alpha", "gamma"} // 24.11, 26.05

func TestMain(m *testing.M) {
	world.Main(m, suite.Config{Name: "failing", Sites: sites, Bed: bed.Options{MinJobAge: 10 * time.Second}, Start: start})
}

func start(ctx context.Context) error {
	if err := world.Programs("fsub", "fed"); err != nil {
		return err
	}
	if err := world.StartDaemon(ctx, nil); err != nil {
		return err
	}
	return world.Daemon.AwaitSites(ctx)
}

const patience = 6 * time.Minute

// The prolog fails on each node of a site: slurmctld drains one after another, and holds the jobs. All run elsewhere, under their numbers.
func TestNodesThatStartNothing(t *testing.T) {
	world.Need(t)
	site := "alpha"
	script := filepath.Join(world.Dir, "prolog")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	admin(t, site, "echo 'Prolog="+script+"' >>/etc/slurm/slurm.conf && scontrol reconfigure")
	defer admin(t, site, "sed -i /^Prolog=/d /etc/slurm/slurm.conf; scontrol reconfigure; scontrol update nodename=ALL state=resume || true")
	var ids []federation.JobID
	for range 8 {
		ids = append(ids, submit(t, "--exclusive", "-t5", "-o", "/dev/null", "--wrap", "sleep 1"))
	}
	array := submit(t, "--array=0-3", "--exclusive", "-t5", "-o", "/dev/null", "--wrap", "sleep 1")
	c := world.Daemon.Client()
	defer c.Close()
	restarted, held := 0, 0
	for _, id := range append(ids, array) {
		var rec *client.JobRecord
		for deadline := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
			got, err := c.Job(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if rec = got; rec.Job.State.Ended() {
				break
			}
			if time.Now().After(deadline) {
				rows, _ := world.Bed.Output(t.Context(), site, "", "bash", "-c", "squeue -o '%i %T %r'; sinfo -R")
				t.Fatalf("job %d is %s %s at %q: %v\n%s", id, rec.Job.State, rec.Job.Reason, rec.Job.Site, rec.Events, rows)
			}
		}
		if rec.Job.State != federation.Completed {
			t.Errorf("job %d: %s %s: %v", id, rec.Job.State, rec.Job.Reason, rec.Events)
		}
		if rec.Job.Restarts > 0 {
			restarted++
		}
		// That it was held may have been over sooner than somebody could ask.
		if slices.ContainsFunc(rec.Events, func(e federation.Event) bool { return strings.Contains(e.Text, "could not start it") }) {
			held++
		}
	}
	if restarted == 0 || held == 0 {
		t.Errorf("%d jobs were requeued, and %d were held because their nodes could not start them", restarted, held)
	}
}

// A node of a running job with --no-kill is lost: slurmctld takes it from the job, which goes on, and is shown here with the nodes that are left.
func TestNoKill(t *testing.T) {
	world.Need(t)
	for _, site := range sites {
		t.Run(site, func(t *testing.T) {
			dir, err := os.MkdirTemp(world.Bed.Home("alice"), "nokill-")
			if err == nil {
				err = os.Chmod(dir, 0o777)
			}
			if err != nil {
				t.Fatal(err)
			}
			id := submit(t, "--fed-sites="+site, "--fed-on-node-loss=shrink", "-N3", "--exclusive", "-t10", "-o", dir+"/out", "--wrap",
				"while [ ! -e "+dir+"/stop ]; do sleep 0.2; done; squeue -h -j $SLURM_JOB_ID -o %D >"+dir+"/left")
			c := world.Daemon.Client()
			defer c.Close()
			shown := func(what string, is func(*client.JobRecord) bool) *client.JobRecord {
				t.Helper()
				for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
					rec, err := c.Job(t.Context(), id)
					if err != nil {
						t.Fatal(err)
					}
					if is(rec) {
						return rec
					}
					if time.Now().After(deadline) {
						rows, _ := world.Bed.Output(t.Context(), site, "", "bash", "-c", "scontrol show job; sinfo -R")
						t.Fatalf("%s: job %d is %s on %q: %v\n%s", what, id, rec.Job.State, rec.Job.Nodes, rec.Events, rows)
					}
				}
			}
			rec := shown("it runs", func(r *client.JobRecord) bool { return r.Job.State == federation.Running && r.Job.Nodes != "" })
			nodes, err := hostlist.Expand(rec.Job.Nodes)
			if err != nil || len(nodes) != 3 {
				t.Fatalf("it runs on %q: %v", rec.Job.Nodes, err)
			}
			lost := nodes[2]
			if err := world.Bed.StopService(site, "slurmd:"+lost); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := world.Bed.StartService(context.Background(), site, "slurmd:"+lost); err != nil {
					t.Error(err)
				}
				admin(t, site, "for i in $(seq 100); do scontrol show node "+lost+" | grep -qE 'State=IDLE( |$)' && exit 0; "+
					"scontrol update nodename="+lost+" state=resume 2>/dev/null; sleep .2; done; exit 1")
			}()
			admin(t, site, "scontrol update nodename="+lost+" state=down reason=gone")
			left := hostlist.Compress(nodes[:2])
			rec = shown("it goes on with two nodes", func(r *client.JobRecord) bool { return r.Job.State != federation.Running || r.Job.Nodes == left })
			if losses := rec.Attempts[0].Losses; rec.Job.State != federation.Running || len(losses) != 1 || losses[0].Node != lost || !losses[0].Shrunk {
				t.Errorf("it is %s on %s, with the losses %+v", rec.Job.State, rec.Job.Nodes, losses)
			}
			if out, err := login(t, "squeue", "-h", "-j", id.String(), "-o", "%D %N"); err != nil || strings.TrimSpace(out) != "2 "+left {
				t.Errorf("our squeue shows %q, %v", out, err)
			}
			if err := os.WriteFile(dir+"/stop", nil, 0o644); err != nil {
				t.Fatal(err)
			}
			rec = shown("it ends", func(r *client.JobRecord) bool { return r.Job.State.Ended() })
			text, _ := os.ReadFile(dir + "/left")
			if rec.Job.State != federation.Completed || rec.Job.Restarts != 0 || strings.TrimSpace(string(text)) != "2" {
				t.Errorf("it is %s after %d restarts; in the end %q nodes were left: %v", rec.Job.State, rec.Job.Restarts, text, rec.Events)
			}
		})
	}
}

// Tasks that have ended run again by all of scontrol's words for it, as at the site itself.
func TestRequeueOfWhatHasEnded(t *testing.T) {
	world.Need(t)
	for _, site := range sites {
		t.Run(site, func(t *testing.T) {
			t.Parallel()
			runs, err := os.MkdirTemp(world.Bed.Home("alice"), "runs-")
			if err == nil {
				err = os.Chmod(runs, 0o777)
			}
			if err != nil {
				t.Fatal(err)
			}
			id := submit(t, "--fed-sites="+site, "--array=0-2", "-t5", "-o", "/dev/null", "--wrap",
				"echo ${SLURM_RESTART_COUNT:-0} >>"+runs+"/$SLURM_ARRAY_TASK_ID; [ $SLURM_ARRAY_TASK_ID != 1 ]")
			want := func(what string, counts ...int) {
				t.Helper()
				deadline := time.Now().Add(patience)
				for ; ; time.Sleep(500 * time.Millisecond) {
					var is []int
					for i := range counts {
						text, _ := os.ReadFile(filepath.Join(runs, strconv.Itoa(i)))
						is = append(is, strings.Count(string(text), "\n"))
					}
					rows, err := login(t, "squeue", "-h", "-r", "-j", id.String())
					if slices.Equal(is, counts) && err == nil && strings.TrimSpace(rows) == "" {
						return
					}
					if time.Now().After(deadline) {
						t.Fatalf("%s: tasks ran %v times, want %v; %s %v", what, is, counts, rows, err)
					}
				}
			}
			want("all have run", 1, 1, 1)
			if out, err := login(t, "scontrol", "requeue", id.String()+"_1"); err != nil {
				t.Fatalf("requeue of a task that has failed: %v: %s", err, out)
			}
			want("the failed task ran again", 1, 2, 1)
			if out, err := login(t, "scontrol", "requeue", id.String()); err != nil {
				t.Fatalf("requeue of an array that has ended: %v: %s", err, out)
			}
			want("all ran again", 2, 3, 2)
			if text, _ := os.ReadFile(filepath.Join(runs, "1")); string(text) != "0\n1\n2\n" {
				t.Errorf("task 1 counted its restarts %q", text)
			}
		})
	}
}

// admin runs a shell command at a site as root.
func admin(t *testing.T, site, command string) {
	t.Helper()
	if out, err := world.Bed.Output(context.Background(), site, "", "bash", "-c", command); err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
}

// login runs one of our commands as alice.
func login(t *testing.T, args ...string) (string, error) {
	var out strings.Builder
	err := world.Bed.Exec(t.Context(), bed.Cmd{Site: bed.Login, User: "alice", Args: args, Stdout: &out, Stderr: &out,
		Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket()}})
	return out.String(), err
}

func submit(t *testing.T, args ...string) federation.JobID {
	t.Helper()
	out, err := login(t, append([]string{"fsub"}, args...)...)
	var id federation.JobID
	if _, scanErr := fmt.Sscanf(out, "Submitted batch job %d", &id); err != nil || scanErr != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	return id
}
