package controller

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"fsub/federation"
)

// Copies that arrive late are counted, and the histories of their jobs tell of them, also where the job was purged meanwhile.
func TestLateCopiesAreTold(t *testing.T) {
	b := newBench(t)
	id, gone := b.submit(nil), b.gone()
	b.rounds(4)
	b.cheap.start(id)
	b.rounds(4)
	b.cheap.late = []federation.SiteJob{
		{ID: id, SiteJobID: 4711, Key: b.attempts(id)[0].Key, State: federation.Pending}, {ID: id, SiteJobID: 4712, Key: b.attempts(id)[0].Key, State: federation.Running},
		{ID: gone, SiteJobID: 4713, State: federation.Pending},
	}
	b.wait(b.ctl.t.Poll + b.ctl.t.Observe)
	history := b.history(id)
	for _, want := range []string{"as 4711, and was cancelled before it started", "as 4712, and had started: cancelled"} {
		if strings.Count(history, want) != 1 {
			t.Errorf("the history does not say %q once:\n%s", want, history)
		}
	}
	if n := testutil.ToFloat64(b.ctl.metrics.late_.WithLabelValues("cheap")); n != 3 {
		t.Errorf("%v late copies are counted, want 3", n)
	}
	b.want(id, federation.Running, "", "cheap")
}
