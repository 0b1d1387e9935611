package web

import (
	"fmt"
	"io"
	"net/http"
	"sync"
)

// within sends requests to a handler of this process, as if they had come over a connection. The context of a request says who calls.
type within struct{ api http.Handler }

// RoundTrip implements http.RoundTripper.
func (t within) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "page"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	body, out := io.Pipe()
	w := &reply{header: http.Header{}, began: make(chan struct{}), out: out}
	go func() {
		defer func() {
			if v := recover(); v != nil { // a handler breaks the connection so
				out.CloseWithError(fmt.Errorf("%w: the answer broke off", io.ErrUnexpectedEOF))
				w.begin(0)
				return
			}
			w.WriteHeader(http.StatusOK)
			out.Close()
		}()
		t.api.ServeHTTP(w, in)
	}()
	select {
	case <-w.began:
	case <-r.Context().Done():
		body.Close()
		return nil, r.Context().Err()
	}
	if w.status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: body, ContentLength: -1, Request: r}, nil
}

// reply is the http.ResponseWriter of a request within the process.
type reply struct {
	header http.Header
	out    *io.PipeWriter

	once   sync.Once
	began  chan struct{} // closed when the next two are set
	status int
	sent   http.Header
}

func (w *reply) begin(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.began)
	})
}

// Header implements http.ResponseWriter.
func (w *reply) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *reply) WriteHeader(status int) { w.begin(status) }

// Write implements http.ResponseWriter.
func (w *reply) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.out.Write(p)
}

// Flush implements http.Flusher: what is written is read at once.
func (w *reply) Flush() { w.begin(http.StatusOK) }
