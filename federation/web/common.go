package web

import (
	"context"
	"sync"
	"time"

	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

// How long what is the same for everybody is shown before it is asked for again: however many pages are open, that is all they cost.
const (
	seenLife   = 2 * time.Second
	pricesLife = time.Minute
)

// common are the lists that the API tells everybody in the same words.
type common struct {
	sites   kept[v1.Site]
	nodes   kept[v1.Node]
	planned kept[v1.Maintenance]
	offers  kept[v1.Offer]
}

// kept is one such list.
type kept[T any] struct {
	mu    sync.Mutex
	until time.Time
	all   []T
}

// list returns what n tells everybody for the same q, as it was no longer than life ago. Nobody may change it.
func list[T, Q any](ctx context.Context, s *server, k *kept[T], n *v1.Noun[T, Q], q Q, life time.Duration) ([]T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := s.Now(); now.Before(k.until) && !now.Add(life).Before(k.until) {
		return k.all, nil // unless the clock was set back
	}
	all, err := client.List(ctx, s.api, n, q)
	if err == nil {
		k.all, k.until = all, s.Now().Add(life)
	}
	return all, err
}
