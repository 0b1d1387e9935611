package hostile

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Of the process that is started again: in an /etc of its own, and as a hostile user.
const (
	ownEtc   = "FSUB_TEST_OWN_ETC"
	attackOn = "FSUB_TEST_ATTACK" // the daemon's socket
)

const (
	hostileUsers = 32
	firstUID     = 54000 // the honest one; the hostile follow
)

func TestMain(m *testing.M) {
	if socket := os.Getenv(attackOn); socket != "" {
		attack(socket)
		return
	}
	os.Exit(m.Run())
}

// TestHostileUsers: what 32 users do to the daemon together does not keep another's jobs from running, nor the daemon from answering. FSUB_FULL=1 takes ten
// minutes and prints what was measured; FSUB_HOSTILE is another time.
func TestHostileUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: not root: nobody else can be several users")
	}
	span := 12 * time.Second
	if os.Getenv("FSUB_FULL") != "" {
		span = 10 * time.Minute
	}
	if text := os.Getenv("FSUB_HOSTILE"); text != "" {
		var err error
		if span, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getenv(ownEtc) == "" {
		inOwnEtc(t)
		return
	}
	w := newWorld(t)
	calm := w.honest(t, 3*time.Second)
	begun, cpu := time.Now(), w.cpu()
	attackers := w.attackers(t, span)
	looks := make(chan times, 1)
	go func() { looks <- w.look(span) }()
	under := w.honest(t, span)
	took, used := time.Since(begun), w.cpu()-cpu
	looked := <-looks
	answers := attackers()
	for _, kind := range slices.Sorted(maps.Keys(answers)) {
		t.Logf("%-12s %s", kind, answers[kind])
		if strings.Contains(answers[kind], "500 {") {
			t.Errorf("%s: a status that stands for a defect", kind)
		}
	}
	t.Logf("fsub, nobody else there: %s", calm)
	t.Logf("fsub among %d hostile users, %s: %s", hostileUsers, took.Round(time.Second), under)
	t.Logf("signing in at the page and a look at the jobs: %s", looked)
	t.Logf("the daemon: %d MiB of memory at most, %d MiB on disk, %.2f processors", w.peak()>>20, w.disk()>>20, used.Seconds()/took.Seconds())
	if most := int64(mostMemory); w.peak() > most {
		t.Errorf("the daemon took %d MiB, more than %d", w.peak()>>20, most>>20)
	}
	if under.failed > 0 {
		t.Errorf("%d submissions failed, the last: %s", under.failed, under.failure)
	}
	if looked.failed > 0 || len(looked.took) == 0 {
		t.Errorf("of %d looks at the page %d failed, the last: %s", len(looked.took), looked.failed, looked.failure)
	}
	w.awaitEnds(t, slices.Concat(calm.jobs, under.jobs))
	w.alive(t)
}

// inOwnEtc runs the test again where /etc is a copy with more users: what is done there is done to nobody else.
func inOwnEtc(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	var passwd, group strings.Builder
	for i := range hostileUsers + 1 {
		fmt.Fprintf(&passwd, "fsub%d:x:%d:%d::/nonexistent:/bin/sh\n", i, firstUID+i, firstUID+i)
		fmt.Fprintf(&group, "fsub%d:x:%d:\n", i, firstUID+i)
	}
	for file, text := range map[string]string{"passwd": passwd.String(), "group": group.String()} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	etc := filepath.Join(dir, "etc")
	if err := os.Mkdir(etc, 0o755); err != nil {
		t.Fatal(err)
	}
	const copied = `mount -t tmpfs -o mode=755 etc "$0/etc" && cp -a /etc/. "$0/etc" && cat "$0/passwd" >> "$0/etc/passwd" && cat "$0/group" >> "$0/etc/group" && mount --move "$0/etc" /etc && exec "$@"`
	cmd := exec.Command("unshare", "-m", "--propagation", "private", "sh", "-c", copied, dir, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60m")
	cmd.Env = append(os.Environ(), ownEtc+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\n--- PASS: "+t.Name()) {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
