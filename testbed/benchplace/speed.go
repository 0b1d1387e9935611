package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// named is a benchmark's row of a table: the prefix of its name, in words, with the goal and what others need.
type named struct{ bench, words, goal string }

var (
	speedNames = []named{
		{"Wave10000/1x10000", "WAVE-10000: 80,000 jobs of a GPU, one site of 10,000 nodes", "60 ms; Armada 4.3 s"},
		{"Wave10000/10x1000", "the same at ten sites of 1,000", "60 ms; Armada 4.3 s"},
		{"GPUMix10000/10x1000-100k", "GPUMIX-10000-100k: jobs of 1 to 128 GPUs", "80 ms; Armada 4.0 s"},
		{"GPUMix10000/10x1000-1M", "GPUMIX-10000-1M", "Armada 19.9 s"},
		{"World/job", "full sites, 100,000 jobs wait: one comes", "10 ms"},
		{"World/gone", "one goes", "10 ms"},
		{"World/look", "a site is looked at", "10 ms"},
		{"World/time", "a round: time has passed", "10 ms"},
		{"World/price", "a price changes", "10 ms"},
		{"World/limit", "a user's limit is reached at a site", "10 ms"},
		{"World/down", "a node goes down", "10 ms"},
		{"World/100down", "100 nodes go down", "10 ms"},
		{"World/order", "a tenth of all jobs goes last, and another tenth comes back", "10 ms"},
		{"World/reorder", "the same, and all other jobs are put in order anew too", ""},
		{"World/100nodes-read", "of that, reading what was seen", ""},
		{"World/100nodes", "other jobs run on 100 nodes", "10 ms"},
	}
	largeNames = []named{
		{"Largest/idle", "100 sites of 10,000 nodes, a million jobs: the whole plan", "1 s"},
		{"LargestWorld/job", "full, after a job more", "10 ms"},
		{"LargestWorld/gone", "after a job less", "10 ms"},
		{"LargestWorld/look", "after a look", "10 ms"},
		{"LargestWorld/time", "after time has passed", "10 ms"},
		{"LargestWorld/price", "after a price has changed", "10 ms"},
		{"LargestWorld/limit", "after a user's limit is reached at a site", "10 ms"},
		{"LargestWorld/down", "after a node went down", "10 ms"},
		{"LargestWorld/100down", "after 100 nodes went down", "10 ms"},
		{"LargestWorld/order", "after a tenth of all jobs goes last, and another tenth comes back", "10 ms"},
		{"LargestWorld/reorder", "the same, and all other jobs are put in order anew too", ""},
		{"LargestWorld/100nodes-read", "of that, reading what was seen", ""},
		{"LargestWorld/100nodes", "after other jobs run on 100 nodes", "10 ms"},
	}
	growthNames = []named{
		{"Growth/jobs-1000", "1,000 jobs on 10,000 nodes", ""}, {"Growth/jobs-10000", "10,000 jobs", ""},
		{"Growth/jobs-100000", "100,000 jobs", ""}, {"Growth/jobs-1000000", "1,000,000 jobs", ""},
		{"Growth/nodes-1000", "100,000 jobs on 1,000 nodes", ""}, {"Growth/nodes-10000", "on 10,000 nodes", ""},
		{"Growth/nodes-100000", "on 100,000 nodes", ""}, {"Growth/nodes-1000000", "on 1,000,000 nodes", ""},
	}
	topologyNames = []named{
		{"Racks/100x10", "100 rack gangs of ten on 1,000 nodes in 100 leaves", "20 ms; Volcano 3.27 s"},
		{"Racks/100x10-soft", "the same where --switches was not asked for", ""},
		{"Racks/mix-10x1000-100k", "GPUMIX-10000-100k on ten sites of 50 leaves", ""},
		{"Preempt", "a 200-node gang that preempts 1,600 jobs on 1,000 full nodes", "7 ms; Kueue 141 ms"},
	}
	benchLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)
)

// speed runs benchmarks of the planner and makes a table of them.
func speed(pattern, times string, names []named) (string, error) {
	out, err := bench("./federation/place", pattern, times)
	if err != nil {
		return "", err
	}
	return table(out, names), nil
}

// bench returns what benchmarks of a package print.
func bench(pkg, pattern, times string) (string, error) {
	args := []string{"test", "-vet=off", "-run", "^$", "-bench", pattern, "-benchtime", times, "-timeout", "30m", pkg}
	if small {
		args = append(args, "-short", "-benchtime", "1x")
	}
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go test -bench %s: %w\n%s", pattern, err, out)
	}
	return string(out), nil
}

// metrics are what a benchmark's line says, by unit.
func metrics(line string) map[string]float64 {
	values := map[string]float64{}
	fields := strings.Fields(line)
	for i := 0; i+1 < len(fields); i += 2 {
		values[fields[i+1]], _ = strconv.ParseFloat(fields[i], 64)
	}
	return values
}

// table makes rows of benchmarks' lines. What has no row in names is shown under its own name.
func table(out string, names []named) string {
	var b strings.Builder
	b.WriteString("| what | takes | CPU time | goal, others | nodes' worth of jobs placed |\n|---|---|---|---|---|\n")
	for _, m := range benchLine.FindAllStringSubmatch(out, -1) {
		row := named{words: m[1]}
		for _, n := range names {
			if n.bench == m[1] {
				row = n
			}
		}
		values := metrics(m[2])
		cpu, placed := "", ""
		if v, ok := values["cpu-ms/op"]; ok {
			cpu = milliseconds(v)
		}
		if v, ok := values["placed"]; ok {
			placed = strconv.FormatFloat(v, 'f', 0, 64)
		}
		if v, ok := values["%consolidated"]; ok {
			placed += fmt.Sprintf("; %.1f %% of those of 8 GPUs and more consolidated", v)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", row.words, milliseconds(values["ns/op"]/1e6), cpu, row.goal, placed)
	}
	return b.String()
}

// milliseconds has three digits that count.
func milliseconds(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f ms", v)
	}
	return fmt.Sprintf("%.3g ms", v)
}

// changes runs whole plans, and nine changes of each kind of one World: the CPU time of those is the median.
func changes() (string, error) {
	first, err := speed("Wave10000|GPUMix10000", "3x", speedNames)
	if err != nil {
		return "", err
	}
	second, err := speed("^BenchmarkWorld", "9x", speedNames) // ten sites: a tenth change would be the first one again
	_, rows, _ := strings.Cut(second, "|---|---|---|---|---|\n")
	return first + rows, err
}

// large runs what wants 8 GB.
func large() (string, error) {
	if free := freeMemory(); free < 9<<20 && !small {
		return "", fmt.Errorf("%w: the largest workloads want 9 GB of free memory, there are %.1f", errSkipped, float64(free)/(1<<20))
	}
	first, err := speed("Largest", "3x", largeNames)
	if err != nil {
		return "", err
	}
	_, rows, _ := strings.Cut(first, "|---|---|---|---|---|\n")
	second, err := speed("LargestWorld", "21x", largeNames)
	return second + rows, err
}

// freeMemory is in KiB.
func freeMemory() (kib int) {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kib, _ = strconv.Atoi(strings.Fields(n)[0])
		}
	}
	return kib
}
