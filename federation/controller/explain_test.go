package controller

import (
	"strings"
	"testing"

	"fsub/sbatch"
)

// Of an array is told where the tasks go that wait; of one without, nothing that only they would do.
func TestExplainArray(t *testing.T) {
	b := newBench(t)
	b.rounds(3)
	id := b.submit(func(s *sbatch.Spec) { s.Array = "0-9%3" })
	b.rounds(4)
	says := func(what, want string, offers bool) {
		t.Helper()
		if got := b.explains(id); !strings.HasPrefix(got, want) || strings.Contains(got, "$") != offers {
			t.Errorf("%s: it says\n%s, want %s", what, got, want)
		}
	}
	says("some are bound", "job 30000000_[3-9%3] waits (JobArrayTaskLimit)\n  its array runs at most 3 tasks at once (%3), and 3 run\n", true)
	b.turn(wellDone)
	says("some run", "job 30000000_[3-9%3] waits (JobArrayTaskLimit)\n  its array runs at most 3 tasks at once (%3), and 3 run\n", true)
	for b.job(id).Spec.Array != "" {
		b.turn(wellDone)
	}
	says("none waits", "job 30000000 has no task that waits to be sent to a site\n", false)
	for !b.job(id).State.Ended() {
		b.turn(wellDone)
	}
	says("all have ended", "job 30000000 has ended\n", false)
}
