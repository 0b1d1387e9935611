package decision

import (
	"testing"
	"time"
)

// A job starts as its offer was foretold, later by what others of ours are to go there first: the wait that is reckoned with is the p50, and the p90 where that is unsure.
func TestBegins(t *testing.T) {
	made := time.Unix(1e9, 0)
	for _, c := range []struct {
		wait        time.Duration
		f           *Foreseen
		p50, p90    time.Duration
		knowsNoHigh bool
	}{
		{wait: time.Minute, p50: time.Minute, knowsNoHigh: true},
		{time.Minute, &Foreseen{P50: time.Minute, P90: time.Hour}, time.Minute, time.Hour, false},
		{4 * time.Minute, &Foreseen{P50: time.Minute, P90: time.Hour}, 4 * time.Minute, 4 * time.Hour, false},
		{2 * time.Hour, &Foreseen{P50: time.Minute, P90: time.Hour, Unsure: "new"}, 2 * time.Minute, 2 * time.Hour, false},
		{0, &Foreseen{}, 0, 0, false},
	} {
		o := Offer{Site: "rhein", Wait: c.wait, Start: made.Add(c.wait), Foreseen: c.f}
		s := o.Begins()
		if s.Site != "rhein" || s.At.Sub(made) != c.p50 || s.Within.IsZero() != c.knowsNoHigh || !c.knowsNoHigh && s.Within.Sub(made) != c.p90 {
			t.Errorf("%+v, foreseen %+v: %+v", o, c.f, s)
		}
	}
	half, free := made.Add(15*time.Minute), made.Add(30*time.Minute)
	for _, c := range []struct{ s, want Start }{
		{Start{At: made, Within: made.Add(time.Minute), Of: "waits"}, Start{At: half, Within: free, Of: "nodes"}},
		{Start{At: made, Of: "limits"}, Start{At: half, Within: free, Of: "nodes"}},
		{Start{At: half.Add(time.Minute), Of: "limits"}, Start{At: half.Add(time.Minute), Within: free, Of: "limits"}},
		{Start{At: free.Add(time.Minute), Of: "limits"}, Start{At: free.Add(time.Minute), Of: "limits"}},
		{Start{At: free.Add(time.Minute), Within: free.Add(time.Hour), Of: "waits"}, Start{At: free.Add(time.Minute), Within: free.Add(time.Hour), Of: "waits"}},
	} {
		if got := c.s.NotBefore(half, free, "nodes"); got != c.want {
			t.Errorf("%+v, not before %s and %s: %+v, want %+v", c.s, half, free, got, c.want)
		}
	}
}
