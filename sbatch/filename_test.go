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
func FuzzFileName(f *testing.F) {
	for _, p := range []string{"%j", "%99999999999999999999j", "%", "%%%", `a\%`, "%é", "%5"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		got := FileName(pattern, FileVars{Job: 1, Dir: "/d"})
		if pattern != "none" && !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(strings.ReplaceAll(pattern, `\`, ""), "/") && !strings.HasPrefix(got, "/d/") {
			t.Errorf("%q: %q", pattern, got)
		}
		if !strings.ContainsAny(pattern, `%\/`) && pattern != "none" && got != "/d/"+pattern {
			t.Errorf("%q: %q", pattern, got)
		}
	})
}
