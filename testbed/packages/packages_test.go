package packages

import (
	"crypto/sha256"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/testbed/program"
)

const (
	deploy  = "../../deploy/packages"
	version = "9.8.7"
	before  = "9.8.6" // of the same programs, for upgrades
)

var names = []string{"fsub-agent", "fsub-client", "fsub-daemon"}

// tool is a program of one of Debian's packages, which "make test" installs.
func tool(t *testing.T, name, from string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, "no %s: install Debian's package %s", name, from)
	}
	return path
}

// missing skips a test loudly, and fails it in CI.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf("NOT RUN: "+format, args...)
}

func output(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// built are the packages of this machine's architecture, of the programs as "make build" builds them: those that are released are linked against an older glibc.
// They are made once, in two directories with two versions of which only the first is tried whole.
var built struct {
	sync.Once
	dir string
	err error
}

func packed(t *testing.T) string {
	t.Helper()
	built.Do(func() { built.dir, built.err = pack() })
	if errors.Is(built.err, ErrNoNFPM) {
		missing(t, "%v", built.err)
	}
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// pack makes a directory with the packages: one and two are of one version, before of the one before it.
func pack() (string, error) {
	dir, err := os.MkdirTemp("", "fsub-packages-")
	if err != nil {
		return "", err
	}
	bin, elsewhere := dir+"/bin", dir+"/elsewhere"
	if err := program.Put(bin, "fsub", "fsub-remote", "fed", "fed-agent"); err != nil {
		return dir, err
	}
	if err := Pack("../..", version, bin, dir+"/one"); err != nil {
		return dir, err
	}
	old := time.Unix(1e9, 0)
	return dir, errors.Join(os.Rename(bin, elsewhere), os.Chtimes(elsewhere+"/fed", old, old), Pack("../..", version, elsewhere, dir+"/two"), Pack("../..", before, elsewhere, dir+"/before"))
}

// files are the packages of a kind, in the order of their names.
func files(t *testing.T, dir, kind string) []string {
	t.Helper()
	all, err := filepath.Glob(dir + "/*." + kind)
	if err != nil || len(all) != len(names) {
		t.Fatalf("%s of %s: %v, %v", kind, dir, all, err)
	}
	slices.Sort(all)
	return all
}

// TestSameBytes: packages of the same programs are equal to the byte, wherever and whenever they are made.
func TestSameBytes(t *testing.T) {
	dir := packed(t)
	for _, kind := range []string{"deb", "rpm"} {
		one, two := files(t, dir+"/one", kind), files(t, dir+"/two", kind)
		for i := range one {
			a, err1 := os.ReadFile(one[i])
			b, err2 := os.ReadFile(two[i])
			if err := errors.Join(err1, err2); err != nil || sha256.Sum256(a) != sha256.Sum256(b) {
				t.Errorf("%s and %s differ (%v)", one[i], two[i], err)
			}
		}
	}
}

// TestLintian: Debian's judge of packages finds no error, and nothing to warn of.
func TestLintian(t *testing.T) {
	lintian := tool(t, "lintian", "lintian")
	args := append([]string{"--allow-root", "--fail-on", "error,warning", "--suppress-tags", "initial-upload-closes-no-bugs"}, files(t, packed(t)+"/one", "deb")...)
	out, err := exec.Command(lintian, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestRPM: the digests of the packages are good, and their scripts are those of this folder.
func TestRPM(t *testing.T) {
	rpm := tool(t, "rpm", "rpm")
	db := t.TempDir()
	for _, file := range files(t, packed(t)+"/one", "rpm") {
		if out := output(t, rpm, "--dbpath", db, "-K", "--nosignature", file); !strings.Contains(out, "digests OK") {
			t.Errorf("rpm -K: %s", out)
		}
		out := output(t, rpm, "--dbpath", db, "-qp", "--nosignature", "--scripts", file)
		if !strings.Contains(file, "daemon") {
			if strings.TrimSpace(out) != "" {
				t.Errorf("%s has scripts:\n%s", file, out)
			}
			continue
		}
		for head, script := range map[string]string{"postinstall": "daemon-postinstall.sh", "preuninstall": "daemon-preremove.sh", "postuninstall": "daemon-postremove.sh"} {
			text, err := os.ReadFile(filepath.Join(deploy, "scripts", script))
			check(t, err)
			if !strings.Contains(out, head+" scriptlet") || !strings.Contains(out, strings.TrimSpace(string(text))) {
				t.Errorf("%s is not its %s:\n%s", script, head, out)
			}
		}
	}
}

// TestScripts: no shell that may read a script finds fault with it.
func TestScripts(t *testing.T) {
	shellcheck := tool(t, "shellcheck", "shellcheck")
	all, err := filepath.Glob(deploy + "/*.sh")
	check(t, err)
	more, err := filepath.Glob(deploy + "/scripts/*.sh")
	check(t, err)
	for _, file := range append(all, more...) {
		text, err := os.ReadFile(file)
		check(t, err)
		if strings.HasPrefix(string(text), "#!/bin/sh") {
			output(t, "dash", "-n", file)
		}
		output(t, shellcheck, "-S", "warning", file)
	}
	output(t, shellcheck, "-S", "warning", "-s", "sh", deploy+"/files/profile.sh")
}

// TestUnits: systemd takes the units and each drop-in, and thinks well enough of their sandbox. That of a local pool has none.
func TestUnits(t *testing.T) {
	analyze := tool(t, "systemd-analyze", "systemd")
	for name, most := range map[string]string{"": "35", "10-user": "25", "20-credentials": "35", "30-local-pool": ""} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			check(t, os.MkdirAll(dir+"/fed.service.d", 0o755))
			service, err := os.ReadFile(deploy + "/systemd/fed.service")
			check(t, err)
			// Neither fed nor its pages are installed here.
			text := regexp.MustCompile(`(?m)^Documentation=.*`).ReplaceAllString(strings.ReplaceAll(string(service), "/usr/bin/fed", "/bin/true"), "")
			socket, err := os.ReadFile(deploy + "/systemd/fed.socket")
			check(t, err)
			check(t, errors.Join(os.WriteFile(dir+"/fed.service", []byte(text), 0o644), os.WriteFile(dir+"/fed.socket", socket, 0o644)))
			if name != "" {
				drop, err := os.ReadFile(deploy + "/systemd/" + name + ".conf")
				check(t, err)
				check(t, os.WriteFile(dir+"/fed.service.d/"+name+".conf", drop, 0o644))
			}
			out := output(t, analyze, "verify", dir+"/fed.service", dir+"/fed.socket")
			for line := range strings.Lines(out) {
				if strings.Contains(line, "fed.") || strings.Contains(line, dir) {
					t.Errorf("%s", line)
				}
			}
			if most != "" {
				output(t, analyze, "security", "--offline=true", "--no-pager", "--threshold="+most, dir+"/fed.service")
			}
		})
	}
}

// TestContents: nobody's file is replaced, commands are where users look, and what is an administrator's to write is not shipped.
func TestContents(t *testing.T) {
	dir := packed(t)
	has := map[string]string{}
	for i, file := range files(t, dir+"/one", "deb") {
		for line := range strings.Lines(output(t, "dpkg-deb", "-c", file)) {
			fields := strings.Fields(line)
			has[strings.TrimPrefix(fields[5], ".")] = names[i]
			if owner := fields[1]; owner != "root/root" {
				t.Errorf("%s belongs to %s", fields[5], owner)
			}
		}
	}
	for path, in := range map[string]string{
		"/usr/bin/fsub": "fsub-client", "/usr/bin/fsub-remote": "fsub-client", "/usr/bin/fed": "fsub-client", "/usr/libexec/fsub/shims/sbatch": "fsub-client",
		"/usr/share/modulefiles/fsub/" + version + ".lua": "fsub-client", "/usr/bin/fed-agent": "fsub-agent", "/usr/lib/systemd/system/fed.service": "fsub-daemon",
		"/usr/share/man/man1/fsub.1.gz": "fsub-client", "/usr/share/man/man8/fed.8.gz": "fsub-client", "/usr/share/man/man8/fed-site.8.gz": "fsub-client",
		"/usr/share/man/man8/fed-agent.8.gz": "fsub-agent", "/usr/share/man/man5/fed.yaml.5.gz": "fsub-daemon", "/usr/share/fsub/man/man1/sbatch.1.gz": "fsub-client",
		"/usr/share/bash-completion/completions/fsub": "fsub-client", "/usr/share/zsh/vendor-completions/_fed": "fsub-client",
		"/usr/share/fish/vendor_completions.d/fed.fish": "fsub-client", "/usr/lib/systemd/system/fed.socket": "fsub-daemon", "/usr/lib/sysusers.d/fsub.conf": "fsub-daemon", "/etc/fsub/fed.yaml.example": "fsub-daemon",
		"/usr/share/doc/fsub-client/third-party.gz": "fsub-client", "/usr/share/doc/fsub-agent/third-party.gz": "fsub-agent",
	} {
		if has[path] != in {
			t.Errorf("%s is in %q, want %s", path, has[path], in)
		}
	}
	for path := range has {
		shim := regexp.MustCompile(`^/usr/(bin|sbin|share/man/man\d|share/bash-completion/completions)/_?(s(batch|queue|cancel|info|acct|control|run)\b)`)
		if shim.MatchString(path) || path == "/etc/fsub/fed.yaml" || strings.HasPrefix(path, "/etc/profile.d/") {
			t.Errorf("%s is shipped", path)
		}
	}
}
