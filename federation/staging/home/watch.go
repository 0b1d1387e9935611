package home

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"fsub/federation"
)

// stuckAfter is how long a helper may move no byte, unless the Spawner says otherwise: it is its user's process, who may stop it, and a file system
// that does not answer stops it as well.
const stuckAfter = 5 * time.Minute

// progress counts the bytes that go to and come from a helper.
type progress struct{ moved atomic.Int64 }

func (p *progress) reader(r io.Reader) io.Reader {
	return readFunc(func(b []byte) (int, error) {
		n, err := r.Read(b)
		p.moved.Add(int64(n) + 1)
		return n, err
	})
}

func (p *progress) writer(w io.Writer) io.Writer {
	return writeFunc(func(b []byte) (int, error) {
		n, err := w.Write(b)
		p.moved.Add(int64(n) + 1)
		return n, err
	})
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

type writeFunc func([]byte) (int, error)

func (f writeFunc) Write(b []byte) (int, error) { return f(b) }

// watch ends ctx with the reason once nothing has moved for limit.
func (p *progress) watch(ctx context.Context, limit time.Duration, user string) (watched context.Context, done func()) {
	watched, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(limit / 4)
		defer tick.Stop()
		last, since := p.moved.Load(), time.Now()
		for {
			select {
			case <-watched.Done():
				return
			case <-tick.C:
			}
			if now := p.moved.Load(); now != last {
				last, since = now, time.Now()
			} else if time.Since(since) >= limit {
				cancel(fmt.Errorf("%w: files of %s: the helper process moved nothing for %s and was ended; was it stopped, or does a file system not answer?",
					federation.ErrUnavailable, user, limit))
				return
			}
		}
	}()
	return watched, func() { cancel(nil) }
}
