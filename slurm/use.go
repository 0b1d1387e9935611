package slurm

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/idle"
)

// meter asks a site how busy jobs keep what they hold, by the command or the exporter that the operator names.
type meter struct{ cfg *Config }

// useTeller is what can tell how busy jobs are; nil: nobody can.
func useTeller(cfg *Config) driver.UseTeller {
	if len(cfg.UseCommand) == 0 && cfg.UseExporter == "" {
		return nil
	}
	return &meter{cfg}
}

// siteNumber is a job's at the site.
func siteNumber(r *federation.JobRef) int64 {
	if r.SiteJobID != 0 {
		return int64(r.SiteJobID)
	}
	return int64(r.Pinned())
}

// Use implements [driver.UseTeller].
func (m *meter) Use(ctx context.Context, jobs []driver.Running) (out map[federation.JobID]idle.Use, err error) {
	out = map[federation.JobID]idle.Use{}
	if len(m.cfg.UseCommand) > 0 {
		if err := m.sstat(ctx, jobs, out); err != nil {
			return nil, err
		}
	}
	if m.cfg.UseExporter != "" {
		if err := m.exporter(ctx, jobs, out); err != nil && len(out) == 0 {
			return nil, err
		}
	}
	return out, nil
}

// mostStats is how many jobs one call of sstat is asked about: it asks the nodes of each.
const mostStats = 200

// sstat asks for the steps that run now.
func (m *meter) sstat(ctx context.Context, jobs []driver.Running, out map[federation.JobID]idle.Use) error {
	for some := range slices.Chunk(jobs, mostStats) {
		of, numbers := map[int64]federation.JobID{}, make([]string, len(some))
		for i := range some {
			n := siteNumber(&some[i].JobRef)
			of[n], numbers[i] = some[i].ID, strconv.FormatInt(n, 10)
		}
		var said bytes.Buffer
		argv := slices.Concat(m.cfg.UseCommand, []string{"-a", "-n", "-P", "-o", "JobID,TRESUsageInTot", "-j", strings.Join(numbers, ",")})
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Stderr, cmd.WaitDelay = &said, time.Second
		text, err := cmd.Output()
		if err != nil { // one job that has ended meanwhile is none: it says so, and exits with 0
			return fmt.Errorf("site %s: use: command: %w: %v: %.300s", m.cfg.Name, federation.ErrUnavailable, err, bytes.TrimSpace(said.Bytes()))
		}
		at := time.Now().UTC()
		for n, u := range readStats(string(text)) {
			if id, ok := of[n]; ok {
				u.At = at
				out[id] = u
			}
		}
	}
	return nil
}

// readStats reads what sstat -P -o JobID,TRESUsageInTot prints, a line for each step: "100002.0|cpu=00:00:05,energy=0,mem=1628K,gres/gpuutil=37". A step of which a
// number cannot be read makes what it is part of unknown.
func readStats(text string) map[int64]idle.Use {
	all := map[int64]idle.Use{}
	bad := map[int64]bool{}
	for line := range strings.Lines(text) {
		step, tres, ok := strings.Cut(strings.TrimSpace(line), "|")
		job, _, _ := strings.Cut(step, ".")
		n, err := strconv.ParseInt(job, 10, 64)
		if !ok || err != nil {
			continue
		}
		u := all[n]
		for field := range strings.SplitSeq(tres, ",") {
			name, value, _ := strings.Cut(field, "=")
			switch name {
			case "cpu":
				d, err := cpuClock(value)
				bad[n] = bad[n] || err != nil
				u.CPUTime, u.KnowsCPU = u.CPUTime+d, true
			case "gres/gpuutil": // of all tasks together, and so no less than the average
				percent, err := strconv.ParseFloat(value, 64)
				bad[n] = bad[n] || err != nil
				u.GPU, u.KnowsGPU = u.GPU+percent, true
			}
		}
		all[n] = u
	}
	for n := range bad {
		if bad[n] {
			delete(all, n)
		}
	}
	return all
}

// cpuClock reads a time as sstat writes it: 00:00:05, 1-02:03:04.
func cpuClock(text string) (time.Duration, error) {
	days, rest, ok := strings.Cut(text, "-")
	if !ok {
		days, rest = "0", text
	}
	d, err := strconv.Atoi(days)
	f := strings.Split(rest, ":")
	if err != nil || len(f) != 3 {
		return 0, fmt.Errorf("invalid time %q", text)
	}
	h, err1 := strconv.Atoi(f[0])
	min, err2 := strconv.Atoi(f[1])
	s, err3 := strconv.ParseFloat(f[2], 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return 0, fmt.Errorf("invalid time %q", text)
	}
	return time.Duration(d)*24*time.Hour + time.Duration(h)*time.Hour + time.Duration(min)*time.Minute + time.Duration(s*float64(time.Second)), nil
}
