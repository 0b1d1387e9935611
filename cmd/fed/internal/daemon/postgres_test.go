package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"fsub/federation"
)

// TestWhenBack: a daemon that starts waits for a database that is away, for a minute, and for nothing else.
func TestWhenBack(t *testing.T) {
	away := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, tt := range []struct {
		name  string
		fails int // times that the database is away
		then  error
		tries int
		takes time.Duration
	}{
		{"it is there", 0, nil, 1, 0},
		{"it starts", 3, nil, 4, 1500 * time.Millisecond},
		{"it refuses the user", 1, federation.ErrUnavailable, 2, 500 * time.Millisecond},
		{"it stays away", 1000, nil, 122, startTime + time.Second/2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, tries := time.Now(), 0
				_, err := whenBack(t.Context(), slog.New(slog.DiscardHandler), func() (int, error) {
					if tries++; tries <= tt.fails {
						return 0, away
					}
					return 1, tt.then
				})
				want := tt.then
				if tt.fails == 1000 {
					want = away
				}
				if !errors.Is(err, want) || tries != tt.tries || time.Since(began) != tt.takes {
					t.Errorf("%v after %d tries in %v", err, tries, time.Since(began))
				}
			})
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := whenBack(ctx, slog.New(slog.DiscardHandler), func() (int, error) { return 0, away }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
