package simsite

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Handler serves the site's slurmrestd. A fault that breaks the connection closes it without an answer; a connection
// cannot be refused from here, so Refuse looks like Drop (use [Site.Transport] for the real thing).
func (s *Site) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, err := readRequest(r)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		resp, err := s.exchange(r.Context(), q)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", resp.contentType())
		w.Header().Set("Content-Length", strconv.Itoa(len(resp.body)))
		w.WriteHeader(resp.status)
		w.Write(resp.body)
	})
}

func (r *response) contentType() string {
	if r.text {
		return "text/plain"
	}
	return "application/json"
}

// exchange takes one request through the faults and answers it.
func (s *Site) exchange(ctx context.Context, q *request) (response, error) {
	var resp response
	r, _, _ := s.find(q.method, q.path)
	fault, err := s.through(ctx, r.op, func() { resp = s.respond(q) })
	if err != nil {
		return response{}, err
	}
	if fault != "" {
		resp = s.spoil(fault, q, resp)
	}
	return resp, nil
}

// Transport is an http.RoundTripper that reaches the site without a socket, whatever host the URL names.
func (s *Site) Transport() http.RoundTripper { return transport{s} }

type transport struct{ s *Site }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	q, err := readRequest(r)
	if r.Body != nil {
		r.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	resp, err := t.s.exchange(r.Context(), q)
	switch {
	case errors.Is(err, errRefused):
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	case errors.Is(err, errReset):
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	case err != nil:
		return nil, err
	}
	return &http.Response{
		Status: strconv.Itoa(resp.status) + " " + http.StatusText(resp.status), StatusCode: resp.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header:        http.Header{"Content-Type": {resp.contentType()}},
		ContentLength: int64(len(resp.body)), Body: io.NopCloser(bytes.NewReader(resp.body)),
	}, nil
}

// Serve answers on a listener (TCP or a unix socket) until ctx is done, then closes it and all connections.
func (s *Site) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 20, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
