package sweep

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fsub/cloud/pmi/pmix"
)

// tree makes files below a folder: those that end with a slash are folders, those with an arrow links.
func tree(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		name, to, link := strings.Cut(name, ">")
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(to, path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// left are the files and folders below a folder.
func left(t testing.TB, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != dir {
			names = append(names, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestRemove: what each kind of request removes, and what stays.
func TestRemove(t *testing.T) {
	for _, c := range []struct {
		name  string
		have  []string
		files []string
		dirs  []pmix.Dir
		keep  []string
		left  []string
	}{
		{"files of a list", []string{"a", "b", "c"}, []string{"a,%/b", "none"}, nil, nil, []string{"c"}},
		{"a folder is no file", []string{"d/"}, []string{"d"}, nil, nil, []string{"d"}},
		{"a link, not what it leads to", []string{"a", "l>a"}, []string{"l"}, nil, nil, []string{"a"}},
		{"a folder's files", []string{"d/a", "d/b"}, nil, []pmix.Dir{{Path: "d"}}, nil, nil},
		{"not its folders", []string{"d/a", "d/e/b"}, nil, []pmix.Dir{{Path: "d"}}, nil, []string{"d", "d/e", "d/e/b"}},
		{"its folders too", []string{"d/a", "d/e/f/b", "d/g/"}, nil, []pmix.Dir{{Path: "d", Recursive: true}}, nil, nil},
		{"all but itself", []string{"d/a", "d/e/b"}, nil, []pmix.Dir{{Path: "d", Recursive: true, LeaveTop: true}}, nil, []string{"d"}},
		{"all but what is to stay", []string{"d/a", "d/e/b", "d/e/c", "d/f/g"}, nil, []pmix.Dir{{Path: "d", Recursive: true}}, []string{"d/e/b", "d/f"}, []string{"d", "d/e", "d/e/b", "d/f", "d/f/g"}},
		{"nothing behind links", []string{"out/x", "out/y/z", "d/l>../out", "d/m>../out/x", "d/e/n>../../out/y"}, nil, []pmix.Dir{{Path: "d", Recursive: true}}, nil, []string{"out", "out/x", "out/y", "out/y/z"}},
		{"nor behind one that is named", []string{"out/x", "d>out"}, nil, []pmix.Dir{{Path: "d", Recursive: true}}, nil, []string{"d", "out", "out/x"}},
		{"on the way links lead on", []string{"out/x", "d>out"}, []string{"d/x"}, nil, nil, []string{"d", "out"}},
		{"two folders", []string{"d/a", "e/b"}, nil, []pmix.Dir{{Path: "d,%/e"}}, nil, nil},
		{"points", []string{"d/a", "e/b"}, []string{"d/../e/./b"}, nil, nil, []string{"d", "d/a", "e"}},
	} {
		dir := t.TempDir()
		tree(t, dir, c.have...)
		in := func(list []string) (all []string) {
			for _, path := range list {
				all = append(all, dir+"/"+strings.ReplaceAll(path, "%", dir))
			}
			return all
		}
		asked := pmix.Cleanup{Files: in(c.files), Ignored: in(c.keep)}
		for _, d := range c.dirs {
			d.Path = in([]string{d.Path})[0]
			asked.Dirs = append(asked.Dirs, d)
		}
		(&Sweeper{}).Remove(1, asked)
		if got := left(t, dir); !slices.Equal(got, c.left) {
			t.Errorf("%s: %q are left, want %q", c.name, got, c.left)
		}
	}
}

// TestRefuses: paths that are none, the root, and those that begin nowhere.
func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	tree(t, dir, "a", "d/b")
	all := []string{"a", "", "/", "/..", "//", ",", dir + "/a/b", "/none/such"}
	var dirs []pmix.Dir
	for _, path := range append(all, "d") {
		dirs = append(dirs, pmix.Dir{Path: path})
	}
	(&Sweeper{}).Remove(1, pmix.Cleanup{Files: all, Dirs: dirs})
	if got, want := left(t, dir), []string{"a", "d", "d/b"}; !slices.Equal(got, want) {
		t.Errorf("%q are left, want %q", got, want)
	}
}

// TestOthers: what another user owns stays, also in a folder of one's own.
func TestOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give files away")
	}
	dir := t.TempDir()
	tree(t, dir, "a", "d/a", "d/b", "d/e/c", "f/g")
	for _, name := range []string{"a", "d/a", "d/e", "f"} {
		if err := os.Lchown(filepath.Join(dir, name), 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	(&Sweeper{}).Remove(1, pmix.Cleanup{Files: []string{dir + "/a"}, Dirs: []pmix.Dir{{Path: dir + "/d", Recursive: true}, {Path: dir + "/f", Recursive: true}}})
	if got, want := left(t, dir), []string{"a", "d", "d/a", "d/e", "d/e/c", "f", "f/g"}; !slices.Equal(got, want) {
		t.Errorf("%q are left, want %q", got, want)
	}
}

// TestRoot: paths of a container are within its root, wherever links there lead; without a root nothing is removed.
func TestRoot(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, "x", "root/x", "root/tmp/a", "root/d/l>/tmp", "root/up>../../..", "root/abs>"+dir)
	s := &Sweeper{Root: func() (*os.File, error) { return os.Open(filepath.Join(dir, "root")) }}
	s.Remove(1, pmix.Cleanup{Files: []string{"/up/x", "/abs/x", "/d/l/a"}})
	if got, want := left(t, dir), []string{"root", "root/abs", "root/d", "root/d/l", "root/tmp", "root/up", "x"}; !slices.Equal(got, want) {
		t.Errorf("%q are left, want %q", got, want)
	}
	s.Root = func() (*os.File, error) { return nil, os.ErrNotExist }
	s.Remove(1, pmix.Cleanup{Files: []string{dir + "/x"}})
	if _, err := os.Stat(dir + "/x"); err != nil {
		t.Error("without a root the machine's files are removed")
	}
}

// TestDeep: a folder that is deeper than is gone into stays, and nothing breaks.
func TestDeep(t *testing.T) {
	dir := t.TempDir()
	deep := strings.Repeat("d/", deepest+5)
	tree(t, dir, deep+"x", "d/y")
	(&Sweeper{}).Remove(1, pmix.Cleanup{Dirs: []pmix.Dir{{Path: dir + "/d", Recursive: true}}})
	if _, err := os.Stat(filepath.Join(dir, deep, "x")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/d/y"); err == nil {
		t.Error("what is not deep stays")
	}
}

// folder makes a step's folder with its note.
func folder(t testing.TB, parent, name string) *Sweeper {
	t.Helper()
	s := &Sweeper{Dir: filepath.Join(parent, name)}
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Note(); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStale: what the daemon of a step that was killed has left to do is done, once its lock is gone; what is in use or is not a step's stays.
func TestStale(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, "a", "b", "c", "d/e", "pmix.no.note/x", "other/"+noteName)
	s := folder(t, dir, "pmix.1.0.x")
	s.Keep(1, pmix.Cleanup{Files: []string{dir + "/a"}})
	s.Keep(2, pmix.Cleanup{Files: []string{dir + "/b"}})
	s.Keep(1, pmix.Cleanup{Files: []string{dir + "/c"}})
	s.Keep(0, pmix.Cleanup{Dirs: []pmix.Dir{{Path: dir + "/d"}}})
	s.Remove(1, pmix.Cleanup{Files: []string{dir + "/a", dir + "/c"}})
	tree(t, dir, "a") // of another step, by the same name
	before := left(t, dir)
	if err := Stale("pmix.", dir, dir+"/none"); err != nil {
		t.Fatal(err)
	}
	if got := left(t, dir); !slices.Equal(got, before) {
		t.Errorf("in use: %q are left, want %q", got, before)
	}
	if _, err := s.note.Write([]byte{100, 1, 2}); err != nil { // it was killed while it wrote
		t.Fatal(err)
	}
	s.note.Close()
	if err := Stale("pmix.", dir, dir+"/none"); err != nil {
		t.Fatal(err)
	}
	if got, want := left(t, dir), []string{"a", "other", "other/" + noteName, "pmix.no.note", "pmix.no.note/x"}; !slices.Equal(got, want) {
		t.Errorf("%q are left, want %q", got, want)
	}
}

// TestStaleDone: what another process has done between the opening of a note and its lock is not done again: the files may be others by then.
func TestStaleDone(t *testing.T) {
	dir := t.TempDir()
	s := folder(t, dir, "pmix.1")
	s.Keep(1, pmix.Cleanup{Files: []string{dir + "/a"}})
	note := openNote(s.Dir)
	if note == nil {
		t.Fatal("no note")
	}
	defer note.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tree(t, dir, "a")
	if err := finish(s.Dir, note); err != nil {
		t.Fatal(err)
	}
	if got, want := left(t, dir), []string{"a"}; !slices.Equal(got, want) {
		t.Errorf("%q are left, want %q", got, want)
	}
}

// TestStaleOrder: the step's own requests come last: its folder is not removed while those of its tasks are in it.
func TestStaleOrder(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, "d/1/x", "d/2/x", "d/3/x", "d/4/x")
	s := folder(t, dir, "pmix.1")
	s.Keep(0, pmix.Cleanup{Dirs: []pmix.Dir{{Path: dir + "/d"}}})
	for i := 1; i <= 4; i++ {
		s.Keep(i, pmix.Cleanup{Dirs: []pmix.Dir{{Path: dir + "/d/" + strconv.Itoa(i)}}})
	}
	s.note.Close()
	if err := Stale("pmix.", dir); err != nil {
		t.Fatal(err)
	}
	if got := left(t, dir); got != nil {
		t.Errorf("%q are left", got)
	}
}

// TestBytes: names of files need not be text.
func TestBytes(t *testing.T) {
	dir := t.TempDir()
	name := "a\xff\xfe\n\u2028"
	tree(t, dir, name)
	s := folder(t, dir, "pmix.1")
	s.Keep(1, pmix.Cleanup{Files: []string{dir + "/" + name}})
	s.note.Close()
	if err := Stale("pmix.", dir); err != nil {
		t.Fatal(err)
	}
	if got := left(t, dir); got != nil {
		t.Errorf("%q are left", got)
	}
}

// TestStaleOthers: a folder that another user has laid out as a trap is left alone, and so are links.
func TestStaleOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give files away")
	}
	dir := t.TempDir()
	tree(t, dir, "a", "real/x")
	for i, give := range []string{"", noteName} {
		s := folder(t, dir, "pmix."+strconv.Itoa(i))
		s.Keep(1, pmix.Cleanup{Files: []string{dir + "/a"}})
		s.note.Close()
		if err := os.Lchown(filepath.Join(s.Dir, give), 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir+"/pmix.1", dir+"/pmix.link"); err != nil {
		t.Fatal(err)
	}
	if err := Stale("pmix.", dir); err != nil {
		t.Fatal(err)
	}
	if got, want := left(t, dir), []string{"a", "pmix.0", "pmix.0/" + noteName, "pmix.1", "pmix.1/" + noteName, "pmix.link", "real", "real/x"}; !slices.Equal(got, want) {
		t.Errorf("%q are left, want %q", got, want)
	}
}

// TestClose: a folder goes with all that is in it.
func TestClose(t *testing.T) {
	dir := t.TempDir()
	s := folder(t, dir, "pmix.1")
	tree(t, s.Dir, "a/b/c")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := left(t, dir); got != nil {
		t.Errorf("%q are left", got)
	}
}

// TestNotes: of what was noted and removed in any order that is left which was not removed.
func TestNotes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "sweep")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s := folder(t, dir, "pmix.1")
		want := map[int][]string{}
		for i := range rapid.IntRange(0, 20).Draw(rt, "lines") {
			owner := rapid.IntRange(0, 3).Draw(rt, "owner")
			if rapid.Bool().Draw(rt, "end") {
				s.Remove(owner, pmix.Cleanup{})
				delete(want, owner)
				continue
			}
			path := "/none/" + strconv.Itoa(i)
			s.Keep(owner, pmix.Cleanup{Files: []string{path}})
			want[owner] = append(want[owner], path)
		}
		s.note.Close()
		note, err := os.Open(filepath.Join(s.Dir, noteName))
		if err != nil {
			rt.Fatal(err)
		}
		defer note.Close()
		got := read(note)
		for owner, c := range got {
			if !slices.Equal(c.Files, want[owner]) {
				rt.Fatalf("%d: %q, want %q", owner, c.Files, want[owner])
			}
		}
		if len(got) != len(want) {
			rt.Fatalf("%v, want %v", got, want)
		}
	})
}
