package pools

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fsub/cloud/agentapi"
	"fsub/federation"
)

// ownEtc is set in a process whose /etc is a copy of the host's, in a mount namespace of its own: what is done there is done to nobody else.
const ownEtc = "FSUB_TEST_OWN_ETC"

// TestHostReplacesEtc: whoever replaces /etc/passwd or /etc/hosts on the host, as useradd does, a running job keeps the names of its nodes and its user.
func TestHostReplacesEtc(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root's machines can mount again what the kernel takes away")
	}
	if os.Getenv(ownEtc) != "" {
		replaceEtc(t)
		return
	}
	t.Parallel()
	const copied = `mount -t tmpfs -o mode=755 etc "$0" && cp -a /etc/. "$0" && mount --move "$0" /etc && exec "$@"`
	args := []string{"-m", "--propagation", "private", "sh", "-c", copied, t.TempDir(), os.Args[0], "-test.run=^TestHostReplacesEtc$", "-test.v"}
	cmd := exec.Command("unshare", args...)
	agent, err := agentBinary()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), ownEtc+"=1", "FSUB_TEST_AGENT="+agent)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "\n--- PASS: TestHostReplacesEtc") {
		t.Errorf("%v\n%s", err, out)
	}
}

// replaceEtc replaces each file while a job runs on two nodes that looks for itself in all of them, then removes them and makes them anew.
func replaceEtc(t *testing.T) {
	const name, uid = "fsubmapped", 54321
	o := whole()
	o.mapped = map[string]agentapi.User{testUsers(t).user.Name: {Name: name, UID: uid, GID: uid, Group: name, Home: "/nonexistent", Shell: "/bin/bash"}}
	w := newWorld(t, o)
	dir := filepath.Join(w.dir, "fsx")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	const rounds = 4
	const script = `look() { until grep -q "$(scontrol show hostnames | tail -1)" /etc/hosts && grep -q ^fsubmapped: /etc/passwd && grep -q ^fsubmapped: /etc/group; do sleep 0.1; done; }
for i in 0 1 2 3; do touch round$i; until [ -e replaced$i ]; do sleep 0.1; done; look; done; id -un; getent hosts $(scontrol show hostnames | tail -1) | wc -l`
	ref := w.run(script, func(s *federation.Submission) { ofNodes(2)(s); s.Job.Spec.WorkDir = dir })
	for i := range rounds {
		eventually(t, fmt.Sprintf("round %d", i), func() string {
			if _, err := os.Stat(filepath.Join(dir, fmt.Sprintf("round%d", i))); err != nil {
				return err.Error()
			}
			return ""
		})
		for _, file := range []string{"/etc/hosts", "/etc/passwd", "/etc/group"} {
			replaceFile(t, file, i%2 == 1)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("replaced%d", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.until(ref, federation.Completed)
	text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("slurm-%d.out", ref.ID)))
	if err != nil || string(text) != name+"\n1\n" {
		t.Errorf("it wrote %q, %v", text, err)
	}
	for _, file := range []string{"/etc/passwd", "/etc/hosts"} {
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), name) || strings.Contains(string(text), "fsub-agent") {
			t.Errorf("the host's %s was changed: %v\n%s", file, err, text)
		}
	}
}

// replaceFile puts a copy in a file's place: in one act, or after it was removed.
func replaceFile(t *testing.T, file string, removed bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file+".new", text, 0o644)
	}
	if err == nil && removed {
		err = os.Remove(file)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		t.Fatal(err)
	}
}
