package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
)

// serve answers at a unix socket, and returns a client of it.
func serve(t *testing.T, h http.HandlerFunc) *client.Client {
	socket := filepath.Join(t.TempDir(), "fed.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	c := client.New(socket)
	t.Cleanup(c.Close)
	return c
}

// A refusal has the kind that callers act on, and the daemon's words.
func TestRefusals(t *testing.T) {
	for status, kind := range map[int]error{400: federation.ErrInvalid, 422: federation.ErrInvalid, 401: federation.ErrDenied, 403: federation.ErrDenied,
		404: federation.ErrNotFound, 409: federation.ErrConflict, 410: federation.ErrTrimmed, 500: federation.ErrUnavailable, 503: federation.ErrUnavailable} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			json.NewEncoder(w).Encode(v1.ErrorResponse{Error: v1.Error{Number: 2017, Text: "Invalid job id specified", Detail: "30000001"}})
		})
		_, err := c.Job(t.Context(), 30000001)
		var refused *federation.SlurmError
		if !errors.Is(err, kind) || !errors.As(err, &refused) || refused.Number != 2017 || refused.Detail != "30000001" {
			t.Errorf("status %d: %v", status, err)
		}
		c = serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", status) }) // not our daemon
		if _, err := c.Sites(t.Context()); !errors.Is(err, kind) || !strings.Contains(err.Error(), fmt.Sprint("status ", status)) {
			t.Errorf("status %d without a body of ours: %v", status, err)
		}
	}
}

// A request that cannot have reached the daemon is told from one of which nobody knows.
func TestNoAnswer(t *testing.T) {
	c := client.New(filepath.Join(t.TempDir(), "nobody"))
	_, err := c.Submit(t.Context(), v1.SubmitRequest{})
	if !errors.Is(err, federation.ErrNotSent) || !strings.Contains(err.Error(), "is it running (fed serve)? no such file or directory") {
		t.Errorf("nobody listens: %v", err)
	}
	c = serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.ReadAll(r.Body)
		conn, _, _ := w.(http.Hijacker).Hijack()
		conn.Close()
	})
	if _, err = c.Submit(t.Context(), v1.SubmitRequest{}); !errors.Is(err, federation.ErrUnavailable) || errors.Is(err, federation.ErrNotSent) {
		t.Errorf("the connection ends: %v", err)
	}
	c = serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `[{"name":`) })
	if _, err = c.Sites(t.Context()); err == nil || !strings.Contains(err.Error(), "answer of GET /fed/v1/sites") {
		t.Errorf("half an answer: %v", err)
	}
}

// A query goes into the path; where it is too long for a header, into the body of the GET.
func TestQueries(t *testing.T) {
	var path string
	var query url.Values
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.RequestURI()
		r.Method = http.MethodPost // of a GET net/http reads no form
		r.ParseForm()
		query = r.Form
		fmt.Fprint(w, `[{"site":"alpha","name":"n1"}]`)
	})
	all, err := c.Nodes(t.Context(), []string{"alpha/*"}, []string{"gpu=h100,a100"})
	if err != nil || len(all) != 1 || all[0].Site != "alpha" || path != "/fed/v1/nodes?nodes=alpha%2F%2A&where=gpu%3Dh100%2Ca100" {
		t.Errorf("%v, %+v: %s", err, all, path)
	}
	names := slices.Repeat([]string{"alpha/a-node-with-a-long-name"}, 2000)
	if _, err = c.Nodes(t.Context(), names, nil); err != nil || path != "/fed/v1/nodes" || !slices.Equal(query["nodes"], names) {
		t.Errorf("%v: %s with %d names", err, path, len(query["nodes"]))
	}
}

// Wait asks again while the job runs.
func TestWait(t *testing.T) {
	asked := 0
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked < 3 {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		json.NewEncoder(w).Encode(v1.JobRecord{Job: v1.Job{ID: 7, State: federation.Completed}})
	})
	if r, err := c.Wait(t.Context(), 7); err != nil || r.Job.State != federation.Completed || asked != 3 {
		t.Errorf("%v after %d questions: %+v", err, asked, r)
	}
}

// Events end with a mark to go on from. An answer without it broke off, and what came before is to be asked for again.
func TestEvents(t *testing.T) {
	text, asked := "", ""
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RawQuery
		fmt.Fprint(w, text)
	})
	read := func(from client.EventsFrom) (journal.Mark, []string, error) {
		var names []string
		mark, err := c.Events(t.Context(), from, func(e *v1.Event) error { names = append(names, e.Event); return nil })
		return mark, names, err
	}
	text = "{\"event\":\"job\"}\n{\"mark\":12}\n"
	if mark, names, err := read(client.EventsFrom{Since: time.Unix(1000, 0)}); err != nil || mark != 12 || len(names) != 1 || asked != "since=1000" {
		t.Errorf("%v: mark %d, %v, asked %s", err, mark, names, asked)
	}
	text = "{\"event\":\"job\"}\n{\"mark\":13}\n{\"event\":\"job\"}\n"
	if mark, names, err := read(client.EventsFrom{After: 12}); !errors.Is(err, federation.ErrUnavailable) || mark != 13 || len(names) != 2 || asked != "after=12" {
		t.Errorf("it breaks off: %v: mark %d, %v, asked %s", err, mark, names, asked)
	}
}

// A long list that breaks off is an error, whatever came before.
func TestBookedSums(t *testing.T) {
	text := `[{"fate":"used","runs":1},{"fate":"lost","runs":2}]`
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
	if all, err := c.BookedSums(t.Context(), nil); err != nil || len(all) != 2 || all[1].Runs != 2 {
		t.Errorf("%v: %+v", err, all)
	}
	text = strings.TrimSuffix(text, "]")
	if _, err := c.BookedSums(t.Context(), nil); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("it breaks off: %v", err)
	}
}

// A call that came too early is made again, with what says who calls then and with its body, and no other is.
func TestTooEarly(t *testing.T) {
	var bodies, callers []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies, callers = append(bodies, string(body)), append(callers, r.Header.Get("Caller"))
		if len(bodies) < 3 {
			w.WriteHeader(http.StatusTooEarly)
		}
	}))
	defer srv.Close()
	asked := 0
	c := client.Dialing("there", func(context.Context) (net.Conn, error) { return net.Dial("tcp", srv.Listener.Addr().String()) }, func(h http.Header) error {
		asked++
		h.Set("Caller", fmt.Sprint(asked))
		return nil
	})
	defer c.Close()
	if err := c.Do(t.Context(), "POST", "/", 5, nil); err != nil || !slices.Equal(bodies, []string{"5", "5", "5"}) || !slices.Equal(callers, []string{"1", "2", "3"}) {
		t.Errorf("%v: %q of %q", err, bodies, callers)
	}
}
