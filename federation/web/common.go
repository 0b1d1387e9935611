package web

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"fsub/federation/api/client"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
)

// How long what many ask for is shown before it is asked for again: however many pages are open, that is all they cost.
const (
	seenLife   = 2 * time.Second // everybody's lists, and what open pages ask again and again
	pricesLife = time.Minute
	spentLife  = time.Minute      // what somebody has spent this month
	pastLife   = time.Hour        // and last month
	leadsLife  = 10 * time.Second // which accounts somebody coordinates
)

// What takes long to make is shown for as many times as long, so that no page that is open takes more than a small part of a processor; but not for longer than that.
const (
	costLife = 20
	mostLife = 15 * time.Second
)

// common are the lists that the API tells everybody in the same words.
type common struct {
	sites   kept[[]v1.Site]
	nodes   kept[[]v1.Node]
	planned kept[[]v1.Maintenance]
	offers  kept[[]v1.Offer]
}

// kept is a value that is made again when somebody asks for it and it is too old. Those who ask for one that is not take no lock. Nobody may change it.
type kept[T any] struct {
	last   atomic.Pointer[made[T]]
	making sync.Mutex
}

type made[T any] struct {
	value T
	until time.Time
	life  time.Duration
}

// fresh is the value unless it is too old, or the clock was set back.
func (k *kept[T]) fresh(now time.Time) (*made[T], bool) {
	m := k.last.Load()
	return m, m != nil && now.Before(m.until) && !now.Add(m.life).Before(m.until)
}

// get returns the value as it was no longer than life ago, or longer if it takes long to make. Of those who find it too old one makes it, and the others wait.
func (k *kept[T]) get(now func() time.Time, life time.Duration, make func() (T, error)) (T, error) {
	if m, ok := k.fresh(now()); ok {
		return m.value, nil
	}
	k.making.Lock()
	defer k.making.Unlock()
	if m, ok := k.fresh(now()); ok {
		return m.value, nil
	}
	began := time.Now()
	value, err := make()
	if err != nil {
		return value, err
	}
	life = max(life, min(costLife*time.Since(began), mostLife))
	k.last.Store(&made[T]{value, now().Add(life), life})
	return value, nil
}

// list returns what n tells everybody for the same q.
func list[T, Q any](ctx context.Context, s *server, k *kept[[]T], n *v1.Noun[T, Q], q Q, life time.Duration) ([]T, error) {
	return k.get(s.Now, life, func() ([]T, error) { return client.List(ctx, s.api, n, q) })
}

// viewer is who asks for something: what one is told may differ from what others are.
type viewer struct {
	uid    uint32
	raised bool
	what   string
}

func viewerOf(s *server, r *http.Request, what string) viewer {
	uid, _ := identity.Browser(r.Context())
	return viewer{uid, s.raised(r), what}
}

// mostShelves of one kind are kept; of more, all are forgotten.
const mostShelves = 1000

// shelf has kept values by who asks for what.
type shelf[T any] struct {
	mu  sync.Mutex
	all map[viewer]*kept[T]
}

func (s *shelf[T]) of(v viewer) *kept[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.all[v]
	if k == nil {
		if s.all == nil || len(s.all) >= mostShelves {
			s.all = map[viewer]*kept[T]{}
		}
		k = new(kept[T])
		s.all[v] = k
	}
	return k
}

// known is the kept value of v; nil: nobody has asked for it.
func (s *shelf[T]) known(v viewer) *kept[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[v]
}
