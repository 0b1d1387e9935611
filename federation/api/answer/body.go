package answer

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"fsub/federation/api/identity"
	"fsub/federation/api/refusal"
	"fsub/federation/share"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// buffers are for request bodies: most are a few KiB, and making each anew costs more than decoding it.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// What one user may take up while bodies come in: time, and memory by the number of large ones.
const (
	largeBody   = 1 << 20
	largeBodies = 128
	largeOfUser = 2
)

// bodyTime is how long a body of n bytes may take to come.
func bodyTime(n int64) time.Duration {
	if n < 0 { // it does not say
		n = maxBody
	}
	const slowest = 512 << 10 // bytes per second
	return 10*time.Second + time.Duration(n/slowest)*time.Second
}

// Bodies reads the bodies of requests.
type Bodies struct {
	large *share.Slots // those that are being read
}

func NewBodies() *Bodies { return &Bodies{large: share.New(largeBodies, largeOfUser)} }

// maxBody bounds a body: a script of sbatch.MaxScript with every byte escaped the usual way, and an environment.
const maxBody = 32 << 20

// Read reads all of the body of a request of c's into a buffer from the pool; put it back when nothing refers to it any more.
func (s *Bodies) Read(r *http.Request, c identity.Caller) (*bytes.Buffer, error) {
	if r.ContentLength > maxBody {
		return nil, bodyTooLong()
	}
	if r.ContentLength < 0 || r.ContentLength > largeBody {
		free, err := s.large.Take(r.Context(), c.UID)
		if err != nil {
			return nil, err
		}
		defer free()
	}
	b := buffers.Get().(*bytes.Buffer)
	b.Reset()
	n, err := b.ReadFrom(io.LimitReader(r.Body, maxBody+1))
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
