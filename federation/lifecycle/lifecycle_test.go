package lifecycle

import (
	"testing"
	"time"

	"fsub/federation"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return t0.Add(time.Duration(minutes) * time.Minute) }

// TestIs: ID and key name an attempt. A record without a key is told from older ones by its time of submission.
func TestIs(t *testing.T) {
	known := Known{Attempt: &federation.Attempt{Key: "k2", Created: at(10), SiteSubmit: at(11)}, Older: []time.Time{at(1)}}
	fresh := Known{Attempt: &federation.Attempt{Key: "k2", Created: at(10)}, Older: []time.Time{at(9)}}
	for _, c := range []struct {
		name string
		k    *Known
		sj   federation.SiteJob
		want bool
	}{
		{"its key", &known, federation.SiteJob{Key: "k2", Submit: at(1)}, true},
		{"another key", &known, federation.SiteJob{Key: "k1", Submit: at(11)}, false},
		{"no key and no time", &known, federation.SiteJob{}, true},
		{"its time of submission", &known, federation.SiteJob{Submit: at(11)}, true},
		{"another time of submission", &known, federation.SiteJob{Submit: at(12)}, false},
		{"requeued there: a new time of submission", &known, federation.SiteJob{Submit: at(30), Restarts: 1}, true},
		{"requeued there, and an older attempt's time", &known, federation.SiteJob{Submit: at(1), Restarts: 1}, false},
		{"not submitted yet, as we know", &fresh, federation.SiteJob{Submit: at(11)}, true},
		{"by a clock that is late", &fresh, federation.SiteJob{Submit: at(10).Add(-30 * time.Second)}, true},
		{"an older attempt's, within the skew of clocks", &fresh, federation.SiteJob{Submit: at(9)}, false},
		{"long before", &fresh, federation.SiteJob{Submit: at(1)}, false},
	} {
		if got := c.k.Is(&c.sj); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestRead: what a site's word on an attempt means.
func TestRead(t *testing.T) {
	running := federation.Attempt{State: federation.AttemptStarted, Started: at(10)}
	sent := federation.Attempt{State: federation.AttemptSubmitted}
	again := federation.Attempt{State: federation.AttemptStarted, Started: at(10), Runs: []federation.AttemptRun{{Started: at(10)}}}
	once := running
	once.Restarts = 1
	for _, c := range []struct {
		name  string
		a     federation.Attempt
		state federation.State
		whole bool
		sj    federation.SiteJob
		want  Meaning
	}{
		{"waits", sent, federation.Pending, false, federation.SiteJob{State: federation.Pending}, Follows},
		{"has started", sent, federation.Pending, false, federation.SiteJob{State: federation.Running, Start: at(10)}, Follows},
		{"runs", running, federation.Running, false, federation.SiteJob{State: federation.Running, Start: at(10)}, Follows},
		{"has ended", running, federation.Running, false, federation.SiteJob{State: federation.Failed, Start: at(10)}, Follows},
		{"given back before it started", sent, federation.Pending, false, federation.SiteJob{State: federation.Pending, Returned: true}, GivenBack},
		{"given back while its nodes end it", running, federation.Running, false, federation.SiteJob{State: federation.Pending, Completing: true, Returned: true}, GivenBack},
		{"queued again, not counted yet", running, federation.Running, false, federation.SiteJob{State: federation.Pending, Completing: true}, QueuedAgain},
		{"queued again, and counted", running, federation.Running, false, federation.SiteJob{State: federation.Pending, Completing: true, Restarts: 1}, Follows},
		{"queued again, its nodes are done", running, federation.Running, false, federation.SiteJob{State: federation.Pending, Restarts: 1}, Follows},
		{"its second run queued again", once, federation.Running, false, federation.SiteJob{State: federation.Pending, Completing: true, Restarts: 1}, QueuedAgain},
		{"pending again without a requeue", running, federation.Running, false, federation.SiteJob{State: federation.Pending}, StartLost},
		{"pending by accounting, which lags", running, federation.Running, false, federation.SiteJob{State: federation.Pending, FromAccounting: true}, Follows},
		{"pending after a run that was counted early (22.05)", again, federation.Running, false, federation.SiteJob{State: federation.Pending}, Follows},
		{"an array of an earlier version", running, federation.Running, true, federation.SiteJob{State: federation.Pending}, Follows},
		{"started later than it had", running, federation.Running, false, federation.SiteJob{State: federation.Running, Start: at(20)}, StartedAgain},
		{"ended after a later start", running, federation.Running, false, federation.SiteJob{State: federation.Completed, Start: at(20)}, StartedAgain},
		{"started later, and requeued between", running, federation.Running, false, federation.SiteJob{State: federation.Running, Start: at(20), Restarts: 1}, Follows},
		{"its nodes were not ready", running, federation.Configuring, false, federation.SiteJob{State: federation.Running, Start: at(20)}, Follows},
		{"it was not seen to start", sent, federation.Pending, false, federation.SiteJob{State: federation.Running, Start: at(20)}, Follows},
		{"a later start by accounting", running, federation.Running, false, federation.SiteJob{State: federation.Completed, Start: at(20), FromAccounting: true}, Follows},
	} {
		k := Known{Attempt: &c.a, State: c.state, Whole: c.whole}
		if got := k.Read(&c.sj); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
