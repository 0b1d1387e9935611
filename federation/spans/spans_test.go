package spans

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
)

var begin = time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }

// told writes spans as lines: "  runs 10-20".
func told(spans []Span) string {
	var b strings.Builder
	for i := range spans {
		s := &spans[i]
		open := ""
		if s.Open {
			open = " open"
		}
		fmt.Fprintf(&b, "%s%s %v-%v%s\n", strings.Repeat("  ", s.Depth), s.Title(), s.Begin.Sub(begin).Seconds(), s.End.Sub(begin).Seconds(), open)
	}
	return b.String()
}

func TestLives(t *testing.T) {
	moved := federation.Attempt{Number: 1, Site: "alpha", State: federation.AttemptEnded, Created: at(5), Acked: at(6), Started: at(20), Ended: at(50), Nodes: "a1", Final: federation.Preempted}
	for _, c := range []struct {
		name     string
		job      federation.Job
		attempts []federation.Attempt
		want     string
	}{
		{"waits", federation.Job{Submit: at(0), State: federation.Pending}, nil, "job 0-100 open\n  waits 0-100 open\n"},
		{"was cancelled before it was placed", federation.Job{Submit: at(0), End: at(9), State: federation.Cancelled}, nil, "job 0-9\n  waits 0-9\n"},
		{"runs after it was preempted", federation.Job{Submit: at(0), State: federation.Running}, []federation.Attempt{moved,
			{Number: 2, Site: "beta", State: federation.AttemptStarted, Created: at(60), Acked: at(61), Started: at(61), Nodes: "b[1-2]"}},
			"job 0-100 open\n  waits 0-5\n  attempt 1 at alpha 5-50\n    hands over 5-6\n    queued there 6-20\n    runs on a1 20-50\n  waits 50-60\n" +
				"  attempt 2 at beta 60-100 open\n    hands over 60-61\n    runs on b[1-2] 61-100 open\n"},
		{"the site has started it again", federation.Job{Submit: at(0), End: at(80), State: federation.Completed}, []federation.Attempt{
			{Number: 1, Site: "alpha", State: federation.AttemptEnded, Created: at(0), Acked: at(1), Started: at(40), Ended: at(80), Nodes: "a2",
				Runs: []federation.AttemptRun{{State: federation.NodeFail, Started: at(2), Ended: at(30), Nodes: "a1"}}}},
			"job 0-80\n  attempt 1 at alpha 0-80\n    hands over 0-1\n    queued there 1-2\n    runs on a1 2-30\n    queued there 30-40\n    runs on a2 40-80\n"},
		{"is being handed over", federation.Job{Submit: at(0), State: federation.Pending}, []federation.Attempt{{Number: 1, Site: "alpha", State: federation.AttemptIntended, Created: at(90)}},
			"job 0-100 open\n  waits 0-90\n  attempt 1 at alpha 90-100 open\n    hands over 90-100 open\n"},
		{"was refused", federation.Job{Submit: at(0), State: federation.Pending}, []federation.Attempt{{Number: 1, Site: "alpha", State: federation.AttemptRefused, Created: at(10), Ended: at(12)}},
			"job 0-100 open\n  waits 0-10\n  attempt 1 at alpha 10-12\n    hands over 10-12\n  waits 12-100 open\n"},
		{"the site's clock is behind", federation.Job{Submit: at(0), End: at(60), State: federation.Completed}, []federation.Attempt{
			{Number: 1, Site: "alpha", State: federation.AttemptEnded, Created: at(10), Acked: at(11), Started: at(-30), Ended: at(60), Nodes: "a1"}},
			"job 0-60\n  waits 0-10\n  attempt 1 at alpha 10-60\n    hands over 10-11\n    runs on a1 11-60\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := told(Of(&c.job, c.attempts, at(100))); got != c.want {
				t.Errorf("told\n%swant\n%s", got, c.want)
			}
		})
	}
}

// Whatever the clocks say, a span lies within the one above it, those below one follow one another, and one level of them leaves no gap in a job.
func TestSpansNest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moment := func(name string) time.Time {
			if rapid.IntRange(0, 4).Draw(t, name+" is not known") == 0 {
				return time.Time{}
			}
			return at(rapid.IntRange(-50, 150).Draw(t, name))
		}
		j := federation.Job{Submit: at(0), State: rapid.SampledFrom([]federation.State{federation.Pending, federation.Running, federation.Completed}).Draw(t, "state"), End: moment("end")}
		var attempts []federation.Attempt
		for n := range rapid.IntRange(0, 4).Draw(t, "attempts") {
			a := federation.Attempt{Number: n + 1, Site: "alpha", Created: at(rapid.IntRange(0, 100).Draw(t, "created")), Acked: moment("acked"), Started: moment("started"), Ended: moment("ended"),
				State: rapid.SampledFrom([]federation.AttemptState{federation.AttemptIntended, federation.AttemptStarted, federation.AttemptEnded, federation.AttemptWithdrawn}).Draw(t, "attempt's state")}
			for range rapid.IntRange(0, 2).Draw(t, "runs") {
				a.Runs = append(a.Runs, federation.AttemptRun{Started: moment("run started"), Ended: moment("run ended")})
			}
			attempts = append(attempts, a)
		}
		spans := Of(&j, attempts, at(100))
		var above [3]Span
		for i, s := range spans {
			if s.Depth > 0 {
				if up := above[s.Depth-1]; s.Begin.Before(up.Begin) || s.End.After(up.End) || s.Open && !up.Open {
					t.Fatalf("span %d is not within the one above it:\n%s", i, told(spans))
				}
			}
			if last := above[s.Depth]; i > 0 && !last.End.IsZero() && s.Begin.Before(last.End) {
				t.Fatalf("span %d begins before the one before it ends:\n%s", i, told(spans))
			}
			if above[s.Depth] = s; s.Depth == 1 {
				above[2] = Span{}
			}
		}
		if first := spans[0]; first.Length() > 0 {
			until := first.Begin
			for _, s := range spans {
				if s.Depth == 1 {
					if !s.Begin.Equal(until) {
						t.Fatalf("there is a gap:\n%s", told(spans))
					}
					until = s.End
				}
			}
			if !until.Equal(first.End) {
				t.Fatalf("the end is missing:\n%s", told(spans))
			}
		}
	})
}
