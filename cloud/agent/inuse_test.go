package agent

import (
	"testing"
	"time"

	"fsub/cloud/agent/keeper"
	"fsub/cloud/agentapi"
)

// A run's GPUs are averaged between two readings. One look without an answer, or a GPU that tells nothing (MIG), makes them unknown.
func TestGauge(t *testing.T) {
	rows := func(a, b string) [][]string { return [][]string{{"0", a, "10"}, {"1", b, "10"}, {"2", "100", "10"}} }
	for _, c := range []struct {
		what  string
		looks [][][]string
		want  float64
		known bool
	}{
		{"two looks", [][][]string{rows("50", "70"), rows("0", "0")}, 30, true},
		{"no look", nil, 0, false},
		{"one without an answer", [][][]string{rows("0", "0"), nil}, 0, false},
		{"a divided GPU", [][][]string{rows("[N/A]", "0")}, 0, false},
	} {
		steps := &runSteps{}
		u := uses{runs: map[string]*gauge{"r": {gpus: []int{0, 1}, cpus: 4, steps: steps}}}
		for _, l := range c.looks {
			u.runs["r"].look(l)
		}
		got := u.read()
		if len(got) != 1 || (got[0].GPU != nil) != c.known || c.known && *got[0].GPU != c.want || got[0].GPUs != 2 || got[0].CPUs != 4 {
			t.Errorf("%s: %+v", c.what, got)
		}
		if again := u.read(); again[0].GPU != nil {
			t.Errorf("%s: the next reading begins with %g", c.what, *again[0].GPU)
		}
	}
}

// The CPU time of a script is that of all its processes, those that have ended too.
func TestCPUTime(t *testing.T) {
	busy := "for i in 1 2; do (for ((k = 0; k < 300000; k++)); do :; done); done; echo done >done; sleep 1000"
	p, err := keeper.Start(keeper.Config{Argv: []string{"/bin/bash", "-c", busy}, Dir: t.TempDir(), Out: "/dev/null"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { p.Kill(); <-p.Done; p.Close() }()
	before := time.Duration(-1)
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		now := p.CPUTime()
		if now < before {
			t.Fatalf("%s, and %s before", now, before)
		}
		if before = now; now >= 100*time.Millisecond {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s of CPU time in a minute", now)
		}
	}
}

// Of GPUs that are divided (MIG) only the memory is told.
func TestMeterOfDividedGPUs(t *testing.T) {
	table := &gpuTable{at: time.Now().Add(time.Hour), read: [][]string{{"0", "[N/A]", "10"}, {"1", "50", "20"}}}
	for _, c := range []struct {
		gpus []int
		want agentapi.Used
	}{
		{[]int{0, 1}, agentapi.Used{GPUMem: 30 << 20}},
		{[]int{1}, agentapi.Used{GPUMem: 20 << 20, GPUUtil: 50}},
		{[]int{2}, agentapi.Used{}},
	} {
		m := newGPUMeter(table, c.gpus)
		m.look()
		var got agentapi.Used
		if m.last(&got); got.GPUMem != c.want.GPUMem || got.GPUUtil != c.want.GPUUtil {
			t.Errorf("GPUs %v: %+v, want %+v", c.gpus, got, c.want)
		}
	}
}
