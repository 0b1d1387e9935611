package staging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fsub/federation"
	"fsub/sbatch"
)

// TestSameFilesEverywhere: a script finds what it asks to be staged in under the same names at a site that does not see the directory and at one that does.
func TestSameFilesEverywhere(t *testing.T) {
	t.Parallel()
	const script = "#!/bin/sh\nfind -L in copy one other.txt far.txt -type f | LC_ALL=C sort\ncat in/*.csv copy/deep/file other.txt far.txt\n"
	w := newWorld(t)
	elsewhere := t.TempDir()
	for name, text := range map[string]string{"data/a b.csv": "1", "data/c.csv": "2", "data/d.txt": "no", "tree/deep/file": "3", "old.txt": "4", "keep/x": "5"} {
		w.write(name, text)
	}
	for _, name := range []string{"other.txt", "far.txt"} {
		if err := os.WriteFile(filepath.Join(elsewhere, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fed := &sbatch.Fed{StageIn: []sbatch.Stage{{From: "data/*.csv", To: "in/"}, {From: "tree", To: "copy"}, {From: "old.txt", To: "one/new.txt"}, {From: "keep"},
		{From: elsewhere + "/other.txt"}, {From: elsewhere + "/far.txt"}}}
	j, a := w.job(script, fed)
	if status, _ := w.whole(j, a); status != "0" {
		t.Fatalf("exit status %s: %s", status, w.read("out.txt"))
	}
	want := w.read("out.txt")
	sees := func(name string) bool { return !strings.HasSuffix(name, "far.txt") }
	for range 2 { // a job that is queued again finds its links
		if err := w.stager.Link(t.Context(), federation.Submission{Job: j, Payload: w.payload, Key: a.Key}, sees); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = w.dir
	if got, err := cmd.CombinedOutput(); err != nil || string(got) != want {
		t.Errorf("%v: at a site that sees the directory the script says\n%s\nwant\n%s", err, got, want)
	}
	for name, link := range map[string]string{"in/c.csv": "../data/c.csv", "copy": "tree", "other.txt": elsewhere + "/other.txt", "far.txt": "", "keep": ""} {
		if to, _ := os.Readlink(filepath.Join(w.dir, name)); to != link {
			t.Errorf("%s is a link to %q, want %q", name, to, link)
		}
	}
}

func TestLinksLeaveAloneWhatIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("data/a.csv", "new")
	w.write("in/a.csv", "the user's own")
	w.write("link", "")
	in := func(from, to string) error {
		j, a := w.job("#!/bin/sh\n", &sbatch.Fed{StageIn: []sbatch.Stage{{From: from, To: to}}})
		return w.stager.Link(t.Context(), federation.Submission{Job: j, Payload: w.payload, Key: a.Key}, func(string) bool { return true })
	}
	if err := in("data/*.csv", "in/"); err != nil || w.read("in/a.csv") != "the user's own" {
		t.Errorf("%v: %q", err, w.read("in/a.csv"))
	}
	for from, want := range map[string]string{"nowhere/*.csv": "nothing matches nowhere/*.csv", "nowhere": "no such file", "data/a.csv": "not a directory"} {
		to := "in/"
		if from == "data/a.csv" {
			to = "link/"
		}
		if err := in(from, to); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(w.read("out.txt"), "fsub: ") || !strings.Contains(w.read("out.txt"), want) {
			t.Errorf("%s: %v; its output says %q", from, err, w.read("out.txt"))
		}
	}
}
