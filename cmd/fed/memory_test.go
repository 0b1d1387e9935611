package main

import "testing"

func TestGarbagePercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 10 << 20: 400, 64 << 20: 100, 128 << 20: 50, 256 << 20: 33, 1 << 30: 33} {
		if got := garbagePercent(live); got != want {
			t.Errorf("%d MiB in use: %d, want %d", live>>20, got, want)
		}
	}
}
