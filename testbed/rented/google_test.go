package rented

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/gce"
)

// TestGoogle: a gang on machines of Google, a TPU job of two slices, and one that asks for a slice that does not exist; then every machine is gone, and so is what
// gangs leave behind. The daemon is killed once in between.
func TestGoogle(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute")
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
	url, err := cloud.Start("")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, work: filepath.Join(dir, "work"), port: freePort(t)}
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
	w.write("fed.yaml", fmt.Sprintf(`federation: rented
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
  tpu: {project: project-1, zones: [us-central1-b], slices: [v5litepod-16], markets: [spot], prices: {v5e: 1.2}, endpoint: "%[3]s", boot: 2s}
  pools: [{name: tpu, max: 8, idle: 1s}]
  timing: %[4]s
`, dir, w.port, url, timing))
	w.start()
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
