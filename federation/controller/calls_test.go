package controller

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"fsub/federation"
)

// A driver that panics has not answered: whoever waits for its call hears that, and other calls go on.
func TestPanicInADriver(t *testing.T) {
	c := newCalls(false, time.Minute, slog.New(slog.DiscardHandler), newMetrics(nil), nil, ownedBy(0))
	s := &site{slots: make(chan struct{}, 1)}
	c.decided = append(c.decided, call{site: s, kind: submitted{job: 5}, run: func(context.Context) any { panic("planted") }})
	c.add(s, polled{}, func(context.Context) any { return polled{} })
	c.make(t.Context())
	for range 2 {
		switch v := (<-c.results).value.(type) {
		case submitted:
			if v.job != 5 || !errors.Is(v.err, errPanic) || !errors.Is(v.err, federation.ErrUnavailable) {
				t.Errorf("%+v", v)
			}
		case polled:
		}
	}
	if len(s.slots) != 0 {
		t.Error("its slot is taken for ever")
	}
	c.abandon()
}
