package slurm

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/idle"
)

// What sstat of 22.05, 24.11 and 26.05 prints for the steps that run: CPU time in whole seconds, and the use of GPUs where it is gathered.
func TestStats(t *testing.T) {
	got := readStats("100001.batch|cpu=00:00:05,energy=0,fs/disk=4299,mem=1624K,pages=0,vmem=2680K\n" +
		"100002.batch|cpu=00:00:01,energy=0\n100002.0|cpu=1-02:00:03,energy=0,gres/gpumem=100M,gres/gpuutil=37\n100003.batch|cpu=nonsense\n100004.extern|\nsstat: what\n")
	for n, want := range map[int64]idle.Use{
		100001: {CPUTime: 5 * time.Second, KnowsCPU: true},
		100002: {CPUTime: 26*time.Hour + 4*time.Second, KnowsCPU: true, GPU: 37, KnowsGPU: true},
		100004: {},
	} {
		if got[n] != want {
			t.Errorf("job %d: %+v, want %+v", n, got[n], want)
		}
	}
	if u, ok := got[100003]; ok {
		t.Errorf("what cannot be read is %+v", u)
	}
}

// running is a job as the controller asks about it.
func running(id federation.JobID, nodes string, gpus int) driver.Running {
	return driver.Running{JobRef: federation.JobRef{ID: id, SiteJobID: uint32(id)}, Nodes: nodes, GPUs: gpus}
}

// The command is asked about all jobs at once; a job that it says nothing of is not known, and one that fails tells why.
func TestUseByCommand(t *testing.T) {
	program := filepath.Join(t.TempDir(), "sstat")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n[ \"$*\" = \"-a -n -P -o JobID,TRESUsageInTot -j 7,8\" ] || { echo \"sstat: $*\" >&2; exit 1; }\necho '7.0|cpu=00:01:00'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	m := &meter{&Config{Name: "alpha", UseCommand: []string{program}}}
	use, err := m.Use(t.Context(), []driver.Running{running(7, "n1", 0), running(8, "n1", 0)})
	if u := use[7]; err != nil || len(use) != 1 || u.CPUTime != time.Minute || !u.KnowsCPU || u.KnowsGPU || u.At.IsZero() {
		t.Errorf("%+v, %v", use, err)
	}
	if _, err := m.Use(t.Context(), []driver.Running{running(9, "n1", 0)}); err == nil || !strings.Contains(err.Error(), "site alpha: use: command") || !strings.Contains(err.Error(), "-j 9") {
		t.Errorf("error %v", err)
	}
}

// A job is known to an exporter by its number, or if it holds all GPUs of its nodes; else it is not.
func TestUseByExporter(t *testing.T) {
	said := map[string]string{
		"n1": `DCGM_FI_DEV_GPU_UTIL{gpu="0",Hostname="n1",hpc_job="7"} 90` + "\n" + `DCGM_FI_DEV_GPU_UTIL{gpu="1",Hostname="n1",hpc_job="8"} 1`,
		"n2": `DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",Hostname="n2"} 0.02` + "\n" + `DCGM_FI_DEV_GPU_UTIL{gpu="0",Hostname="n2"} 100`,
		"n3": `DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",Hostname="n3"} 0.04`,
		"n4": `DCGM_FI_DEV_GPU_UTIL{gpu="0"} 50` + "\n" + `DCGM_FI_DEV_GPU_UTIL{gpu="1"} 0`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := said[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			http.Error(w, "no such node", http.StatusNotFound)
			return
		}
		for _, name := range []string{"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"} {
			fmt.Fprintf(w, "# TYPE %s gauge\n", name)
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, name) {
					fmt.Fprintln(w, strings.TrimSpace(line))
				}
			}
		}
	}))
	defer server.Close()
	m := &meter{&Config{Name: "alpha", UseExporter: server.URL + "/%n"}}
	use, err := m.Use(t.Context(), []driver.Running{running(7, "n1", 1), running(8, "n1", 1), running(9, "n[2-3]", 2), running(10, "n4", 1), running(11, "n4,n5", 2)})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[federation.JobID]float64{7: 90, 8: 1, 9: 3} {
		if u, ok := use[id]; !ok || !u.KnowsGPU || u.GPU < want-0.01 || u.GPU > want+0.01 {
			t.Errorf("job %d: %+v, want %g %%", id, u, want)
		}
	}
	if u, ok := use[10]; ok {
		t.Errorf("a job that has one of the two GPUs of its node: %+v", u)
	}
	if u, ok := use[11]; ok {
		t.Errorf("a job of which one node says nothing: %+v", u)
	}
	if _, err := (&meter{&Config{Name: "alpha", UseExporter: server.URL + "/%n"}}).Use(t.Context(), []driver.Running{running(11, "n5", 1)}); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("error %v", err)
	}
}
