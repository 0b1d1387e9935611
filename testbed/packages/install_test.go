package packages

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"fsub/testbed/bed"
)

// root is a Debian with Slurm's commands, into which packages are installed.
type root struct {
	t   *testing.T
	dir string
}

// debian mounts a layer over the root filesystem of the test bed's sites of a suite.
func debian(t *testing.T, suite string) *root {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: not root: nobody else can install packages")
	}
	b, err := bed.Open(t.TempDir())
	check(t, err)
	lower, err := b.Root(t.Context(), suite, os.Stderr)
	check(t, err)
	r := &root{t: t, dir: filepath.Join(t.TempDir(), "root")}
	layers := filepath.Join(t.TempDir(), "layers")
	check(t, os.MkdirAll(layers, 0o755))
	output(t, "mount", "-t", "tmpfs", "tmpfs", layers) // an overlay cannot lie on another one
	t.Cleanup(func() { exec.Command("umount", "-l", layers).Run() })
	for _, dir := range []string{r.dir, layers + "/upper", layers + "/work"} {
		check(t, os.MkdirAll(dir, 0o755))
	}
	output(t, "mount", "-t", "overlay", "overlay", "-o", "lowerdir="+lower+",upperdir="+layers+"/upper,workdir="+layers+"/work", r.dir)
	t.Cleanup(func() { exec.Command("umount", "-l", r.dir).Run() })
	for _, m := range [][]string{{"-t", "proc", "proc", r.dir + "/proc"}, {"--bind", "/dev", r.dir + "/dev"}, {"-t", "tmpfs", "tmpfs", r.dir + "/run"}} {
		output(t, append([]string{"mount"}, m...)...)
		t.Cleanup(func() { exec.Command("umount", "-l", m[len(m)-1]).Run() })
	}
	check(t, os.RemoveAll(r.dir+"/etc/dpkg/dpkg.cfg.d/fsub-bed")) // which leaves pages and documentation out
	check(t, os.MkdirAll(r.dir+"/packages", 0o755))
	return r
}

// try runs a shell command in the root.
func (r *root) try(command string) (string, error) {
	cmd := exec.Command("chroot", r.dir, "/bin/sh", "-c", command)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *root) run(command string) string {
	r.t.Helper()
	out, err := r.try(command)
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return out
}

// bring copies packages into the root, below /packages.
func (r *root) bring(dir, kind string) {
	r.t.Helper()
	output(r.t, append(append([]string{"cp"}, files(r.t, dir, kind)...), r.dir+"/packages")...)
}

func (r *root) write(path, text string, mode os.FileMode) {
	r.t.Helper()
	check(r.t, os.MkdirAll(filepath.Dir(r.dir+path), 0o755))
	check(r.t, os.WriteFile(r.dir+path, []byte(text), mode))
}

// Programs of the root's own, and what they print then.
const asInstalled = `set -e
test "$(readlink /usr/libexec/fsub/shims/squeue)" = ../../../bin/fsub
fsub --fed-version
/usr/libexec/fsub/shims/sbatch --fed-version
fed version
getent passwd fsub
fed config check --quiet --config /etc/fsub/fed.yaml.example 2>&1 | grep -v alpha.key || true
. /usr/share/fsub/profile.d/fsub.sh
command -v sbatch`

// TestInstallDebian: on machines with slurm-client, of two releases: installed, upgraded, purged and installed again.
func TestInstallDebian(t *testing.T) {
	for _, suite := range []string{"bookworm", "trixie"} {
		t.Run(suite, func(t *testing.T) { installDebian(t, packed(t), suite) })
	}
}

