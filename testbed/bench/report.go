package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// sample is a set of times in rising order.
type sample []time.Duration

func newSample(times []time.Duration) sample { return slices.Sorted(slices.Values(times)) }

// quantile is the time that the fraction q of the sample does not exceed.
func (s sample) quantile(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

func (s sample) median() time.Duration { return s.quantile(0.5) }

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }

func (r *bench) add(x row) { r.rows = append(r.rows, x) }

// note prints a finding that is no ratio.
func (r *bench) note(format string, args ...any) { fmt.Fprintf(r.out, "  "+format+"\n", args...) }

// describe prints what the figures depend on.
func (r *bench) describe() error {
	info, err := r.b.Site("alpha")
	if err != nil {
		return err
	}
	dir := r.dir("fsync")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	write, err := fsyncTimes(dir)
	if err != nil {
		return err
	}
	revision, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		revision = []byte("unknown")
	}
	r.note("machine: %d processors (%s), %s, load %s", runtime.NumCPU(), processor(), runtime.Version(), loadAverage())
	r.note("fsub %s, Slurm %s, both sites on this machine", strings.TrimSpace(string(revision)), info.Version)
	r.note("append 1 KiB and fsync where the daemon's state is: median %s  p99 %s", ms(write.median()), ms(write.quantile(0.99)))
	return nil
}

func fsyncTimes(dir string) (sample, error) {
	f, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, 1024)
	var times []time.Duration
	for range 300 {
		begun := time.Now()
		if _, err := f.Write(block); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		times = append(times, time.Since(begun))
	}
	return newSample(times), nil
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if len(fields) < 3 {
		return "unknown"
	}
	return strings.Join(fields[:3], " ")
}

// print shows the ratios.
func (r *bench) print() {
	r.note("load at the end: %s", loadAverage())
	fmt.Fprintln(r.out)
	w := tabwriter.NewWriter(r.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tOURS\tTHEIRS\tRATIO\tGOAL\t")
	for _, x := range r.rows {
		verdict := "met"
		if !x.met {
			verdict = "MISSED"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", x.what, x.ours, x.theirs, x.ratio, x.goal, verdict)
	}
	w.Flush()
}
