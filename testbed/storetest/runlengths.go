package storetest

import (
	"time"

	"fsub/federation/journal"
	"fsub/federation/predict"
)

// testRunLengths: the newest lengths of runs come back in their order, and older ones are gone for good.
func testRunLengths(e *env) {
	s := e.open()
	var all []predict.RunLength
	for i := range 5 {
		all = append(all, predict.RunLength{Start: time.Unix(int64(1000+i), 0).UTC(), Seconds: 0.5 + float64(i), Ending: predict.RunEnding(i % 3), Groups: []uint64{uint64(i), 1 << 63, 7}})
	}
	e.must(s.Commit(ctx, &journal.Batch{Lengths: all[:2]}))
	e.must(s.Commit(ctx, &journal.Batch{Lengths: all[2:]}))
	e.must(s.Close())
	s = e.open()
	for _, limit := range []int{9, 3} {
		got, err := s.RunLengths(ctx, limit)
		e.must(err)
		e.same("lengths", got, all[max(0, len(all)-limit):])
	}
	got, err := s.RunLengths(ctx, 9)
	e.must(err)
	e.same("lengths that are left", got, all[2:])
}
