package shapes

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/testbed/bed"
)

// place is a site at which scripts run: through our federation, by the words of sbatch.
type place struct {
	name string // of the site
	run  int    // 0, 1: the runs of a script at one site have folders of their own
}

func (p place) String() string { return fmt.Sprintf("%s%d", p.name, p.run) }

// shape is one of the scripts in testdata.
type shape struct {
	name   string
	script string // what is called: NAME.sh, or "" to submit NAME.sbatch
}

// shapesOf lists the scripts. One that another's NAME.sh submits is no shape of its own.
func shapesOf(t *testing.T) []shape {
	t.Helper()
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	helpers := map[string]bool{"stage": true, "map": true}
	var out []shape
	for _, f := range files {
		name, kind, _ := strings.Cut(f.Name(), ".")
		switch {
		case kind == "sh":
			out = append(out, shape{name, f.Name()})
		case !helpers[name] && !slices.ContainsFunc(files, func(x os.DirEntry) bool { return x.Name() == name+".sh" }):
			out = append(out, shape{name: name})
		}
	}
	return out
}

// dir is where a shape runs at a place. All places share the user's file system.
func (p place) dir(s shape) string {
	return filepath.Join(world.Bed.Home("alice"), "shapes", p.String(), s.name)
}

// submit starts a shape.
func (p place) submit(t *testing.T, s shape) {
	t.Helper()
	dir := p.dir(s)
	p.prepare(t, dir, s)
	call := `sbatch job.sbatch`
	if s.script != "" {
		call = "bash " + s.script
	}
	out := login(t, p, dir, "bash", "-c", call)
	said := out.stdout + out.stderr
	if out.code != 0 {
		said += fmt.Sprintf("exit %d\n", out.code)
	}
	write(t, filepath.Join(dir, "said"), said)
}

// prepare makes the folder of a shape anew, with the scripts.
func (p place) prepare(t *testing.T, dir string, s shape) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(f)
		switch {
		case name == s.name+".sbatch" && s.script == "":
			name = "job.sbatch"
		case s.script == "" || !strings.Contains(scriptText(t, s), name) && name != s.script:
			continue
		}
		write(t, filepath.Join(dir, name), string(text))
	}
	own(t, filepath.Dir(dir))
	own(t, dir)
}

func scriptText(t *testing.T, s shape) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", s.script))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// await waits until no job that was submitted in the shape's folder, or below it, is left.
func (p place) await(t *testing.T, s shape) {
	t.Helper()
	dir := p.dir(s)
	deadline := time.Now().Add(p.patience(s))
	for quiet := 0; quiet < 2; {
		out := login(t, p, "/", "squeue", "-h", "-t", "all", "-u", "alice", "-o", "%Z|%i|%T|%R")
		if out.code != 0 {
			t.Fatalf("squeue: %s", out.stderr)
		}
		var left []string
		for line := range strings.Lines(out.stdout) {
			at, rest, _ := strings.Cut(strings.TrimSpace(line), "|")
			if (at == dir || strings.HasPrefix(at, dir+"/")) && !ended.MatchString(rest) {
				left = append(left, rest)
			}
		}
		if len(left) == 0 {
			quiet++ // a job that submits the next one is gone before it is seen at all times
		} else {
			quiet = 0
		}
		if time.Now().After(deadline) {
			for _, l := range left {
				id, _, _ := strings.Cut(l, "|")
				login(t, p, "/", "scancel", strings.TrimRight(id, "]["))
			}
			t.Errorf("%s at %s does not end: %s", s.name, p, strings.Join(left, "; "))
			stuck[p] = true
			return
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// stuck are places at which a shape did not end. Nobody waits long for others there, so that all have their turn before the test's own time is over.
var stuck = map[place]bool{}

// patience is how long a shape may take on a machine that is busy with other tests. A requeued job waits two minutes at real Slurm.
func (p place) patience(s shape) time.Duration {
	switch {
	case stuck[p]:
		return 10 * time.Second
	case slow[s.name]:
		return 12 * time.Minute
	}
	return 6 * time.Minute
}

var ended = regexp.MustCompile(`\|(COMPLETED|FAILED|CANCELLED|TIMEOUT|OUT_OF_MEMORY|NODE_FAIL|BOOT_FAIL|DEADLINE|PREEMPTED)\|`)

// jobs is how the jobs of a shape ended, by name.
func (p place) jobs(t *testing.T, s shape) string {
	t.Helper()
	out := login(t, p, "/", "sacct", "-n", "-X", "-P", "-u", "alice", "-S", "now-1hour", "-o", "WorkDir,JobName,JobID,State,ExitCode,Restarts")
	if out.code != 0 {
		t.Fatalf("sacct: %s", out.stderr)
	}
	var lines []string
	for line := range strings.Lines(out.stdout) {
		at, rest, _ := strings.Cut(strings.TrimSpace(line), "|")
		if at != p.dir(s) && !strings.HasPrefix(at, p.dir(s)+"/") {
			continue
		}
		f := strings.Split(rest, "|")
		_, task, _ := strings.Cut(f[1], "_")
		state, _, _ := strings.Cut(f[2], " by ")
		lines = append(lines, fmt.Sprintf("%s[%s] %s %s restarts %s\n", f[0], task, state, f[3], f[4]))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// left is all that a shape has left behind, masked: the text of its files by name, and how its jobs ended.
func (p place) left(t *testing.T, s shape) map[string]string {
	t.Helper()
	files := map[string]string{"(jobs)": p.jobs(t, s)}
	dir := p.dir(s)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, dir+"/")
		if d.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		m := newMask(p, dir, string(text))
		files[m.name(name)+" "+info.Mode().String()] = m.text(string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	own(t, path)
}

func own(t *testing.T, path string) {
	t.Helper()
	alice, err := bed.FindUser("alice")
	if err == nil {
		err = os.Chown(path, alice.UID, alice.UID)
	}
	if err != nil {
		t.Fatal(err)
	}
}
