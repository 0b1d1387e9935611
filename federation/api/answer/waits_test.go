package answer

import (
	"sync"
	"testing"

	"fsub/federation"
)

// TestWaits: so many calls of a user wait at a time and no more; others do not count, and who has left does not either.
func TestWaits(t *testing.T) {
	var w waits
	for range 3 {
		var wg sync.WaitGroup
		entered := make(chan bool, 3*maxWithin)
		for range 3 * maxWithin {
			wg.Go(func() { entered <- w.enter(1) })
		}
		wg.Wait()
		close(entered)
		n := 0
		for ok := range entered {
			if ok {
				n++
			}
		}
		if n != maxWithin || !w.enter(2) {
			t.Fatalf("%d of user 1 wait, %v", n, w.n)
		}
		w.leave(2)
		for range n {
			w.leave(1)
		}
	}
	if len(w.n) != 0 {
		t.Errorf("left over: %v", w.n)
	}
}

// TestPatience: a call from what may be left of an earlier run waits for less.
func TestPatience(t *testing.T) {
	if first, again := patience(&federation.Job{}), patience(&federation.Job{Restarts: 1}); first != withinWait || again != againWait || again >= first {
		t.Errorf("waits %s, %s after a restart", first, again)
	}
}
