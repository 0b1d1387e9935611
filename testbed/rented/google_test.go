package rented

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/testbed/gce"
)

// TestGoogle: a gang on machines of Google, a TPU job of two slices, and one that asks for a slice that does not exist; then every machine is gone, and so is what
// gangs leave behind. The daemon is killed once in between.
func TestGoogle(t *testing.T) {
	t.Parallel()
	w, cloud := newGoogle(t)
	w.start()
	for site, warned := range map[federation.SiteName][]string{"google": {"way back", "prices"}, "tpus": {"way back", "prices"}} { // they are told 127.0.0.1, and prices of a table: of tpus those of spot
		checks, err := w.client().TestSite(t.Context(), site)
		if err != nil || len(checks) < 10 {
			t.Errorf("test %s: %d checks, %v", site, len(checks), err)
		}
		for _, k := range checks {
			if want := slices.Contains(warned, k.Name); (k.Result == driver.CheckWarning) != want || k.Result == driver.CheckFailed {
				t.Errorf("%s: %+v", site, k)
			}
		}
	}
	gang := w.fsub(gangJob, "--gres=gpu:l4:1")
	rec := w.await(gang, 90*time.Second)
	if began := strings.Count(w.read(fmt.Sprintf("began-%d", gang)), "began"); rec.Job.State != federation.Completed || rec.Job.Site != "google" || began != 1 {
		t.Errorf("job %d is %s at %s (%s), began %d times; history: %v", gang, rec.Job.State, rec.Job.Site, rec.Job.Reason, began, rec.Events)
	}
	w.kill()
	w.start()
	two := w.fsub("#!/bin/bash\n#SBATCH --gres=tpu:v5e:32 -t 5 -o tpu-%j\n#FSUB --tpu-topology=4x4\nsrun -l bash -c 'echo $SLURM_NODEID $TPU_WORKER_ID $TPU_WORKER_HOSTNAMES $TPU_TOPOLOGY $MEGASCALE_SLICE_ID/$MEGASCALE_NUM_SLICES $MEGASCALE_COORDINATOR_ADDRESS'\n")
	rec = w.await(two, 90*time.Second)
	if rec.Job.State != federation.Completed || rec.Job.Site != "tpus" {
		t.Fatalf("job %d is %s at %s (%s); history: %v", two, rec.Job.State, rec.Job.Site, rec.Job.Reason, rec.Events)
	}
	said := w.read(fmt.Sprintf("tpu-%d", two))
	for i := range 8 {
		if want := fmt.Sprintf("%d: %d %d ", i, i, i%4); !strings.Contains(said, want) || !strings.Contains(said, fmt.Sprintf(" 4x4 %d/2 ", i/4)) {
			t.Errorf("host %d: no %q in\n%s", i, want, said)
		}
	}
	if _, err := w.tryFsub("#!/bin/bash\n#SBATCH --gres=tpu:v5p:100\ntrue\n"); err == nil || !strings.Contains(err.Error(), "nearest: 4x4x4 (64 chips), 4x4x8 (128 chips)") {
		t.Errorf("a slice that does not exist: %v", err)
	}
	w.eventually("all machines are given back, and nothing else is left", 60*time.Second, func() string {
		if n, left := cloud.Live(), cloud.Left(); n != 0 || left != 0 {
			return fmt.Sprintf("%d live, %d left", n, left)
		}
		return ""
	})
}

// TestGoogleCube: a job on two cubes of v5p, 4x4x8, has 32 hosts, each of which knows its place among them.
func TestGoogleCube(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: starts 32 agents: set FSUB_FULL=1")
	}
	w, cloud := newGoogle(t)
	w.start()
	id := w.fsub("#!/bin/bash\n#SBATCH --gres=tpu:v5p:128 -t 10 -o tpu-%j\n#FSUB --tpu-topology=4x4x8\n" +
		"srun -l bash -c 'echo $SLURM_NODEID $SLURM_NNODES $TPU_WORKER_ID $TPU_TOPOLOGY $TPU_ACCELERATOR_TYPE $(tr , \"\\n\" <<< $TPU_WORKER_HOSTNAMES | wc -l) ${MEGASCALE_NUM_SLICES-one}'\n")
	rec := w.await(id, 5*time.Minute)
	if rec.Job.State != federation.Completed || rec.Job.Site != "tpus" {
		t.Fatalf("job %d is %s at %s (%s); history: %v", id, rec.Job.State, rec.Job.Site, rec.Job.Reason, rec.Events)
	}
	said := w.read(fmt.Sprintf("tpu-%d", id))
	for i := range 32 {
		if want := fmt.Sprintf("%2d: %d 32 %d 4x4x8 v5p-256 32 one\n", i, i, i); !strings.Contains(said, want) {
			t.Errorf("host %d: no %q in\n%s", i, want, said)
		}
	}
	w.eventually("all machines are given back", 60*time.Second, func() string {
		if n, left := cloud.Live(), cloud.Left(); n != 0 || left != 0 {
			return fmt.Sprintf("%d live, %d left", n, left)
		}
		return ""
	})
}

