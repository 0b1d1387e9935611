package bed

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// reportCommands are what an operator would ask first of a site where a job does not end.
var reportCommands = [][]string{
	{"squeue", "-a", "-o", "%i %u %T %r %M %N %v"},
	{"sinfo", "-N", "-o", "%N %T %E"},
	{"scontrol", "-o", "show", "jobs"},
	{"ps", "-eo", "pid,ppid,stat,etime,time,args"},
}

// Report tells how a site does, for the message of a failed test: the machine's load, the site's queue, nodes and processes, and the ends of
// its logs. What cannot be had is said in its place.
func (b *Bed) Report(ctx context.Context, site string) string {
	var out strings.Builder
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Fprintf(&out, "report on site %s at %s, load %s", site, time.Now().Format(time.TimeOnly), load)
	for _, args := range reportCommands {
		fmt.Fprintf(&out, "--- %s\n", strings.Join(args, " "))
		limited, cancel := context.WithTimeout(ctx, 10*time.Second)
		text, err := b.Output(limited, site, "", args...)
		cancel()
		out.WriteString(text)
		if err != nil {
			fmt.Fprintln(&out, err)
		}
	}
	logs, err := filepath.Glob(filepath.Join(b.siteDir(site), "log", "*"))
	if err != nil {
		fmt.Fprintln(&out, err)
	}
	slices.Sort(logs)
	for _, path := range logs {
		// slurmctld, slurmdbd and slurmd say the same in their .log and their .out
		if text := lastLines(path, 25); text != "" && !hasLog(logs, path) {
			fmt.Fprintf(&out, "--- %s\n%s", path, text)
		}
	}
	return out.String()
}

// hasLog reports whether path is NAME.out beside a NAME.log.
func hasLog(paths []string, path string) bool {
	name, ok := strings.CutSuffix(path, ".out")
	return ok && slices.Contains(paths, name+".log")
}

// lastLines returns the last n lines of a file, of its last 64 KiB at most.
func lastLines(path string, n int) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error() + "\n"
	}
	defer f.Close()
	const limit = 64 << 10
	if info, err := f.Stat(); err == nil && info.Size() > limit {
		f.Seek(-limit, io.SeekEnd)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return err.Error() + "\n"
	}
	data = bytes.TrimRight(data, "\n")
	if len(data) == 0 {
		return ""
	}
	lines := bytes.Split(data, []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-n):], []byte("\n"))) + "\n"
}
