package sbatch

import (
	"testing"
	"time"
)

// TestPackOption: what --pack takes, and which jobs it is for.
func TestPackOption(t *testing.T) {
	for text, want := range map[string]Pack{"100": {Size: 100}, "2": {Size: 2}, "1000:256": {Size: 1000, Side: 256}, "8:8": {Size: 8, Side: 8}} {
		f := Fed{}
		if why := setPack(&f, text); why != "" || *f.Pack != want || f.Pack.text() != text {
			t.Errorf("%q: %s, %+v, %q", text, why, f.Pack, f.Pack.text())
		}
	}
	for _, bad := range []string{"", "1", "0", "-3", "1001", "x", "8:", "8:0", "8:9", "1000:257", "8:2:2", "2.5"} {
		if setPack(&Fed{}, bad) == "" {
			t.Errorf("%q is taken", bad)
		}
	}
	for name, s := range map[string]Spec{"no array": {}, "two nodes": {Array: "0-9", MinNodes: 2}, "a signal": {Array: "0-9", Signal: &Signal{Name: "USR1"}}} {
		if (&Pack{Size: 2}).Why(&s) == "" {
			t.Errorf("%s: taken", name)
		}
	}
	s := Spec{Array: "0-9", MinNodes: 1, MaxNodes: 1, TimeLimit: 5 * time.Minute, Output: "out-%a", Error: "err"}
	if why := (&Pack{Size: 2}).Why(&s); why != "" {
		t.Error(why)
	}
	if k := s.OfPack(9, 4); k.TimeLimit != 17*time.Minute || k.Array != "" || *k.Requeue || k.Output != "/dev/null" || k.Error != "" || s.Output != "out-%a" {
		t.Errorf("%+v", k)
	}
}
