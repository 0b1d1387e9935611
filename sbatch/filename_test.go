package sbatch

import (
	"strings"
	"testing"
)

// The names are those that 24.11.5 made of the patterns, for the output of a batch script and of a step.
func TestFileName(t *testing.T) {
	plain := FileVars{Job: 100337, JobName: "a b", User: "alice", Node: "alpha1.example.org", Dir: "/d"}
	task := plain
	task.ArrayJob, task.Task, task.Job = 100338, 7, 100338
	step := task
	step.Step = "0"
	for _, c := range []struct {
		pattern, plain, task, step string
	}{
		{"o-%j", "o-100337", "o-100338", "o-100338"},
		{"o-%J", "o-100337", "o-100338", "o-100338.0"},
		{"o-%A-%a", "o-100337-4294967294", "o-100338-7", "o-100338-7"},
		{"o-%x-%u", "o-a b-alice", "o-a b-alice", "o-a b-alice"},
		{"o-%N-%n", "o-alpha1-0", "o-alpha1-0", "o-alpha1-0"},
		{"o-%s-%t", "o-batch-0", "o-batch-0", "o-0-0"},
		{"o-%b", "o-4", "o-7", "o-7"},
		{"o-%%-%", "o-%-%", "o-%-%", "o-%-%"},
		{"o-%5j-%3a-%12j-%10A", "o-100337-4294967294-0000100337-0000100337", "o-100338-007-0000100338-0000100338", "o-100338-007-0000100338-0000100338"},
		{"o-%5x-%5N-%3n-%3t-%3s-%3b-%5J", "o-a b-alpha1-000-000-batch-004-100337", "o-a b-alpha1-000-000-batch-007-100338", "o-a b-alpha1-000-000-000-007-100338.0"},
		{"o-%q-%5q", "o-%q-5q", "o-%q-5q", "o-%q-5q"},
		{`\o-%j`, "o-%j", "o-%j", "o-%j"},
		{`o-\%j-%x`, "o-%j-%x", "o-%j-%x", "o-%j-%x"},
		{`o-%j\`, "o-%j", "o-%j", "o-%j"},
		{"o-%00j-%1j", "o-100337-100337", "o-100338-100338", "o-100338-100338"},
		{"o-%3%", "o-3%", "o-3%", "o-3%"},
		{"o-%-3j", "o-%-3j", "o-%-3j", "o-%-3j"},
		{"o-%5", "o-5", "o-5", "o-5"},
		{"sub/o-%j", "sub/o-100337", "sub/o-100338", "sub/o-100338"},
	} {
		for _, k := range []struct {
			n    FileVars
			want string
		}{{plain, c.plain}, {task, c.task}, {step, c.step}} {
			if got := FileName(c.pattern, k.n); got != "/d/"+k.want {
				t.Errorf("%q of %+v: %q, want %q", c.pattern, k.n, got, "/d/"+k.want)
			}
		}
	}
	for pattern, want := range map[string]string{"/abs/%j": "/abs/100337", "none": "/dev/null", "/dev/null": "/dev/null", "../up": "/d/../up"} {
		if got := FileName(pattern, plain); got != want {
			t.Errorf("%q: %q, want %q", pattern, got, want)
		}
	}
}

// A pattern is expanded without fault, whatever it is, and stays below its folder if it has no slash.
func TestFileNameOfAnArraysTask(t *testing.T) {
	v := FileVars{Job: 1208, ArrayJob: 1207, Task: 7, JobName: "wrap", User: "alice", Node: "n1"}
	for pattern, want := range map[string]string{
		"%3a_%5A_%j_%x_%u_%N_%n_%t_%s_%J_%b_%%_%4j": "007_01207_1208_wrap_alice_n1_0_0_batch_1208_7_%_1208",
		`bs_\%j.out`: "bs_%j.out", "a%": "a%", "%q%12j": "%q0000001208", "%": "%", "slurm-%A_%a.out": "slurm-1207_7.out",
	} {
		if got := FileName(pattern, v); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
	v.Task = -1
	if got := FileName("%A %a", v); got != "1207 4294967294" {
		t.Errorf("an array without a task: %q", got)
	}
}

func FuzzFileName(f *testing.F) {
	for _, p := range []string{"%j", "%99999999999999999999j", "%", "%%%", `a\%`, "%é", "%5"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		got := FileName(pattern, FileVars{Job: 1, JobName: "x", User: "u", Node: "n", Step: "0", Dir: "/d"}) // none is empty: that could begin with a slash what follows
		if pattern != "none" && !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(strings.ReplaceAll(pattern, `\`, ""), "/") && !strings.HasPrefix(got, "/d/") {
			t.Errorf("%q: %q", pattern, got)
		}
		if !strings.ContainsAny(pattern, `%\/`) && pattern != "none" && got != "/d/"+pattern {
			t.Errorf("%q: %q", pattern, got)
		}
	})
}
