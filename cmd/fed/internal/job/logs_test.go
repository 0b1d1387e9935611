package job

import (
	"bytes"
	"testing"

	"fsub/federation"
)

// TestTail: the last lines of what is there at first, and all that comes after.
func TestTail(t *testing.T) {
	for _, c := range []struct {
		text  string
		lines int
		want  string
	}{
		{"a\nb\nc\n", 2, "b\nc\n"}, {"a\nb\nc", 2, "b\nc"}, {"a\nb\n", 5, "a\nb\n"}, {"a\nb\n", 0, ""}, {"", 3, ""}, {"a\n\n\n", 2, "\n\n"}, {"a\nb\n", -1, "a\nb\n"},
	} {
		if got := lastLines(c.text, c.lines); got != c.want {
			t.Errorf("last %d of %q: %q, want %q", c.lines, c.text, got, c.want)
		}
	}
	var out bytes.Buffer
	w := &tail{w: &out, lines: 1}
	w.Write([]byte("a\nb\n"))
	w.Write([]byte("c\n"))
	w.flush()
	w.Write([]byte("d\ne\n"))
	if out.String() != "c\nd\ne\n" {
		t.Errorf("%q", &out)
	}
}

// TestWhichTask: whoever wants to follow an array is told of tasks.
func TestWhichTask(t *testing.T) {
	task := func(i int, s federation.State) federation.Task { return federation.Task{Index: i, State: s} }
	l := logs{name: "69"}
	for want, tasks := range map[string][]federation.Task{
		"69 is an array: follow one of its tasks: fed logs -f 69_3; 3,5 running; 4 failed": {task(2, federation.Completed), task(3, federation.Running), task(4, federation.Failed), task(5, federation.Running)},
		"69 is an array: follow one of its tasks: fed logs -f 69_TASK":                     {},
	} {
		if err := l.pickTask(tasks); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
