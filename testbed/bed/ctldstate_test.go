package bed

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// TestFinishSaves tries every state in which kill -9 can leave a save, on a version that needs help and on one that does not.
func TestFinishSaves(t *testing.T) {
	for _, tc := range []struct {
		name, version string
		files, want   map[string]string
	}{
		{"between the moves", "26.05.5",
			map[string]string{"job_state.old": "1", "job_state.new": "2"}, map[string]string{"job_state.old": "1", "job_state": "2"}},
		{"while writing", "26.05.5",
			map[string]string{"job_state": "1", "job_state.new": "half"}, map[string]string{"job_state": "1", "job_state.new": "half"}},
		{"not at all", "26.05.5",
			map[string]string{"job_state": "2", "job_state.old": "1"}, map[string]string{"job_state": "2", "job_state.old": "1"}},
		{"an older Slurm", "24.11.5",
			map[string]string{"job_state.old": "1", "job_state.new": "2"}, map[string]string{"job_state.old": "1", "job_state.new": "2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, s := &Bed{opts: Options{Dir: t.TempDir()}}, Sites[0]
			write(t, filepath.Join(b.rootDir(s.Suite), versionFile), tc.version)
			for name, text := range tc.files {
				write(t, filepath.Join(b.stateDir(s.Name), name), text)
			}
			if err := b.finishSaves(s); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			entries, err := os.ReadDir(b.stateDir(s.Name))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				got[e.Name()] = readFile(t, filepath.Join(b.stateDir(s.Name), e.Name()))
			}
			if !maps.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
