package steps

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fsub/cloud/layout"
	"fsub/cloud/steps/wire"
)

// TestLimitWaits: a step's own time limit does not run while its run is suspended, however often, and also if that was so when the step began.
func TestLimitWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := launch("a", 1, 4)
		r := &run{Run: Run{Launch: l}, table: newTable(l)}
		service := &Service{runs: map[string]*run{l.Run: r}}
		var mu sync.Mutex
		over := map[string]time.Duration{} // after how long each one's limit was over
		began := time.Now()
		begin := func(name string, limit time.Duration) (end func()) {
			s := &step{launch: l, req: wire.Request{Timeout: limit, Parts: []wire.Part{{Ask: layout.Step{Tasks: 1, Exact: true, NoGPUs: true}}}}}
			if err := r.table.create(context.Background(), s); err != nil {
				t.Fatal(err)
			}
			disarm := r.table.arm(s, func() {
				mu.Lock()
				defer mu.Unlock()
				over[name] = time.Since(began)
			})
			return func() { r.table.end(s); disarm() }
		}
		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		begin("a minute", time.Minute)
		begin("none", 0)
		endSoon := begin("ends", 10*time.Minute)
		begin("over", 10*time.Second)
		service.Resume(l.Run) // which is not suspended
		pass(40 * time.Second)
		service.Pause(l.Run)
		service.Pause(l.Run)
		pass(time.Hour)
		endSoon()
		begin("meanwhile", time.Minute)
		pass(time.Hour)
		service.Resume(l.Run)
		pass(10 * time.Second)
		service.Pause(l.Run)
		pass(time.Hour)
		service.Resume(l.Run)
		service.Resume(l.Run)
		pass(24 * time.Hour)
		mu.Lock()
		defer mu.Unlock()
		want := map[string]time.Duration{"over": 10 * time.Second, "a minute": 3*time.Hour + time.Minute, "meanwhile": 3*time.Hour + 100*time.Second}
		for name, d := range want {
			if over[name] != d {
				t.Errorf("%s: its limit was over after %s, not %s", name, over[name], d)
			}
		}
		if len(over) != len(want) {
			t.Errorf("limits were over: %v", over)
		}
		service.Pause("another")
	})
}
