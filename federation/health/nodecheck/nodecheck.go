// Package nodecheck looks at the machine that it runs on, as a node's health check does: its GPUs, links, disks and clock. [Run] returns what is wrong; what to
// do about that, the rules of package health decide elsewhere. It changes nothing but its own list of ports that were seen active.
package nodecheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fsub/federation/health/xid"
)

// Finding is one thing that is wrong.
type Finding struct {
	Code string `json:"code"` // check-gpu, check-link, check-disk or check-clock, as package health knows them
	Text string `json:"text"`
	// Device is the port that it is about, as NCCL names it: mlx5_3:1. Nodes that are alike have the same on the same rail of the network.
	Device string `json:"device,omitempty"`
}

// Config is what to look at. Zero fields have a default.
type Config struct {
	GPUs   int           // how many there must be; 0: as many as there are
	Disks  []string      // directories that must be writable and not full; /, /tmp and slurmd's where there are such
	XIDAge time.Duration // how long a GPU's error of the kernel's log counts; a day
	// Ports is a file that lists the ports that were active once: they are to be active. Without it a port whose switch is gone looks like one without a cable.
	Ports string
	Note  bool   // those that are active now are put into that file
	Root  string // of /sys and /proc, for tests
	// Command runs a program and returns its output; os/exec. An error that is exec.ErrNotFound: the machine does not have it.
	Command func(ctx context.Context, name string, args ...string) (string, error)
	// Unsynced reports whether the kernel's clock is not synchronised, and by how much it may be wrong; that of this machine.
	Unsynced func() (bool, time.Duration)
}

// Run looks at everything. Programs that hang are given up with ctx, and that is a finding.
func Run(ctx context.Context, c Config) []Finding {
	if c.Command == nil {
		c.Command = command
	}
	if c.Unsynced == nil {
		c.Unsynced = unsynced
	}
	if c.XIDAge == 0 {
		c.XIDAge = 24 * time.Hour
	}
	if c.Disks == nil {
		c.Disks = []string{"/", "/tmp", "/var/spool/slurmd"}
	}
	found := slices.Concat(c.gpus(ctx), c.xids(ctx), c.links(), c.disks(), c.clock())
	slices.SortFunc(found, func(a, b Finding) int { return strings.Compare(a.Code+a.Text, b.Code+b.Text) })
	return slices.Compact(found)
}

