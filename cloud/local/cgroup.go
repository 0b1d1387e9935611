package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/provider"
)

// agentCgroup is the cgroup below which agents make one each, by the name of their machine. What a
// killed agent leaves there is the provider's to remove.
const agentCgroup = "fsub-agent"

// cgroupParents are the cgroups in which agents may have made theirs: of any hierarchy that limits
// memory, at its root and where this process is.
func cgroupParents() []string {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	own, _ := os.ReadFile("/proc/self/cgroup")
	var out []string
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if len(left) < 5 || len(right) < 3 {
			continue
		}
		switch {
		case right[0] == "cgroup2":
			out = append(out, filepath.Join(left[4], agentCgroup))
			for line := range strings.Lines(string(own)) {
				if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
					out = append(out, filepath.Join(left[4], path, agentCgroup))
				}
			}
		case right[0] == "cgroup" && strings.Contains(","+right[2]+",", ",memory,"):
			out = append(out, filepath.Join(left[4], agentCgroup))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// removeCgroups removes those of a machine that has no processes any more.
func removeCgroups(id provider.InstanceID) {
	for _, parent := range cgroupParents() {
		var dirs []string
		_ = filepath.WalkDir(filepath.Join(parent, string(id)), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		slices.Reverse(dirs)
		for _, dir := range dirs {
			removeCgroup(dir)
		}
		if len(dirs) > 0 {
			_ = os.Remove(parent) // succeeds for the last machine
		}
	}
}

// removeCgroup removes one, and kills first what has escaped from its machine (version 2 only).
func removeCgroup(dir string) {
	_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
	for range 50 {
		if err := os.Remove(dir); !errors.Is(err, unix.EBUSY) {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}
