package pools

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/agentserver"
	"fsub/federation"
)

// TestAsOrdinaryUser runs the tests of this package again as a user who is not root.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: they run as one already")
	}
	agent, err := agentBinary()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	nobody := systemUser(t, "nobody")
	dir, err := os.MkdirTemp(scratch, "user")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "pools.test")
	if err := os.WriteFile(binary, self, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, int(nobody.UID), int(nobody.GID)); err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.v", "-test.skip=TestKilledAtEveryCall"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "FSUB_TEST_AGENT=" + agent}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody.UID, Gid: nobody.GID}}
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "SKIPPED") {
			t.Log(strings.TrimSpace(line))
		}
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestNoSecretLiesAbout: no token is in a command line, an environment, a log or the books while a job runs.
func TestNoSecretLiesAbout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	ref, _ := w.running(1)
	token := regexp.MustCompile(`f[os]1\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{20,}`)
	d, err := agentserver.New(agentserver.Config{Key: bytes.Repeat([]byte{1}, 32), Socket: "/nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	boot, err := d.Boot(siteName, "gang", agentapi.Boot{Path: "/agent", Expires: time.Now()})
	if err != nil || !token.MatchString(boot.Token) {
		t.Fatalf("tokens look otherwise by now: %q, %v", boot.Token, err)
	}
	places := map[string][]byte{"the log": []byte(w.logText.String())}
	for _, dir := range []string{"pool", "state", "logs", "home"} {
		_ = filepath.WalkDir(filepath.Join(w.dir, dir), func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				places[path], _ = os.ReadFile(path)
			}
			return nil
		})
	}
	processes := 0
	for pid := range w.processes() {
		for _, file := range []string{"cmdline", "environ"} {
			path := fmt.Sprintf("/proc/%d/%s", pid, file)
			if text, err := os.ReadFile(path); err == nil {
				places[path] = text
				processes++
			}
		}
	}
	if len(places) < 10 || processes < 4 {
		t.Fatalf("only %d places were looked at, %d of processes", len(places), processes)
	}
	for path, text := range places {
		if token.Match(text) {
			t.Errorf("a token is in %s", path)
		}
	}
	if err := w.Cancel(t.Context(), ref, nil); err != nil {
		t.Fatal(err)
	}
	w.until(ref, federation.Cancelled)
}