func command(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func problem(code string, format string, args ...any) Finding {
	return Finding{Code: code, Text: fmt.Sprintf(format, args...)}
}

// gpus asks nvidia-smi for the GPUs that there are, and for memory rows that could not be replaced.
func (c *Config) gpus(ctx context.Context) (found []Finding) {
	out, err := c.Command(ctx, "nvidia-smi", "--query-gpu=index,pci.bus_id", "--format=csv,noheader")
	switch {
	case errors.Is(err, exec.ErrNotFound):
		if c.GPUs > 0 {
			found = append(found, problem("check-gpu", "nvidia-smi is missing, and there should be %d GPUs", c.GPUs))
		}
		return found
	case ctx.Err() != nil:
		return append(found, problem("check-gpu", "nvidia-smi does not answer"))
	case err != nil:
		return append(found, problem("check-gpu", "nvidia-smi fails: %s", firstLine(out, err)))
	}
	if n := len(lines(out)); c.GPUs > 0 && n < c.GPUs {
		found = append(found, problem("check-gpu", "%d of %d GPUs are there", n, c.GPUs))
	}
	out, err = c.Command(ctx, "nvidia-smi", "--query-remapped-rows=gpu_bus_id,remapped_rows.pending,remapped_rows.failure", "--format=csv,noheader")
	if err != nil {
		return found // an older GPU, or driver
	}
	for _, line := range lines(out) {
		f := strings.Split(line, ",")
		if len(f) != 3 {
			continue
		}
		yes := func(s string) bool { s = strings.TrimSpace(s); return s == "1" || strings.EqualFold(s, "yes") }
		if yes(f[2]) {
			found = append(found, problem("check-gpu", "GPU %s: a memory row could not be replaced", strings.TrimSpace(f[0])))
		} else if yes(f[1]) {
			found = append(found, problem("check-gpu", "GPU %s wants a reset to replace memory rows", strings.TrimSpace(f[0])))
		}
	}
	return found
}

var xidLine = regexp.MustCompile(`^\[\s*(\d+)\.\d+\].*NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (\d+)`)

// xids reads the kernel's log for errors after which a GPU wants a reset, or the machine a reboot.
func (c *Config) xids(ctx context.Context) (found []Finding) {
	out, err := c.Command(ctx, "dmesg")
	if err != nil {
		return nil // not ours to read, or there is none
	}
	up, _ := os.ReadFile(filepath.Join(c.Root, "/proc/uptime"))
	now, _ := strconv.ParseFloat(strings.Split(string(up), " ")[0], 64)
	for _, line := range lines(out) {
		m := xidLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		at, _ := strconv.ParseFloat(m[1], 64)
		n, _ := strconv.Atoi(m[3])
		if xid.NeedsRepair(n) && (now == 0 || now-at <= c.XIDAge.Seconds()) {
			found = append(found, problem("check-gpu", "GPU %s: Xid %d", m[2], n))
		}
	}
	return found
}

// links looks at InfiniBand and RoCE ports that are not active: those that have a link, and those that were active once.
func (c *Config) links() (found []Finding) {
	ports, _ := filepath.Glob(filepath.Join(c.Root, "/sys/class/infiniband/*/ports/*"))
	text, _ := os.ReadFile(c.Ports)
	once := strings.Fields(string(text))
	known := len(once)
	for _, port := range ports {
		state, phys := word(filepath.Join(port, "state")), word(filepath.Join(port, "phys_state"))
		device, n := filepath.Base(filepath.Dir(filepath.Dir(port))), filepath.Base(port)
		name := device + ":" + n
		switch was := slices.Contains(once, name); {
		case state == "ACTIVE" && !was:
			once = append(once, name)
		case state == "ACTIVE":
		case was || phys != "Disabled" && phys != "Polling" && phys != "":
			f := problem("check-link", "port %s of %s is %s", n, device, state)
			f.Device = name
			found = append(found, f)
		}
	}
	if c.Note && c.Ports != "" && len(once) > known {
		os.WriteFile(c.Ports, []byte(strings.Join(once, "\n")+"\n"), 0o644) // else it is noted at the next look
	}
	return found
}

// word is the word of a state file: "4: ACTIVE".
func word(path string) string {
	text, _ := os.ReadFile(path)
	_, w, _ := strings.Cut(strings.TrimSpace(string(text)), ": ")
	return w
}

// disks looks for file systems that are read-only, full or broken.
func (c *Config) disks() (found []Finding) {
	for _, dir := range c.Disks {
		var s unix.Statfs_t
		switch err := unix.Statfs(filepath.Join(c.Root, dir), &s); {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			found = append(found, problem("check-disk", "%s: %v", dir, err))
		case s.Flags&unix.ST_RDONLY != 0 && dir != "/":
			found = append(found, problem("check-disk", "%s is read-only", dir))
		case s.Blocks > 0 && s.Bavail*100 < s.Blocks:
			found = append(found, problem("check-disk", "%s is full", dir))
		case s.Files > 0 && s.Ffree*1000 < s.Files:
			found = append(found, problem("check-disk", "%s has no inodes left", dir))
		}
	}
	return found
}

func (c *Config) clock() []Finding {
	if wrong, by := c.Unsynced(); wrong {
		return []Finding{problem("check-clock", "the clock is not synchronised; it may be wrong by %s", by.Round(time.Second))}
	}
	return nil
}

func unsynced() (bool, time.Duration) {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return false, 0
	}
	by := time.Duration(t.Maxerror) * time.Microsecond
	return t.Status&unix.STA_UNSYNC != 0 && by > time.Second, by
}

func lines(out string) []string {
	return slices.DeleteFunc(strings.Split(out, "\n"), func(s string) bool { return strings.TrimSpace(s) == "" })
}

func firstLine(out string, err error) string {
	if l := lines(out); len(l) > 0 {
		return l[0][:min(len(l[0]), 200)]
	}
	return err.Error()
}
