package rented

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/testbed/ec2"
)

// oneMachine runs on one machine.
const oneMachine = "#!/bin/bash\n#SBATCH -t 5 -o /dev/null\necho ran > ran-$SLURM_JOB_ID\n"

// TestRefused has the cloud refuse every machine, in each of the ways that clouds have: the job waits, and says for what; the cloud is asked seldom; nothing is created and deleted
// in a loop. When the cloud has become a good one again, the job runs.
func TestRefused(t *testing.T) {
	for name, test := range map[string]struct {
		spoil  func(c *ec2.Cloud)
		reason reasons.Reason
		calls  int // of RunInstances within the time, at most
	}{
		"stock-out everywhere": {func(c *ec2.Cloud) { c.SetStock(ec2.Pool{}, 0) }, reasons.StockOut, 20},
		"quota of zero":        {func(c *ec2.Cloud) { c.SetQuota("on-demand", 0); c.SetQuota("spot", 0) }, reasons.Quota, 10},
		"launches are denied":  {func(c *ec2.Cloud) { c.Deny("RunInstances", "CreateFleet") }, reasons.CloudDenied, 5},
		"throttled launches":   {func(c *ec2.Cloud) { c.SetRate("RunInstances", 0.0001, 0) }, reasons.Throttled, 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config{pool: "max: 4, idle: 1s", timing: "stock_out: 4s"})
			w.start()
			first := w.fsub(oneMachine) // the daemon has seen its cloud
			w.await(first, time.Minute)
			w.noMachines(time.Minute)
			w.eventually("the daemon knows that the first machine has ended", time.Minute, func() string { // until then it may tell it to end once more
				c := w.client()
				defer c.Close()
				if all, err := c.Machines(t.Context(), "", false); err != nil || len(all) > 0 {
					return fmt.Sprintf("%d machines, %v", len(all), err)
				}
				return ""
			})
			test.spoil(w.cloud)
			w.cloud.ResetCalls()
			id := w.fsub(oneMachine)
			w.eventually("the job waits for what it lacks", 20*time.Second, func() string {
				rec, err := w.job(id)
				if err != nil {
					return err.Error()
				}
				if rec.Job.State != federation.Pending || rec.Job.Reason != test.reason {
					return fmt.Sprintf("%s (%s)", rec.Job.State, rec.Job.Reason)
				}
				return ""
			})
			time.Sleep(20 * time.Second)
			rec, err := w.job(id)
			if err != nil || rec.Job.State != federation.Pending || rec.Job.Restarts != 0 {
				t.Errorf("after twenty seconds it is %s (%s) with %d restarts, %v", rec.Job.State, rec.Job.Reason, rec.Job.Restarts, err)
			}
			if n := w.cloud.Count("RunInstances") + w.cloud.Count("CreateFleet"); n > test.calls || n == 0 {
				t.Errorf("the cloud was asked for machines %d times, at most %d were expected", n, test.calls)
			}
			if n := w.cloud.Count("TerminateInstances"); n != 0 {
				t.Errorf("%d calls ended machines that there never were", n)
			}
			t.Logf("calls within %s: %s", "20s", w.counts())
			w.cloud.ClearFaults()
			if rec := w.await(id, 90*time.Second); rec.Job.State != federation.Completed {
				t.Errorf("when the cloud is good again it ends as %s (%s)", rec.Job.State, rec.Job.Reason)
			}
		})
	}
}

func (w *world) counts() string {
	n := map[string]int{}
	for _, c := range w.cloud.Calls() {
		n[c.Action]++
	}
	return strings.TrimPrefix(fmt.Sprint(n), "map")
}

