package pools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fsub/cloud/agentapi"
	"fsub/federation"
)

// TestMappedUser: the job of a user who is somebody else on the machines, whom this one does not know, is that one's on all of its nodes: the process, its groups, its steps, the
// files. The host's own users stay as they are.
func TestMappedUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root's machines run jobs of others")
	}
	t.Parallel()
	before, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	const name, uid, gid, more = "fsubmapped", 54321, 54322, 54323
	o := whole()
	o.mapped = map[string]agentapi.User{testUsers(t).user.Name: {Name: name, UID: uid, GID: gid, Group: "fsublab", Groups: []uint32{more}, Home: "/nonexistent", Shell: "/bin/bash"}}
	w := newWorld(t, o)
	dir := filepath.Join(w.dir, "fsx")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	ref := w.run(`id -un; id -gn; id -u; id -g; id -G; srun sh -c 'echo $(id -un) $(id -G); touch of-$SLURM_PROCID' | sort`, func(s *federation.Submission) {
		ofNodes(2)(s)
		s.Job.Spec.WorkDir = dir
	})
	w.until(ref, federation.Completed)
	text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("slurm-%d.out", ref.ID)))
	want := fmt.Sprintf("%s\nfsublab\n%d\n%d\n%d %d\n", name, uid, gid, gid, more) + strings.Repeat(fmt.Sprintf("%s %d %d\n", name, gid, more), 2)
	if string(text) != want || err != nil {
		t.Errorf("it wrote %q, %v, want %q", text, err, want)
	}
	for _, file := range []string{fmt.Sprintf("slurm-%d.out", ref.ID), "of-0", "of-1"} {
		info, err := os.Stat(filepath.Join(dir, file))
		if err != nil {
			t.Error(err)
			continue
		}
		if st := info.Sys().(*syscall.Stat_t); st.Uid != uid || st.Gid != gid {
			t.Errorf("%s is of %d:%d", file, st.Uid, st.Gid)
		}
	}
	after, err := os.ReadFile("/etc/passwd")
	if err != nil || strings.Contains(string(after), name) {
		t.Errorf("the host's users were changed: %v\n%s", err, after)
	}
	for line := range strings.Lines(string(before)) { // others may be added to them meanwhile
		if !strings.Contains(string(after), line) {
			t.Errorf("the host's users were changed: there is no %q any more", line)
		}
	}
}
