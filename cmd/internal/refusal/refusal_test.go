package refusal

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNext: the command after our own, whatever stands before it.
func TestNext(t *testing.T) {
	dir := t.TempDir()
	file := func(d string, mode os.FileMode) string {
		os.MkdirAll(filepath.Join(dir, d), 0o755)
		name := filepath.Join(dir, d, "srun")
		if err := os.WriteFile(name, nil, mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	first, second := file("site", 0o755), file("other", 0o755)
	file("notexec", 0o644)
	self := file("fsub", 0o755)
	os.MkdirAll(filepath.Join(dir, "shims"), 0o755)
	if err := os.Symlink(self, filepath.Join(dir, "shims", "srun")); err != nil {
		t.Fatal(err)
	}
	own := func() (os.FileInfo, error) { return os.Stat(self) }
	for _, c := range []struct{ path, want string }{
		{"shims:notexec:nosuch:site:other", first}, {"site:shims:other", second}, {"site:shims", ""}, {"shims", ""}, {"site:other", first}, {"", ""}, {"shims:site:shims:other", second},
	} {
		var dirs []string
		for _, d := range strings.Split(c.path, ":") {
			if d != "" {
				dirs = append(dirs, filepath.Join(dir, d))
			}
		}
		if got := Next("srun", strings.Join(dirs, ":"), own); got != c.want {
			t.Errorf("%s: %q, want %q", c.path, got, c.want)
		}
	}
}

func TestLoginNode(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if rc := Main("salloc", []string{"-N2"}, []string{"PATH=/nosuch"}, &stdout, &stderr); rc != 1 || stdout.Len() > 0 ||
		strings.Count(stderr.String(), "\n") != 1 || !strings.HasPrefix(stderr.String(), "salloc: error: the federation runs batch jobs: ") {
		t.Errorf("exit %d, %q, %q", rc, &stdout, &stderr)
	}
	if rc := Main("srun", []string{"--version"}, nil, &stdout, &stderr); rc != 0 || !strings.HasPrefix(stdout.String(), "slurm ") {
		t.Errorf("exit %d, %q", rc, &stdout)
	}
	for _, name := range Names {
		stdout.Reset()
		stderr.Reset()
		if rc := Main(name, []string{"--help"}, []string{"PATH=/nosuch"}, &stdout, &stderr); rc != 0 || !strings.HasPrefix(stdout.String(), "Usage: "+name+" ") || stderr.Len() > 0 {
			t.Errorf("%s --help: exit %d, %q, %q", name, rc, &stdout, &stderr)
		}
		if rc := Main(name, []string{"17.0"}, []string{"PATH=/nosuch"}, &stdout, &stderr); rc != 1 || strings.Count(stderr.String(), "\n") != 1 || !strings.HasPrefix(stderr.String(), name+": error: ") {
			t.Errorf("%s: exit %d, %q", name, rc, &stderr)
		}
	}
	stderr.Reset()
	if rc := Main("srun", nil, []string{"SLURM_JOB_ID=7", "PATH=/nosuch"}, &stdout, &stderr); rc != 1 || !strings.Contains(stderr.String(), "no srun in PATH") {
		t.Errorf("exit %d, %q", rc, &stderr)
	}
}

// TestOwn: a job finds its site's command also by the path that ours has where it was submitted, which may stand behind the site's in PATH or nowhere in it.
func TestOwn(t *testing.T) {
	dir := t.TempDir()
	file := func(d string) string {
		os.MkdirAll(filepath.Join(dir, d), 0o755)
		name := filepath.Join(dir, d, "srun")
		if err := os.WriteFile(name, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		return name
	}
	site, machine := file("site"), file("machine")
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	os.Mkdir(filepath.Join(dir, "ours"), 0o755)
	if err := os.Symlink(self, filepath.Join(dir, "ours/srun")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, commands, want string }{
		{"ours:site", "", site}, {"site:ours", "", site}, {"site", "", site}, {"ours", "", ""},
		{"machine:ours", "machine", machine}, {"ours:machine", "machine", machine}, {"ours", "machine", machine}, {"machine:site:ours", "machine", machine}, {"ours:site", "machine", machine},
	} {
		path := "PATH=" + dir + "/" + strings.ReplaceAll(c.path, ":", ":"+dir+"/")
		env := []string{path}
		if c.commands != "" {
			env = append(env, "FSUB_COMMANDS="+filepath.Join(dir, c.commands))
		}
		if got := Own("srun", env); got != c.want {
			t.Errorf("PATH %s, the machine's commands in %q: %q, want %q", c.path, c.commands, got, c.want)
		}
	}
	// A second copy of ours, before this one in PATH, would come back to this one.
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file("copy"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := Own("srun", []string{"PATH=" + dir + "/copy:" + dir + "/ours"}); got != "" {
		t.Errorf("ours gives way to a copy of itself: %q", got)
	}
}
