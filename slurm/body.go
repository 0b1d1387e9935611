package slurm

import (
	"context"
	"io"
	"net/http"
	"sync"

	"fsub/federation/driver"
)

// wholeBody reads each response to its end before it hands it over, so that a connection which breaks meanwhile has failed like one that broke before; and
// into memory that was used for another: at a hundred sites, bodies are most of what a daemon at rest would allocate.
type wholeBody struct{ next http.RoundTripper }

func (t wholeBody) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := readBody(resp.Body, longest(r.Context()))
	if err != nil {
		return nil, err
	}
	resp.Body = &body{text: text}
	return resp, nil
}

// body is a response that has been read.
type body struct {
	text []byte
	at   int
}

func (b *body) Read(p []byte) (int, error) {
	n := copy(p, b.text[b.at:])
	if b.at += n; n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (b *body) Close() error { return nil }

var spare sync.Pool // of *[]byte

// done gives back the memory of a body. Nobody looks at it any more.
func done(text []byte) { spare.Put(&text) }

// mostKey is the context key of how many bytes are read of an answer.
type mostKey struct{}

func longest(ctx context.Context) int {
	if n, ok := ctx.Value(mostKey{}).(int); ok {
		return n
	}
	return maxAnswer
}

func readBody(r io.Reader, most int) ([]byte, error) {
	var text []byte
	if old, ok := spare.Get().(*[]byte); ok {
		text = (*old)[:0]
	}
	for {
		if len(text) == cap(text) {
			text = append(text, make([]byte, max(4096, cap(text)))...)[:len(text)]
		}
		n, err := r.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case len(text) > most:
			return nil, driver.ErrTooLong
		case err == io.EOF:
			return text, nil
		case err != nil:
			return nil, err
		}
	}
}
