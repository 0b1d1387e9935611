package records

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fsub/federation"
)

// thing is an entity; what it is called is its record.
type thing struct {
	id, state string
	said      *[]string
}

func (t *thing) Written() { *t.said = append(*t.said, t.id) }

func (t *thing) Record() (PoolRecord, any) {
	return PoolRecord{ID: t.id}, t.state
}

// paper is a store that can fail.
type paper struct {
	fail    bool
	commits []string
}

func (p *paper) CommitPool(_ context.Context, _ federation.SiteName, put []PoolRecord) error {
	if p.fail {
		return errors.New("disk full")
	}
	var text []string
	for _, r := range put {
		text = append(text, r.ID+"="+string(r.Data))
	}
	p.commits = append(p.commits, strings.Join(text, " "))
	return nil
}

// TestLog: what is put together is written together, as it was when the batch was taken; what could not be written comes with the next batch, before what
// follows it; and who waits for the first hears of the failure once.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		store, said := &paper{fail: true}, []string{}
		l := New(Config{Lock: &mu, Site: "sky", Store: store, Logger: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go l.Run(ctx)
		a, b := &thing{id: "a", state: "1", said: &said}, &thing{id: "b", state: "1", said: &said}
		mu.Lock()
		l.Put(a)
		l.Put(b)
		l.Put(a)
		l.After(func() { said = append(said, "after") })
		a.state = "2"
		first := l.Flush()
		mu.Unlock()
		if err := l.Durable(ctx, first); !errors.Is(err, federation.ErrUnavailable) || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("the first wait: %v", err)
		}
		mu.Lock()
		store.fail = false
		b.state = "3"
		l.Put(b)
		second := l.Flush()
		mu.Unlock()
		if err := l.Durable(ctx, second); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if got := strings.Join(store.commits, "; "); got != `a="2" b="3"` {
			t.Errorf("written: %s", got)
		}
		if got := strings.Join(said, " "); got != "a b after" {
			t.Errorf("said: %s", got)
		}
		cancel()
		synctest.Wait()
		mu.Lock()
		l.Put(a)
		third := l.Flush()
		mu.Unlock()
		if err := l.Durable(t.Context(), third); !errors.Is(err, federation.ErrUnavailable) {
			t.Errorf("after the end: %v", err)
		}
	})
}
