package controller

import (
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// TestRetry: a job that says so is run again after an end of its own, with more of what it lacked, and no more often than it says. A restart of the daemon forgets nothing.
func TestRetry(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) {
		s.MemPerNode, s.TimeLimit = 1000, 10*time.Minute
		s.Fed = &sbatch.Fed{Retry: &sbatch.Retry{Most: 3, On: []string{"oom", "timeout", "exit=7"}, Mem: 2, Time: 1.5}}
	})
	after := b.submit(func(s *sbatch.Spec) { s.Dependency = "afterany:" + id.String() })
	run := func(ends federation.State, exit int32) federation.Job {
		t.Helper()
		b.wait(10 * time.Minute) // until a site has forgotten the run before
		site := b.cheap
		if b.job(id).Site == "dear" {
			site = b.dear
		}
		site.start(id)
		b.wait(2 * time.Second)
		site.jobs[id].ExitStatus = exit << 8
		site.end(id, ends)
		b.wait(2 * time.Second)
		delete(site.jobs, id)
		return b.job(id)
	}
	if j := run(federation.OutOfMemory, 0); j.State != federation.Pending || j.Spec.MemPerNode != 2000 || j.Restarts != 1 {
		t.Errorf("after it ran out of memory it is %s, and asks for %d MiB", j.State, j.Spec.MemPerNode)
	}
	b.restart()
	if j := run(federation.Timeout, 0); j.State != federation.Pending || j.Spec.TimeLimit != 15*time.Minute || j.Spec.MemPerNode != 2000 {
		t.Errorf("after its limit has ended it, it is %s, and asks for %s", j.State, j.Spec.TimeLimit)
	}
	b.restart()
	if _, known := b.ctl.parts.planner.life.runs.outlasted.Load(id); !known {
		t.Error("the forecast does not know that the run before was ended by its limit")
	}
	if j := run(federation.Failed, 7); j.State != federation.Pending || j.Restarts != 3 {
		t.Errorf("after exit code 7 it is %s", j.State)
	}
	if state := b.job(after).State; state != federation.Pending || b.job(after).Site != "" {
		t.Error("what waits for the end of the job does not wait for its last run")
	}
	if j := run(federation.OutOfMemory, 0); j.State != federation.OutOfMemory {
		t.Errorf("after three retries it is %s", j.State)
	}
	history := b.history(id)
	for _, text := range []string{"retry 1 of 3 after OUT_OF_MEMORY: memory of a node from 1000M to 2000M", "retry 2 of 3 after TIMEOUT: time limit from 10m0s to 15m0s", "retry 3 of 3 after FAILED, exit code 7",
		"not run again: it was run again 3 times already (--retry)"} {
		if !strings.Contains(history, text) {
			t.Errorf("its history does not say %q:\n%s", text, history)
		}
	}
	other := b.submit(func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Retry: &sbatch.Retry{Most: 3, On: []string{"oom"}}} })
	b.wait(2 * time.Second)
	b.cheap.start(other)
	b.cheap.jobs[other].ExitStatus = 1 << 8
	b.cheap.end(other, federation.Failed)
	b.wait(2 * time.Second)
	b.want(other, federation.Failed, "", "cheap")
	killed := b.submit(func(s *sbatch.Spec) {
		s.MemPerNode, s.Fed = 1000, &sbatch.Fed{Retry: &sbatch.Retry{Most: 1, On: []string{"oom"}, Mem: 2}}
	})
	b.wait(2 * time.Second)
	b.cheap.start(killed)
	b.cheap.jobs[killed].ExitStatus = 9 // all that Slurm says where slurmd kills what exceeds its memory
	b.cheap.end(killed, federation.Failed)
	b.wait(2 * time.Second)
	if j := b.job(killed); j.Spec.MemPerNode != 2000 || !strings.Contains(b.history(killed), "retry 1 of 1 after FAILED, exit code 137, taken for out of memory: memory of a node from 1000M to 2000M") {
		t.Errorf("after SIGKILL it is %s, and asks for %d MiB:\n%s", j.State, j.Spec.MemPerNode, b.history(killed))
	}
	larger := b.submit(func(s *sbatch.Spec) {
		s.MemPerNode, s.Fed = 1000, &sbatch.Fed{Retry: &sbatch.Retry{Most: 3, Mem: 10}}
	})
	for range 6 {
		b.wait(10 * time.Minute)
		for _, site := range []*fakeSite{b.cheap, b.dear} {
			if j := site.jobs[larger]; j != nil && j.State == federation.Pending {
				site.start(larger)
				site.end(larger, federation.OutOfMemory)
				b.wait(2 * time.Second)
				delete(site.jobs, larger)
			}
		}
	}
	if j := b.job(larger); j.State != federation.OutOfMemory || !strings.Contains(b.history(larger), "with which it could never run") {
		t.Errorf("a job that would need more than any node has is %s:\n%s", j.State, b.history(larger))
	}
}
