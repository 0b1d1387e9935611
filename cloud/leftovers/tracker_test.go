package leftovers

import "testing"

// TestSweepSparesTheBusy: a gang that is being made has no machines yet, and its things stay.
func TestSweepSparesTheBusy(t *testing.T) {
	var l Tracker
	all := []Thing{{Gang: "a", Name: "ga"}, {Gang: "b", Name: "gb"}, {Gang: "c", Name: "gc"}}
	live := map[string]bool{"c": true}
	l.Begin("b", true)
	if got := l.Orphaned(all, live); len(got) > 0 {
		t.Errorf("gone at the first look: %v", got)
	}
	got := l.Orphaned(all, live)
	if len(got) != 1 || got[0].Name != "ga" {
		t.Errorf("gone at the second look: %v", got)
	}
	l.End("b")
	l.Orphaned(all[1:], live)
	if got := l.Orphaned(all[1:], live); len(got) != 1 || got[0].Name != "gb" {
		t.Errorf("gone when it is not made any more: %v", got)
	}
	if l.clear || len(l.Orphaned(nil, nil)) > 0 || !l.clear {
		t.Error("nothing is left only when nothing is")
	}
}
