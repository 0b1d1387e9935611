package answer

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// buffers are for request bodies: most are a few KiB, and making each anew costs more than decoding it.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// What one user may take up while bodies come in: time, and memory by the number of large ones.
const (
	largeBody   = 256 << 10
	largeBodies = 8
	largeOfUser = 2
)

// bodyTime is how long the body of a request may take to come.
func bodyTime(r *http.Request) time.Duration {
	slowest := int64(512 << 10) // bytes per second
	if r.TLS == nil {
		slowest = 4 << 20
	}
	return 10*time.Second + time.Duration(max(r.ContentLength, 0)/slowest)*time.Second
}

// maxBody bounds a body: a script of sbatch.MaxScript with every byte escaped the usual way, and an environment.
const maxBody = 32 << 20

// mostUntold bounds a body whose length is not told before it comes.
const mostUntold = 1 << 20

// roomAtFirst bounds the memory for a body of which nothing has come yet, whatever length is told: more is taken as it comes.
const roomAtFirst = 1 << 20

// ReadBody reads all of the body of a request into a buffer from the pool; put it back when nothing refers to it any more.
func ReadBody(r *http.Request) (*bytes.Buffer, error) {
	most := int64(maxBody)
	if r.ContentLength < 0 {
		most = mostUntold
	}
	if r.ContentLength > maxBody {
		return nil, bodyTooLong()
	}
	b := buffers.Get().(*bytes.Buffer)
	b.Reset()
	if r.ContentLength > 0 {
		b.Grow(int(min(r.ContentLength, roomAtFirst)) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(r.Body, most+1))
	switch {
	case err != nil:
		return nil, BadBody(err.Error())
	case n > most:
		return nil, bodyTooLong()
	}
	return b, nil
}

// withLongQuery is h with the query that came as the body of a GET added to that of the URL.
func withLongQuery(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
		if r.Method != http.MethodGet || r.ContentLength == 0 || r.Header.Get("Content-Type") != v1.QueryType {
			return h(w, r, c)
		}
		if r.ContentLength > mostUntold {
			return bodyTooLong()
		}
		b, err := ReadBody(r)
		if err != nil {
			return err
		}
		r.URL.RawQuery = strings.TrimPrefix(r.URL.RawQuery+"&"+b.String(), "&")
		PutBody(b)
		return h(w, r, c)
	}
}

func bodyTooLong() error {
	return Invalid(wire.ErrTooLong, fmt.Sprintf("a request has at most %d bytes, %d if it does not say how many, a script at most %d", maxBody, mostUntold, sbatch.MaxScript))
}

// PutBody gives a buffer back to the pool, unless it has grown so much that keeping it would be a waste.
func PutBody(b *bytes.Buffer) {
	if b.Cap() <= 1<<20 {
		buffers.Put(b)
	}
}
