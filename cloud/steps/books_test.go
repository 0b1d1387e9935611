package steps

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fsub/cloud/layout"
	"fsub/cloud/steps/wire"
)

// TestTurns: steps that wait have their turns in the order in which they came, and who cannot go yet holds up nobody.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTable(launch("a", 1, 4))
		var mu sync.Mutex
		ended := map[string]error{}
		steps := map[string]*step{}
		start := func(ctx context.Context, name string, tasks int, wait time.Duration) {
			s := &step{launch: b.launch, req: wire.Request{Wait: wait, Parts: []wire.Part{{Ask: layout.Step{Tasks: tasks, Exact: true, NoGPUs: true}}}}}
			steps[name] = s
			go func() {
				err := b.create(ctx, s)
				mu.Lock()
				defer mu.Unlock()
				ended[name] = err
			}()
			synctest.Wait()
		}
		end := func(name string) {
			b.end(steps[name])
			synctest.Wait()
		}
		expect := func(names ...string) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			for _, n := range names {
				if err, ok := ended[n]; !ok || err != nil {
					t.Fatalf("%s: %v, %v", n, ok, err)
				}
			}
			if len(ended) != len(names) {
				t.Fatalf("more of them wait no longer: %v", ended)
			}
			ended = map[string]error{}
		}
		fails := func(name string, want error) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if !errors.Is(ended[name], want) {
				t.Fatalf("%s: %v", name, ended)
			}
			delete(ended, name)
		}
		ctx, cancel := context.WithCancel(t.Context())
		start(t.Context(), "a", 3, 0)
		start(t.Context(), "all", 4, 0)
		start(t.Context(), "two", 2, 0)
		expect("a")
		start(t.Context(), "one", 1, 0) // fits beside
		expect("one")
		start(ctx, "gone", 1, 0)
		start(t.Context(), "soon", 1, time.Second)
		end("a") // all cannot go, the next can
		expect("two", "gone")
		end("gone")
		expect("soon")
		start(t.Context(), "late", 2, time.Second)
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		expect()
		time.Sleep(time.Millisecond)
		synctest.Wait()
		fails("late", layout.ErrBusy)
		start(ctx, "cancelled", 4, 0)
		cancel()
		synctest.Wait()
		fails("cancelled", errClosed)
		start(t.Context(), "last", 4, 0)
		end("two")
		end("soon")
		expect()
		end("one")
		expect("all")
		b.close()
		synctest.Wait()
		fails("last", errClosed)
		expect()
	})
}
