package contract

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// leftOut are variables that a recording has not, though real jobs have them as well, with the reason.
var leftOut = map[string]string{
	"het ENVIRONMENT": "of that shape only SLURM_* was kept",
	"het HOSTNAME":    "the same",
	"het TMPDIR":      "the same",
}

// The names of the variables that a script finds are those that were recorded at a real site, shape by shape.
func TestRecordedShapes(t *testing.T) {
	world.Need(t)
	dir := os.Getenv("FSUB_ORACLE")
	if dir == "" {
		t.Skip("SKIPPED: FSUB_ORACLE does not name the folder of cli_golden")
	}
	text, err := os.ReadFile(filepath.Join(dir, "cli_golden", "env24.txt"))
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string]*job{}
	for _, c := range shapes {
		c.name = "recorded " + c.name
		jobs[c.name] = submit(t, &c, "alpha", "fsub")
	}
	told := regexp.MustCompile(`^(SLURM|CUDA_VISIBLE|GPU_DEVICE|ROCR_VISIBLE|ENVIRONMENT$|TMPDIR$|HOSTNAME$|SLURMD_NODENAME$)`)
	shape := regexp.MustCompile(`(?s)##### \S*/env_(\w+)\.txt\n== batch\n(.*?)== srun`)
	found := shape.FindAllStringSubmatch(string(text), -1)
	if len(found) != len(shapes) {
		t.Fatalf("%d shapes are recorded, %d are tested", len(found), len(shapes))
	}
	for _, m := range found {
		t.Run(m[1], func(t *testing.T) {
			want := map[string]bool{}
			for line := range strings.Lines(m[2]) {
				name, _, _ := strings.Cut(line, "=")
				want[strings.TrimSpace(name)] = true
			}
			got := map[string]bool{}
			for field := range awaitView(t, jobs["recorded "+m[1]]) {
				if task, name, env := strings.Cut(field, "$"); env && !strings.Contains(task, ".step") && told.MatchString(name) {
					got[name] = true
				}
			}
			for name := range want {
				if !got[name] && told.MatchString(name) {
					t.Errorf("%s was recorded, and is not there", name)
				}
			}
			for name := range got {
				if !want[name] && leftOut[m[1]+" "+name] == "" {
					t.Errorf("%s is there, and was not recorded", name)
				}
			}
		})
	}
}
