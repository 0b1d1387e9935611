package answer

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"fsub/federation/api/refusal"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// buffers are for request bodies: most are a few KiB, and making each anew costs more than decoding it.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// What one user may take up while bodies come in: time, and memory by the number of large ones.
const (
	bodyTime    = 30 * time.Second
	largeBody   = 1 << 20
	largeBodies = 16
)

// Bodies reads the bodies of requests.
type Bodies struct {
	large chan struct{} // bounds the large ones that are being read
}

func NewBodies() *Bodies { return &Bodies{large: make(chan struct{}, largeBodies)} }

// maxBody bounds a body: a script of sbatch.MaxScript with every byte escaped the usual way, and an environment.
const maxBody = 32 << 20

// Read reads all of a request's body into a buffer from the pool; put it back when nothing refers to it any more.
func (s *Bodies) Read(w http.ResponseWriter, r *http.Request) (*bytes.Buffer, error) {
	if r.ContentLength > maxBody {
		return nil, bodyTooLong()
	}
	if r.ContentLength < 0 || r.ContentLength > largeBody {
		select {
		case s.large <- struct{}{}:
			defer func() { <-s.large }()
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	// A caller that stops in the middle does not keep what it was given. Not every ResponseWriter can do it: tests'.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime))
	b := buffers.Get().(*bytes.Buffer)
	b.Reset()
	n, err := b.ReadFrom(io.LimitReader(r.Body, maxBody+1))
	_ = rc.SetReadDeadline(time.Time{})
	switch {
	case err != nil:
		return nil, refusal.BadBody(err.Error())
	case n > maxBody:
		return nil, bodyTooLong()
	}
	return b, nil
}

func bodyTooLong() error {
	return refusal.Invalid(wire.ErrTooLong, fmt.Sprintf("a request has at most %d bytes, a script at most %d", maxBody, sbatch.MaxScript))
}

// PutBody gives a buffer back to the pool, unless it has grown so much that keeping it would be a waste.
func PutBody(b *bytes.Buffer) {
	if b.Cap() <= 1<<20 {
		buffers.Put(b)
	}
}
