package share

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestWhoSeldomComesIsNext: however many ask without a pause, who comes seldom waits for nobody; and who has worked for long leaves the others room.
func TestWhoSeldomComesIsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(2, 2)
		ctx, cancel := context.WithCancel(t.Context())
		done := make([]int, 33)
		for uid := range uint32(32) {
			for range 8 {
				go func() {
					for ctx.Err() == nil {
						if n, err := turns.Take(ctx, 1+uid); err == nil {
							time.Sleep(100 * time.Millisecond)
							n.Done()
							done[1+uid]++
						}
					}
				}()
			}
		}
		time.Sleep(20 * time.Second) // all have worked
		for range 30 {
			began := time.Now()
			n, err := turns.Take(ctx, 0)
			if err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(began); waited > 0 {
				t.Errorf("he waited for %s", waited)
			}
			time.Sleep(time.Millisecond)
			n.Done()
			time.Sleep(time.Second)
		}
		synctest.Wait()
		for uid, n := range done[1:] {
			if n < 20 || n > 45 { // two of them work at a time, for 50 s: 1000 turns, and few of the spare ones
				t.Errorf("user %d had %d turns", uid, n)
			}
		}
		cancel()
		time.Sleep(time.Second)
		synctest.Wait()
		if turns.works != 0 {
			t.Errorf("%d work after the end", turns.works)
		}
	})
}

// TestIdle: a turn that is given back is another's meanwhile.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1, 0)
		first, err := turns.Take(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := turns.Take(short, 2); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("two have the only one: %v", err)
		}
		again := Idle(With(t.Context(), first))
		second, err := turns.Take(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		went := make(chan bool)
		go func() {
			again()
			close(went)
		}()
		synctest.Wait()
		select {
		case <-went:
			t.Fatal("he goes on beside the other")
		default:
		}
		second.Done()
		<-went
		first.Done()
		first.Done()
		if turns.works != 0 {
			t.Errorf("%d work", turns.works)
		}
		Idle(t.Context())() // nobody's
	})
}
