package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"fsub/federation"
)

// TestAfterLookup: what the answer to a look-up proves.
func TestAfterLookup(t *testing.T) {
	const (
		unsure = 1 << iota
		cancel
		ranHere
		confirm
	)
	ours := func(s federation.State) federation.SiteJob { return federation.SiteJob{Key: "k2", State: s} }
	old := federation.SiteJob{Key: "k1", State: federation.Completed}
	booked := func(j federation.SiteJob) federation.SiteJob { j.FromAccounting = true; return j }
	unknown := fmt.Errorf("job 7: %w", federation.ErrNotFound)
	for _, c := range []struct {
		name  string
		is    int
		found federation.SiteJob
		err   error
		want  Finding
	}{
		{"no answer", unsure, federation.SiteJob{}, federation.ErrUnavailable, Nothing},
		{"no answer about one that is missing", 0, federation.SiteJob{}, federation.ErrUnavailable, Nothing},
		{"it has it", unsure, ours(federation.Running), nil, IsThere},
		{"accounting has its end", unsure, booked(ours(federation.Completed)), nil, IsThere},
		{"accounting has it alone, as pending", unsure, booked(ours(federation.Pending)), nil, WasLost},
		{"neither controller nor accounting has it", unsure, federation.SiteJob{}, unknown, NeverArrived},
		{"it has never had it, and it is to be cancelled", unsure | cancel, federation.SiteJob{}, unknown, NeverArrived},
		{"it has the run before under this ID", unsure | ranHere, old, nil, RemembersLast},
		{"accounting has the run before under this ID", unsure | ranHere, booked(old), nil, NeverArrived},
		{"the run before, and it is to be cancelled", unsure | ranHere | cancel, old, nil, NeverArrived},
		{"somebody else's job of this ID", unsure, old, nil, NeverArrived},
		{"it had it, and has not", 0, federation.SiteJob{}, unknown, WasLost},
		{"it had it, and has another one", 0, old, nil, WasLost},
		{"it was only late", confirm, ours(federation.Running), nil, IsThere},
		{"it shows it as pending indeed", confirm, ours(federation.Pending), nil, LostItsStart},
		{"nobody had asked for that", 0, ours(federation.Pending), nil, IsThere},
	} {
		k := Known{Attempt: &federation.Attempt{Key: "k2", State: federation.AttemptStarted, Started: at(1)}, State: federation.Running,
			Unsure: c.is&unsure != 0, Cancel: c.is&cancel != 0, RanHere: c.is&ranHere != 0}
		if got := k.AfterLookup(&Answer{Found: c.found, Err: c.err, Confirm: c.is&confirm != 0}); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestMissing: when a missing attempt counts as lost, and when its controller was put back to an older state.
func TestMissing(t *testing.T) {
	const confirm, minJobAge, saved = 2 * time.Second, 5 * time.Minute, time.Minute
	for _, c := range []struct {
		name     string
		m        Missing
		believed time.Time
		restored bool
	}{
		{"seen a moment ago", Missing{Since: at(20), Last: at(19), Acked: at(1), Created: at(1)}, at(20).Add(confirm), true},
		{"acknowledged a moment ago: a crash explains it", Missing{Since: at(20), Last: at(20), Acked: at(20).Add(-time.Second)}, at(20).Add(confirm), false},
		{"unseen for longer than ended jobs are remembered", Missing{Since: at(20), Last: at(10), Acked: at(1)}, at(20).Add(minJobAge), false},
		{"a new daemon has not seen it", Missing{Since: at(20), Acked: at(17), Created: at(1)}, at(20).Add(confirm), true},
		{"never acknowledged", Missing{Since: at(20), Created: at(18)}, at(20).Add(confirm), false},
		{"intended long ago", Missing{Since: at(20), Created: at(1)}, at(20).Add(minJobAge), false},
	} {
		if got := c.m.BelievedAt(confirm, minJobAge); !got.Equal(c.believed) {
			t.Errorf("%s: believed at %v, want %v", c.name, got, c.believed)
		}
		if got := c.m.Restored(minJobAge, saved); got != c.restored {
			t.Errorf("%s: restored %v, want %v", c.name, got, c.restored)
		}
	}
}