// newGoogle is a world of two sites, machines and TPUs of one stand-in for Google. Its daemon is not started.
func newGoogle(t *testing.T) (*world, *gce.Cloud) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: takes a minute")
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give machines namespaces of their own")
	}
	if err := binaries(); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(scratch, "w")
	if err != nil {
		t.Fatal(err)
	}
	cloud := gce.New(gce.Config{Process: true, Dir: filepath.Join(dir, "cloud"), Types: []gce.Type{{Name: "g2-standard-4", CPUs: 4, MemMiB: 16384, Accelerator: "nvidia-l4", GPUs: 1}}})
	w := &world{t: t, dir: dir, work: filepath.Join(dir, "work"), port: freePort(t)}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.around(rw, r, cloud) }))
	t.Cleanup(srv.Close)
	url := srv.URL
	t.Cleanup(func() {
		w.stop()
		if err := cloud.Close(); err != nil {
			t.Errorf("the cloud does not close: %v", err)
		}
		if t.Failed() {
			t.Logf("the daemon's log ends:\n%s", tail(filepath.Join(dir, "fed.log"), 6000))
		}
	})
	if err := os.Mkdir(w.work, 0o755); err != nil {
		t.Fatal(err)
	}
	timing := "{boot: 2m, list: 2s, list_soon: 500ms, list_lag: 2s, stray: 2s, margin: 1s, kill_wait: 2s}"
	w.configure(fmt.Sprintf(`federation: rented
socket: %[1]s/s
state_dir: %[1]s/state
agents: {listen: "127.0.0.1:%[2]s", lease: 1m}
sites:
- name: google
  kind: gcp
  gcp: {project: project-1, region: us-central1, zones: [us-central1-a], types: [g2-standard-4], markets: [spot], endpoint: "%[3]s", boot: 2s}
  pools: [{name: main, max: 4, idle: 1s}]
  timing: %[4]s
- name: tpus
  kind: tpu
  tpu: {project: project-1, zones: [us-central1-b], slices: [v5litepod-16, v5p-256], markets: [spot], prices: {v5e: 1.2, v5p: 4.2}, endpoint: "%[3]s", boot: 2s}
  pools: [{name: tpu, max: 32, idle: 1s}]
  timing: %[4]s
`, dir, w.port, url, timing))
	return w, cloud
}

var random = regexp.MustCompile(`(fsub|fsubtpu|operation)-[0-9a-f]+(-\d+)?`)

// around has the hook see a call before it is carried out, and after that and before it is answered.
func (w *world) around(rw http.ResponseWriter, r *http.Request, cloud http.Handler) {
	hook, name := w.hook.Load(), r.Method+" "+random.ReplaceAllString(r.URL.Path, "$1")
	if hook == nil {
		cloud.ServeHTTP(rw, r)
		return
	}
	(*hook)(name, false)
	answer := httptest.NewRecorder()
	cloud.ServeHTTP(answer, r)
	(*hook)(name, true)
	rw.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	rw.WriteHeader(answer.Code)
	rw.Write(answer.Body.Bytes())
}

// TestGoogleKilledAtEveryCall kills the daemon before and after the first call of each kind that a gang's life takes, of machines and of a TPU slice, and starts it
// again. Each time the job runs once, and no machine and nothing else is left.
func TestGoogleKilledAtEveryCall(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: takes ten minutes: set FSUB_FULL=1")
	}
	tpu := strings.Replace(gangJob, "#SBATCH ", "#SBATCH --gres=tpu:v5e:16 ", 1)
	tpu = strings.Replace(tpu, "-N 2 ", "", 1)
	for kind, job := range map[string]string{"gcp": strings.Replace(gangJob, "#SBATCH ", "#SBATCH --gres=gpu:l4:1 ", 1), "tpu": tpu} {
		t.Run(kind, func(t *testing.T) {
			w, cloud := newGoogle(t)
			var mu sync.Mutex
			seen := map[string]bool{}
			w.watch(func(action string, after bool) {
				mu.Lock()
				defer mu.Unlock()
				seen[action] = true
			})
			w.start()
			w.googleRound(cloud, job)
			w.stop()
			all := slices.Sorted(maps.Keys(seen))
			t.Logf("calls: %q", all)
			for _, action := range all {
				for _, after := range []bool{false, true} {
					t.Run(fmt.Sprint(action, " after=", after), func(t *testing.T) {
						outer := w.t
						w.t = t
						defer func() { w.t = outer }()
						var once sync.Once
						reached := make(chan struct{})
						w.watch(func(a string, at bool) {
							if a == action && at == after {
								once.Do(func() { w.kill(); close(reached) })
							}
						})
						w.start()
						restarted := make(chan struct{})
						over := make(chan struct{})
						go func() {
							defer close(restarted)
							select {
							case <-reached:
								w.start()
							case <-over:
							}
						}()
						w.googleRound(cloud, job)
						close(over)
						<-restarted
						w.stop()
					})
				}
			}
		})
	}
}

// googleRound submits a job, across a kill if there is one, and sees it and its machines to their end.
func (w *world) googleRound(cloud *gce.Cloud, job string) {
	w.t.Helper()
	var id federation.JobID
	w.eventually("the job is accepted", 30*time.Second, func() (last string) {
		var err error
		if id, err = w.tryFsub(job); err != nil {
			return err.Error()
		}
		return ""
	})
	rec := w.await(id, 90*time.Second)
	began := strings.Count(w.read(fmt.Sprintf("began-%d", id)), "began")
	if rec.Job.State != federation.Completed || began != 1 {
		w.t.Errorf("job %d is %s (%s), began %d times; history: %v", id, rec.Job.State, rec.Job.Reason, began, rec.Events)
	}
	w.eventually("nothing is left", 60*time.Second, func() string {
		if n, left := cloud.Live(), cloud.Left(); n != 0 || left != 0 {
			return fmt.Sprintf("%d live, %d left", n, left)
		}
		return ""
	})
}
