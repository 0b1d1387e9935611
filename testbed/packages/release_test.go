package packages

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestRelease makes the packages of this commit in two clones that share nothing but the compilers: the same bytes, for both architectures, and no symbol of a
// glibc newer than 2.28.
func TestRelease(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: two builds of all programs take half an hour of two cores: make test-full")
	}
	tools, err := filepath.Abs("../../bin/tools/pypi")
	check(t, err)
	clones := []string{t.TempDir(), filepath.Join(t.TempDir(), "another", "path")}
	for i, dir := range clones {
		from := "../.."
		if i > 0 {
			from = clones[0] // the same commit, whatever has come since
		}
		output(t, "git", "clone", "-q", from, dir)
		check(t, os.MkdirAll(tools, 0o755))
		check(t, os.MkdirAll(dir+"/bin/tools", 0o755))
		check(t, os.Symlink(tools, dir+"/bin/tools/pypi"))
		cmd := exec.Command("make", "-C", dir, "packages")
		if i > 0 {
			cmd.Args = append(cmd.Args, "ARCHS=amd64")
		}
		cmd.Env = append(os.Environ(), "GOCACHE="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make packages: %v\n%s", err, out)
		}
	}
	all, err := filepath.Glob(clones[1] + "/bin/packages/*.[dr][ep][bm]")
	check(t, err)
	if len(all) != 2*len(names) {
		t.Fatalf("packages of one architecture: %v", all)
	}
	for _, file := range all {
		one, err := os.ReadFile(filepath.Join(clones[0], "bin/packages", filepath.Base(file)))
		check(t, err)
		two, err := os.ReadFile(file)
		check(t, err)
		if !bytes.Equal(one, two) {
			t.Errorf("%s differs between two clones", filepath.Base(file))
		}
	}
	for _, arch := range []string{"amd64", "arm64"} {
		oldGlibc(t, filepath.Join(clones[0], "bin", "linux-"+arch, "fed"))
	}
}

// oldGlibc fails for a program that is static, or needs a glibc newer than 2.28.
func oldGlibc(t *testing.T, program string) {
	t.Helper()
	out := output(t, tool(t, "readelf", "binutils"), "--wide", "--version-info", "--dynamic", program)
	if !strings.Contains(out, "Shared library: [libc.so.6]") {
		t.Errorf("%s is static: it would know no users of SSSD or LDAP", program)
	}
	for _, m := range regexp.MustCompile(`GLIBC_2\.(\d+)`).FindAllStringSubmatch(out, -1) {
		if n, _ := strconv.Atoi(m[1]); n > 28 {
			t.Errorf("%s needs %s", program, m[0])
		}
	}
}
