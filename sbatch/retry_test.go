package sbatch

import (
	"testing"
	"time"
)

// TestRetry: what --retry takes, and after which ends it has a job run again.
func TestRetry(t *testing.T) {
	for _, c := range []struct {
		text  string
		after []string // "exit 3", "oom"
		not   []string
	}{
		{"3", []string{"exit", "oom", "timeout"}, []string{"node"}},
		{"1:oom,timeout", []string{"oom", "timeout"}, []string{"exit", "node"}},
		{"20:exit=75,137,100-110,node", []string{"node"}, []string{"oom"}},
		{"2:exit", []string{"exit"}, []string{"oom", "timeout", "node"}},
	} {
		f := Fed{}
		if why := setRetry(&f, c.text); why != "" {
			t.Errorf("%q: %s", c.text, why)
			continue
		}
		for _, kind := range c.after {
			if !f.Retry.After(kind, 1) {
				t.Errorf("%q: not after %s", c.text, kind)
			}
		}
		for _, kind := range c.not {
			if f.Retry.After(kind, 1) {
				t.Errorf("%q: after %s", c.text, kind)
			}
		}
		if again := (Fed{}); setRetry(&again, f.Retry.text()) != "" || again.Retry.String() != f.Retry.String() {
			t.Errorf("%q is written as %q", c.text, f.Retry.text())
		}
	}
	f := Fed{}
	setRetry(&f, "20:exit=75,137,100-110,node")
	for code, want := range map[int]bool{1: false, 75: true, 76: false, 137: true, 100: true, 110: true, 111: false} {
		if f.Retry.After(RetryExit, code) != want {
			t.Errorf("after exit code %d: %t", code, !want)
		}
	}
	for _, bad := range []string{"", "0", "-1", "21", "x", "3:", "3:oops", "3:exit=", "3:exit=0", "3:exit=256", "3:exit=9-3", "3:oom=1", "3,oom"} {
		if setRetry(&Fed{}, bad) == "" {
			t.Errorf("%q is taken", bad)
		}
	}
	for _, bad := range []string{"", "x", "1", "x1", "0.5", "x11", "-2", "NaN", "Inf"} {
		if setRetryMem(&Fed{}, bad) == "" || setRetryTime(&Fed{}, bad) == "" {
			t.Errorf("factor %q is taken", bad)
		}
	}
	if (&Retry{Mem: 2}).Why() == "" {
		t.Error("memory grows of a job that is never run again")
	}
}

func TestGrow(t *testing.T) {
	s := Spec{MemPerCPU: 333, TimeLimit: 10 * time.Minute, Fed: &Fed{Retry: &Retry{Most: 1, Mem: 1.5, Time: 1.25}}}
	if how := s.Grow(RetryMemory); how != "memory of a CPU from 333M to 500M" || s.MemPerCPU != 500 {
		t.Errorf("%q, %d", how, s.MemPerCPU)
	}
	if how := s.Grow(RetryTimeout); how != "time limit from 10m0s to 13m0s" || s.TimeLimit != 13*time.Minute {
		t.Errorf("%q, %s", how, s.TimeLimit)
	}
	s.MemPerCPU, s.MemPerNode, s.TimeLimit = 0, MemAll, Unlimited
	for _, kind := range []string{RetryMemory, RetryTimeout, RetryExit} {
		if how := s.Grow(kind); how != "" {
			t.Errorf("after %s: %s", kind, how)
		}
	}
}