func installDebian(t *testing.T, dir, suite string) {
	r := debian(t, suite)
	sums := r.run(`dpkg -L slurm-client | while read f; do [ ! -f "$f" ] || sha256sum "$f"; done`)
	r.write("/usr/bin/systemctl", "#!/bin/sh\necho \"$*\" >>/tmp/systemctl\ncase $1 in is-active) [ -e /tmp/active ] ;; esac\n", 0o755)
	called := func() string {
		text, _ := os.ReadFile(r.dir + "/tmp/systemctl")
		os.Remove(r.dir + "/tmp/systemctl")
		return string(text)
	}

	r.bring(dir+"/before", "deb")
	r.run("dpkg -i /packages/*.deb")
	out := r.run(asInstalled)
	for _, want := range []string{`(?m)^fsub .*go1`, `(?m)^fed .*database schema \d+, agent protocol 1$`, `(?m)^fsub:.*:/var/lib/fsub:`, `(?m)^/usr/libexec/fsub/shims/sbatch$`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if said := called(); said != "" {
		t.Errorf("without systemd the scripts say to systemctl: %s", said)
	}
	if got := r.run(`dpkg -L slurm-client | while read f; do [ ! -f "$f" ] || sha256sum "$f"; done`); got != sums {
		t.Error("files of slurm-client have changed")
	}

	// There is a database, with the configuration of an administrator.
	r.write("/etc/fsub/fed.yaml", "federation: test\nsites: []\n", 0o644)
	database(t, r)

	// Under systemd an upgrade restarts a daemon that runs, if the new one can take over.
	check(t, os.MkdirAll(r.dir+"/run/systemd/system", 0o755))
	for _, one := range []struct {
		name, active, prepare string
		restarts              bool
		says                  string
	}{
		{"stopped", "rm -f /tmp/active", "true", false, ""},
		{"running", "touch /tmp/active", "true", true, ""},
		{"broken configuration", "touch /tmp/active", "echo 'frob: 1' >>/etc/fsub/fed.yaml", false, `the daemon was not restarted: the old one goes on.\n.*frob`},
		{"database of the future", "touch /tmp/active", "sed -i /frob/d /etc/fsub/fed.yaml; printf 'federation: test\\nsites: []\\nstate_dir: /var/lib/later\\n' >/etc/fsub/fed.yaml", false,
			`the daemon was not restarted: the old one goes on.\n.*schema has version 9999 and this fed knows up to`},
	} {
		r.run("rm -f /packages/*; " + one.active + "; " + one.prepare)
		if strings.Contains(one.prepare, "later") {
			later(t, r)
		}
		r.bring(dir+"/before", "deb")
		r.run("dpkg -i --force-downgrade /packages/*.deb")
		called()
		r.run("rm -f /packages/*")
		r.bring(dir+"/one", "deb")
		out := r.run("dpkg -i /packages/*.deb")
		said := called()
		if strings.Contains(said, "restart fed.service") != one.restarts || !strings.Contains(said, "daemon-reload") {
			t.Errorf("%s: the scripts say to systemctl:\n%s\n%s", one.name, said, out)
		}
		if one.says != "" && !regexp.MustCompile(one.says).MatchString(out) || one.says == "" && strings.Contains(out, "fsub-daemon: ") {
			t.Errorf("%s: the upgrade says\n%s", one.name, out)
		}
	}
	r.write("/etc/fsub/fed.yaml", "federation: test\nsites: []\n", 0o644)

	// The database outlives the package.
	had := r.run("sha256sum /var/lib/fsub/fed.db /etc/fsub/fed.yaml")
	out = r.run("dpkg --purge fsub-daemon")
	if said := called(); !strings.Contains(said, "disable --now fed.socket fed.service") {
		t.Errorf("the purge says to systemctl: %s", said)
	}
	if !strings.Contains(out, "/var/lib/fsub stays") {
		t.Errorf("the purge says %s", out)
	}
	r.run("dpkg --purge fsub-client fsub-agent; test ! -e /usr/bin/fed && test ! -e /usr/lib/systemd/system/fed.service")
	r.run("dpkg -i /packages/*.deb")
	if got := r.run("sha256sum /var/lib/fsub/fed.db /etc/fsub/fed.yaml"); got != had {
		t.Errorf("after a purge: %s, before: %s", got, had)
	}
	if got := r.run("fed store check"); !strings.Contains(got, "ok") {
		t.Error(got)
	}
}

// later makes a database that a newer fed has written.
func later(t *testing.T, r *root) {
	t.Helper()
	r.run("rm -rf /var/lib/later && cp -r /var/lib/fsub /var/lib/later")
	db, err := sql.Open("sqlite3", "file:"+r.dir+"/var/lib/later/fed.db")
	check(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "INSERT INTO schema_version (version) VALUES (9999)")
	check(t, err)
}

// TestInstallRPM: the scripts of RPM, which says by numbers what it does.
func TestInstallRPM(t *testing.T) {
	rpm := tool(t, "rpm", "rpm")
	dir := packed(t)
	r := debian(t, "bookworm")
	r.write("/usr/bin/systemctl", "#!/bin/sh\necho \"$*\" >>/tmp/systemctl\n", 0o755)
	check(t, os.MkdirAll(r.dir+"/run/systemd/system", 0o755))
	said := func() string {
		text, _ := os.ReadFile(r.dir + "/tmp/systemctl")
		os.Remove(r.dir + "/tmp/systemctl")
		return string(text)
	}
	do := func(args ...string) string {
		return output(t, append([]string{rpm, "--root", r.dir, "--nodeps"}, args...)...)
	}
	do(append([]string{"-i", "--nosignature"}, files(t, dir+"/before", "rpm")...)...)
	r.run(asInstalled)
	if got := said(); got != "daemon-reload\n" {
		t.Errorf("an installation says to systemctl: %s", got)
	}
	r.write("/etc/fsub/fed.yaml", "federation: test\nsites: []\n", 0o644)
	r.run("mkdir -p -m 700 /var/lib/fsub")
	database(t, r)
	do(append([]string{"-U", "--nosignature"}, files(t, dir+"/one", "rpm")...)...)
	if got := said(); !strings.Contains(got, "restart fed.service") || strings.Contains(got, "disable") {
		t.Errorf("an upgrade says to systemctl: %s", got)
	}
	if got := r.run("fed version"); !strings.Contains(got, "schema") {
		t.Error(got)
	}
	do("-e", "fsub-daemon", "fsub-client", "fsub-agent")
	if got := said(); !strings.Contains(got, "disable --now fed.socket fed.service") {
		t.Errorf("a removal says to systemctl: %s", got)
	}
	r.run("test -e /var/lib/fsub/fed.db && test -e /etc/fsub/fed.yaml && test ! -e /usr/bin/fed")
}

// database has the daemon make its database.
func database(t *testing.T, r *root) {
	t.Helper()
	begun := time.Now()
	r.run(fmt.Sprintf(`set -e
fed serve >/tmp/fed.log 2>&1 & pid=$!
for i in $(seq %d); do fed site list >/dev/null 2>&1 && break; sleep 0.1; done
fed site list || { cat /tmp/fed.log; exit 1; }
kill $pid; wait $pid
fed store check`, int(patience/(100*time.Millisecond))))
	t.Logf("fed made its database in %s", time.Since(begun).Round(time.Millisecond))
}
