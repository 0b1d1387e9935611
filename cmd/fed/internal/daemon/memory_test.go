package daemon

import "testing"

func TestGarbagePercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 10 << 20: 400, 64 << 20: 100, 128 << 20: 50, 256 << 20: 33, 1 << 30: 33} {
		if got := garbagePercent(live, false); got != want {
			t.Errorf("%d MiB in use: %d, want %d", live>>20, got, want)
		}
	}
}

// Where the collector is busy garbage may be as much as what is in use.
func TestGarbagePercentOfBusy(t *testing.T) {
	for live, want := range map[uint64]int{1 << 30: 100, 100 << 20: 100, 32 << 20: 200, 1 << 20: 400} {
		if got := garbagePercent(live, true); got != want {
			t.Errorf("%d bytes in use: %d %%, want %d", live, got, want)
		}
	}
}