// TestEverythingThrottled has the cloud refuse nearly every call of any kind.
func TestEverythingThrottled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config{pool: "max: 4, idle: 1s"})
	w.start()
	w.await(w.fsub(oneMachine), time.Minute)
	w.cloud.SetRate("", 0.001, 0)
	w.cloud.ResetCalls()
	id := w.fsub(oneMachine)
	time.Sleep(30 * time.Second)
	if n := w.cloud.Count(""); n > 60 {
		t.Errorf("%d calls within 30 s to a cloud that refuses all: %s", n, w.counts())
	}
	t.Logf("calls within 30s: %s", w.counts())
	if rec, err := w.job(id); err != nil || rec.Job.State.Ended() && rec.Job.State != federation.Completed {
		t.Errorf("the job is %v, %v", rec, err)
	}
	w.cloud.ClearFaults()
	if rec := w.await(id, 2*time.Minute); rec.Job.State != federation.Completed {
		t.Errorf("when the cloud is good again it ends as %s (%s)", rec.Job.State, rec.Job.Reason)
	}
	w.noMachines(2 * time.Minute)
}

// TestDeniedFromTheStart gives the daemon credentials that are not good: the site says so, and the daemon serves.
func TestDeniedFromTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config{})
	w.write("credentials", "[default]\naws_access_key_id = AKIAWRONG\naws_secret_access_key = wrong\n")
	w.start()
	c := w.client()
	defer c.Close()
	w.eventually("the site says that it is denied", 20*time.Second, func() string {
		sites, err := c.Sites(t.Context())
		if err != nil {
			return err.Error()
		}
		if s := sites[0]; s.Answering || !strings.Contains(s.Error, "denied") && !strings.Contains(s.Error, "AuthFailure") {
			return fmt.Sprintf("answering %t, %q", s.Answering, s.Error)
		}
		return ""
	})
	w.cloud.ResetCalls()
	time.Sleep(10 * time.Second)
	if n := w.cloud.Count(""); n > 20 {
		t.Errorf("%d calls within 10 s with credentials that are not good: %s", n, w.counts())
	}
}

// TestBootFails has every machine end as it boots: a few are tried, with pauses, and the job is not ended by it within the time.
func TestBootFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config{pool: "max: 4, idle: 1s"})
	w.cloud.SetBoot(ec2.Pool{}, ec2.Boot{Die: 1})
	w.start()
	id := w.fsub(oneMachine)
	w.eventually("a machine is asked for", time.Minute, func() string {
		if w.cloud.Count("RunInstances") == 0 {
			return w.counts()
		}
		return ""
	})
	time.Sleep(25 * time.Second)
	if n := w.cloud.Count("RunInstances"); n > 10 {
		t.Errorf("%d machines were started within 25 s that ended as they booted", n)
	}
	t.Logf("calls within 25s: %s", w.counts())
	rec, err := w.job(id)
	if err != nil || rec.Job.State != federation.Pending && rec.Job.State != federation.BootFail {
		t.Errorf("the job is %s (%s), %v", rec.Job.State, rec.Job.Reason, err)
	}
	w.noMachines(time.Minute)
}

// TestBrokenGPUs: machines whose GPUs do not answer run nothing: a few are tried and ended, and the job says why.
func TestBrokenGPUs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config{pool: "max: 4, idle: 1s"})
	w.cloud.SetBoot(ec2.Pool{}, ec2.Boot{Broken: 1})
	w.start()
	id := w.fsub(oneMachine)
	w.eventually("a machine is ended for its GPUs", time.Minute, func() string {
		if log := tail(filepath.Join(w.dir, "fed.log"), 1<<20); !strings.Contains(log, "0 of its 1 GPUs answer") {
			return w.counts()
		}
		return ""
	})
	time.Sleep(10 * time.Second)
	if n := w.cloud.Count("RunInstances"); n > 5 {
		t.Errorf("%d machines were started whose GPUs do not answer", n)
	}
	if _, err := os.Stat(filepath.Join(w.work, fmt.Sprintf("ran-%d", id))); err == nil {
		t.Error("the job ran")
	}
	w.noMachines(time.Minute)
}
