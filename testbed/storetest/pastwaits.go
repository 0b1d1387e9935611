package storetest

import (
	"time"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/predict"
)

// testPastWaits: the newest waits of each site come back in their order, and older ones are gone for good.
func testPastWaits(e *env) {
	s := e.open()
	var all []predict.PastWait
	for i := range 6 {
		site := federation.SiteName("busy")
		if i == 1 {
			site = "calm"
		}
		all = append(all, predict.PastWait{Site: site, Since: time.Unix(int64(1000+i), 0).UTC(), Seconds: 0.5 + float64(i), Traits: []uint32{uint32(i), 1 << 31, 7}})
	}
	e.must(s.Commit(ctx, &journal.Batch{Waits: all[:2]}))
	e.must(s.Commit(ctx, &journal.Batch{Waits: all[2:]}))
	e.must(s.Close())
	s = e.open()
	got, err := s.PastWaits(ctx, 9)
	e.must(err)
	e.same("waits", got, all)
	left := []predict.PastWait{all[1], all[4], all[5]}
	got, err = s.PastWaits(ctx, 2)
	e.must(err)
	e.same("the last two of each site", got, left)
	got, err = s.PastWaits(ctx, 9)
	e.must(err)
	e.same("waits that are left", got, left)
}
