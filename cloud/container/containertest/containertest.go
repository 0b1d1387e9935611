// Package containertest is for tests that run containers: a small image, and a machine that crun
// can work on. It downloads nothing.
package containertest

import (
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// unified is where cgroups version 2 are on a machine that has version 1 too.
const unified = "/sys/fs/cgroup/unified"

// LeaveHybrid starts the test's program again where cgroups version 2 are not mounted, on a machine
// that has both versions: crun 1.8 refuses those. To be called by TestMain, last before Run.
func LeaveHybrid() {
	if _, err := os.Stat(unified + "/cgroup.procs"); err != nil || os.Geteuid() != 0 || os.Getenv("FSUB_LEFT_HYBRID") != "" {
		return
	}
	path, err := exec.LookPath("unshare")
	if err != nil {
		return
	}
	os.Setenv("FSUB_LEFT_HYBRID", "1")
	argv := append([]string{"unshare", "-m", "sh", "-c", "umount " + unified + `; exec "$0" "$@"`}, os.Args...)
	_ = syscall.Exec(path, argv, os.Environ())
}

// Needs skips loudly where a program is missing.
func Needs(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("SKIPPED: there is no %s: make test installs it", p)
		}
	}
}

// files of the image beside its programs; the last three are enroot's way to say what the image is.
var files = map[string]string{
	"etc/os-release":  "PRETTY_NAME=\"Tiny\"\n",
	"etc/environment": "COLOR=image\nPATH=/bin\nFROM=${SHOP}\n",
	"etc/rc": "mkdir -p '/inside' 2>/dev/null\ncd '/inside' && unset OLDPWD || exit 1\nif [ -s /etc/rc.local ]; then\n. /etc/rc.local\nfi\n" +
		"export ENTRY=yes; echo noise; exec \"$@\"\n",
}

// Root makes the folder "tiny" in dir, with busybox as all of its programs and what they link to of
// the files named.
func Root(t testing.TB, dir string, linked ...string) string {
	t.Helper()
	Needs(t, "busybox")
	busybox, _ := exec.LookPath("busybox")
	if f, err := elf.Open(busybox); err == nil {
		dynamic := f.Section(".interp") != nil
		f.Close()
		if dynamic {
			t.Skip("SKIPPED: busybox is not a static one (busybox-static): make test installs it")
		}
	}
	root := filepath.Join(dir, "tiny")
	for _, d := range []string{"bin", "etc", "inside", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	copyTo(t, busybox, root+"/bin/busybox")
	for _, name := range []string{"sh", "cat", "id", "env", "ls", "pwd", "touch", "grep", "stat", "sleep", "echo", "true", "sort"} {
		if err := os.Symlink("busybox", root+"/bin/"+name); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range linked {
		out, _ := exec.Command("ldd", program).Output()
		for word := range strings.FieldsSeq(string(out)) {
			if strings.HasPrefix(word, "/") {
				copyTo(t, word, root+word)
			}
		}
	}
	return root
}

// Image makes the folder "tiny" in dir, and a squashfs file of it.
func Image(t testing.TB, dir string, linked ...string) (file string) {
	t.Helper()
	Needs(t, "crun", "mksquashfs", "unsquashfs")
	file = filepath.Join(dir, "tiny.sqsh")
	if out, err := exec.Command("mksquashfs", Root(t, dir, linked...), file, "-all-root", "-quiet", "-no-progress").CombinedOutput(); err != nil {
		t.Fatalf("mksquashfs: %v: %s", err, out)
	}
	return file
}

func copyTo(t testing.TB, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err == nil {
		_, err = io.Copy(out, in)
	}
	if err != nil || out.Close() != nil {
		t.Fatal(err)
	}
}
