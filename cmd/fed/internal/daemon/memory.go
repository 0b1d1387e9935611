package daemon

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Go lets garbage grow as large as what is in use. With a million jobs that is a gigabyte which a daemon at rest fills slowly and does not need; so it may be a third
// of what is in use, or garbageFloor where that is more. Measured with a million jobs: a collection every minute and a half, where there would be one every two.
// Where the collector still takes more than garbageShare of the processors, as when many ask for long lists, it may be as large as what is in use. What that leaves behind is given
// back to the system once the daemon has been calm for calmFor of garbageEvery.
const (
	garbageShare = 0.05
	garbagePart  = 3
	garbageFloor = 64 << 20
	garbageEvery = 10 * time.Second // how often that is worked out
	calmFor      = 2

	// While the store is read, the first plan made and the first listing asked for, the heap mostly grows, and to look for garbage is mostly in vain.
	garbageAtFirst = 200
)

// boundGarbage keeps the bound until ctx is done, but for the first seconds. What they leave behind is given back to the system.
func boundGarbage(ctx context.Context) error {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/total:cpu-seconds"}}
	var collected, all float64
	again := time.NewTicker(garbageEvery)
	defer again.Stop()
	calm := calmFor
	for first := true; ; first = false {
		select {
		case <-again.C:
			metrics.Read(sample)
			gc, total := sample[1].Value.Float64(), sample[2].Value.Float64()
			busy := gc-collected > garbageShare*(total-all)
			collected, all = gc, total
			debug.SetGCPercent(garbagePercent(sample[0].Value.Uint64(), busy))
			if calm++; busy {
				calm = 0
			}
			if first || calm == calmFor {
				debug.FreeOSMemory()
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// garbagePercent is the bound for live bytes in use, as the runtime wants it. busy: the collector has much to do.
func garbagePercent(live uint64, busy bool) int {
	room := max(live/garbagePart, garbageFloor)
	if busy {
		room = max(live, garbageFloor)
	}
	return int(min(100*room/max(live, 1), 400))
}
