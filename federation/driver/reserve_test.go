package driver

import (
	"testing"

	"fsub/federation/decision"
)

// TestPromiseNames: whom a reservation is for is read back from its name, by the federation that has made it and by no other.
func TestPromiseNames(t *testing.T) {
	feds := []string{"fed", "fed_3", "fed_30000001", "fed_30000001.5", "fed.5", "Fed", "f-2"}
	for _, fed := range feds {
		for _, p := range []decision.Promised{{Job: 30_000_001}, {Array: 30_000_001, Task: 0}, {Array: 30_000_001, Task: 5}, {Array: 67_000_000, Task: 4_000_000}} {
			name := PromiseName(fed, p)
			for _, by := range feds {
				want := decision.Promised{}
				if by == fed {
					want = p
				}
				if is := PromisedTo(by, name); is != want {
					t.Errorf("%s takes %s of %s for that of %+v, want %+v", by, name, fed, is, want)
				}
			}
		}
	}
	for _, name := range []string{"fsub_fed_", "fsub_fed_x", "fsub_fed_1.", "fsub_fed_1.x", "fsub_fed_1.-2", "fsub_fed_99999999999", "maintenance", "fsub_fed_30000001.5.6"} {
		if is := PromisedTo("fed", name); is != (decision.Promised{}) {
			t.Errorf("%s is taken for that of %+v", name, is)
		}
	}
}
