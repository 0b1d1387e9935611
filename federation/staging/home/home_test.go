package home_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/staging"
	"fsub/federation/staging/home"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "as-user" {
		os.Exit(home.Child(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

var files = home.Spawner{Command: []string{"/proc/self/exe", "as-user"}}

// nobody is a user with no rights; only root can act as one.
func nobody(t *testing.T) (u staging.User, dir string) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: not root: nobody else's files can be written")
	}
	dir, err := os.MkdirTemp("/tmp", "fsub-home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(dir+"/his", 0o700), os.Chown(dir+"/his", 65534, 65534),
		os.WriteFile(dir+"/secret", []byte("root's"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return staging.User{Name: "nobody", UID: 65534, GID: 65534, Umask: 0o027}, dir
}

func TestNoMoreRightsThanTheUserHas(t *testing.T) {
	u, dir := nobody(t)
	ctx := t.Context()
	if err := os.Symlink(dir+"/secret", dir+"/his/link"); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"../secret", "link", dir + "/secret", "/etc/shadow"} {
		var out bytes.Buffer
		err := files.Pack(ctx, u, dir+"/his", []staging.Item{{From: from, To: "work/x"}}, 1000, &out)
		if !errors.Is(err, federation.ErrDenied) || !strings.Contains(err.Error(), "permission denied") || strings.Contains(out.String(), "root's") {
			t.Errorf("%s: %v", from, err)
		}
	}
	for _, name := range []string{dir + "/new", dir + "/secret", dir + "/his/link"} {
		if err := files.Write(ctx, u, name, false, strings.NewReader("his")); !errors.Is(err, federation.ErrDenied) {
			t.Errorf("write %s: %v", name, err)
		}
	}
	if _, err := files.Unpack(ctx, u, dir, staging.Item{From: "f"}, 1000, archive(t, entry{"f", "his"})); !errors.Is(err, federation.ErrDenied) {
		t.Errorf("unpack: %v", err)
	}
	if text, _ := os.ReadFile(dir + "/secret"); string(text) != "root's" {
		t.Errorf("the file holds %q", text)
	}
}

func TestWhatIsWrittenIsTheUsers(t *testing.T) {
	u, dir := nobody(t)
	ctx := t.Context()
	if err := files.Write(ctx, u, dir+"/his/out", false, strings.NewReader("one\n")); err != nil {
		t.Fatal(err)
	}
	if err := files.Write(ctx, u, dir+"/his/out", true, strings.NewReader("two\n")); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(dir + "/his/out")
	if err != nil {
		t.Fatal(err)
	}
	if sys := st.Sys().(*syscall.Stat_t); sys.Uid != 65534 || sys.Gid != 65534 || st.Mode().Perm() != 0o640 || st.Size() != 8 {
		t.Errorf("uid %d, gid %d, %v, %d bytes", sys.Uid, sys.Gid, st.Mode(), st.Size())
	}
	if err := files.Write(ctx, u, dir+"/his/no/out", false, strings.NewReader("")); !errors.Is(err, federation.ErrInvalid) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if err := files.Write(ctx, u, "/dev/null", false, strings.NewReader(strings.Repeat("x", 1<<20))); err != nil {
		t.Errorf("/dev/null: %v", err)
	}
	if err := syscall.Mkfifo(dir+"/his/pipe", 0o666); err != nil {
		t.Fatal(err)
	}
	if err := files.Write(ctx, u, dir+"/his/pipe", false, strings.NewReader("x")); !errors.Is(err, federation.ErrInvalid) {
		t.Errorf("a pipe that nobody reads: %v", err)
	}
}

// TestReadAndRemove: several files come back as they are, those that are not there as nil, and nobody else's.
func TestReadAndRemove(t *testing.T) {
	u, dir := nobody(t)
	ctx := t.Context()
	names := []string{dir + "/his/a", dir + "/his/none", dir + "/his/empty"}
	for name, text := range map[string]string{names[0]: "one\ntwo", names[2]: ""} {
		if err := files.Write(ctx, u, name, false, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	texts, err := files.Read(ctx, u, names, 1000)
	if err != nil || string(texts[0]) != "one\ntwo" || texts[1] != nil || texts[2] == nil || len(texts[2]) != 0 {
		t.Errorf("%q, %v", texts, err)
	}
	if texts, err := files.Read(ctx, u, names, 3); err != nil || string(texts[0]) != "one" {
		t.Errorf("%q, %v", texts, err)
	}
	if _, err := files.Read(ctx, u, []string{dir + "/secret"}, 1000); !errors.Is(err, federation.ErrDenied) {
		t.Errorf("root's: %v", err)
	}
	if err := files.Remove(ctx, u, []string{dir + "/secret"}); !errors.Is(err, federation.ErrDenied) {
		t.Errorf("remove root's: %v", err)
	}
	if err := files.Remove(ctx, u, names); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(names[0]); err == nil {
		t.Error("it is still there")
	}
}

type entry struct{ name, text string }

// archive makes one; a text that begins with "-> " is a link.
func archive(t *testing.T, entries ...entry) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.text)), Typeflag: tar.TypeReg}
		if to, ok := strings.CutPrefix(e.text, "-> "); ok {
			h.Typeflag, h.Linkname, h.Size, e.text = tar.TypeSymlink, to, 0, ""
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, e.text)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// TestASiteWritesOnlyWhatWasNamed: the archive comes from a site, which may send anything.
func TestASiteWritesOnlyWhatWasNamed(t *testing.T) {
	for name, c := range map[string]struct {
		item    staging.Item
		entries []entry
		want    map[string]string // below the directory
		refused bool
	}{
		"outside":            {staging.Item{From: "r"}, []entry{{"../escaped", "x"}}, map[string]string{"../escaped": ""}, true},
		"absolute":           {staging.Item{From: "r"}, []entry{{"/tmp/fsub-escaped", "x"}}, map[string]string{"/tmp/fsub-escaped": ""}, true},
		"beside":             {staging.Item{From: "r/x"}, []entry{{".bashrc", "x"}}, map[string]string{".bashrc": ""}, true},
		"beside, at the top": {staging.Item{From: "r"}, []entry{{".bashrc", "x"}}, map[string]string{".bashrc": ""}, true},
		"hidden":             {staging.Item{From: "*"}, []entry{{"a", "x"}, {".bashrc", "x"}}, map[string]string{"a": "x", ".bashrc": ""}, true},
		"a pattern":          {staging.Item{From: "[!x]*/*.dat", To: "d/"}, []entry{{"ab/c.dat", "x"}}, map[string]string{"d/ab/c.dat": "x"}, false},
		"up and down":        {staging.Item{From: "r/x"}, []entry{{"r/../.bashrc", "x"}}, map[string]string{".bashrc": ""}, true},
		"through a new link": {staging.Item{From: "r/*"}, []entry{{"r/l", "-> ../.."}, {"r/l/f", "x"}}, map[string]string{"../f": "", "r/l/f": "x"}, false},
		"through a link of the user's that leads out": {staging.Item{From: "r"}, []entry{{"r/out/f", "x"}}, map[string]string{"out-there/f": ""}, true},
		"to a directory that the user named":          {staging.Item{From: "r", To: "r/out/"}, []entry{{"r/f", "x"}}, map[string]string{"out-there/r/f": "x"}, false},
		"to a name":                                   {staging.Item{From: "r", To: "s"}, []entry{{"r/f", "x"}}, map[string]string{"s/f": "x"}, false},
		"all":                                         {staging.Item{From: "."}, []entry{{"./f", "x"}, {"./d/g", "y"}}, map[string]string{"f": "x", "d/g": "y"}, false},
		"too large":                                   {staging.Item{From: "r"}, []entry{{"r/f", strings.Repeat("x", 5000)}}, map[string]string{"r/f": ""}, true},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			dir := base + "/work"
			if err := errors.Join(os.MkdirAll(dir+"/r", 0o755), os.Mkdir(base+"/there", 0o755), os.Symlink(base+"/there", dir+"/r/out"),
				os.Symlink(base+"/there", dir+"/out-there")); err != nil {
				t.Fatal(err)
			}
			u := staging.User{Name: "me", UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
			_, err := files.Unpack(t.Context(), u, dir, c.item, 4096, archive(t, c.entries...))
			if (err != nil) != c.refused || c.refused && !errors.Is(err, federation.ErrInvalid) {
				t.Errorf("error: %v", err)
			}
			for file, want := range c.want {
				if !filepath.IsAbs(file) {
					file = filepath.Join(dir, file)
				}
				if text, _ := os.ReadFile(file); string(text) != want {
					t.Errorf("%s holds %q, want %q", file, text, want)
				}
			}
		})
	}
}

// TestAChildThatLies: the process that packs is its user's, who may have it send what he likes.
func TestAChildThatLies(t *testing.T) {
	liar := home.Spawner{Command: []string{"/bin/sh", "-c", "exec cat /dev/zero"}}
	u := staging.User{Name: "me", UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
	var n countWriter
	err := liar.Pack(t.Context(), u, "/", []staging.Item{{From: "x"}}, 1000, &n)
	if !errors.Is(err, federation.ErrInvalid) || n > 65<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

type countWriter int

func (n *countWriter) Write(p []byte) (int, error) { *n += countWriter(len(p)); return len(p), nil }

// TestStuckHelperIsEnded: a helper is its user's process, who may stop it; so may a file system that does not answer.
func TestStuckHelperIsEnded(t *testing.T) {
	u := staging.User{Name: "me", UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
	stuck := home.Spawner{Command: []string{"/bin/sh", "-c", "kill -STOP $$"}, Stuck: 200 * time.Millisecond}
	began := time.Now()
	err := stuck.Write(t.Context(), u, "/dev/null", false, strings.NewReader("x"))
	if !errors.Is(err, federation.ErrUnavailable) || !strings.Contains(err.Error(), "moved nothing") {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	// One that is slow and moves is left alone.
	slow := home.Spawner{Command: []string{"/bin/sh", "-c", "for i in 1 2 3 4 5 6; do echo 1; sleep 0.4; done"}, Stuck: 2 * time.Second}
	if _, err := slow.Unpack(t.Context(), u, "/", staging.Item{}, 1, strings.NewReader("x")); err != nil {
		t.Errorf("slow: %v", err)
	}
}
