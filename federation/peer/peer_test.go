package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fsub/federation/api/identity"
	"fsub/federation/api/submission"
)

var secret = []byte(strings.Repeat("s", MinSecret))

// pair is a daemon that stands by, with its socket, and one that leads.
type pair struct {
	keys    *Keys
	forward *Forwarder
	client  *http.Client
	leader  net.Listener
}

// leads serves h as a daemon that leads would.
func leads(t *testing.T, k *Keys, h http.Handler) (l net.Listener, srv *http.Server) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv = &http.Server{Handler: h, ConnContext: identity.ConnContext, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)}
	go srv.Serve(k.Listen(l))
	t.Cleanup(func() { srv.Close() })
	return l, srv
}

func newPair(t *testing.T, leaderSecret []byte, h http.Handler) *pair {
	t.Helper()
	k, err := NewKeys(secret)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := NewKeys(leaderSecret)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{keys: k, forward: NewForwarder(k, slog.New(slog.DiscardHandler))}
	p.leader, _ = leads(t, theirs, h)
	p.forward.Follow(p.leader.Addr().String())
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() { defer close(served); Serve(ctx, l, p.forward) }()
	p.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	t.Cleanup(func() { p.client.CloseIdleConnections(); stop(); <-served })
	return p
}

// Whoever asks a daemon that stands by is who he is at the one that leads, whatever the request says.
func TestCallerIsKept(t *testing.T) {
	who := identity.New(identity.Config{Users: users{}, Self: 1, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	p := newPair(t, secret, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := who.Caller(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		body, _ := io.ReadAll(r.Body)
		io.WriteString(w, c.Name+" "+c.From+" "+string(body))
	}))
	req, _ := http.NewRequest("POST", "http://fsub/x", strings.NewReader("hello"))
	req.Header.Set(identity.HeaderCaller, "4711:4711")
	resp, err := p.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, _ := io.ReadAll(resp.Body); string(got) != "me socket hello" {
		t.Errorf("the leader takes the caller for %q", got)
	}
	// On its own, a request that names a caller names nobody.
	plain, _ := http.NewRequest("GET", "/x", nil)
	plain.Header.Set(identity.HeaderCaller, "0:0")
	if c, err := who.Caller(plain); err == nil {
		t.Errorf("a request by itself made its sender %s", c.Name)
	}
}

type users struct{}

func (users) UserName(uint32) (string, error)             { return "me", nil }
func (users) UserIDs(string) (uid, gid uint32, err error) { return 0, 0, errors.New("no such user") }
func (users) GroupName(uint32) (string, error)            { return "us", nil }

// A daemon with another secret is told nothing, and tells nothing.
func TestStrangers(t *testing.T) {
	asked := false
	p := newPair(t, []byte(strings.Repeat("x", MinSecret)), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	req, _ := http.NewRequestWithContext(ctx, "POST", "http://fsub/x", strings.NewReader("hello"))
	resp, err := p.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if said, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(said), "secret_file") {
		t.Errorf("%s %s", resp.Status, said)
	}
	if asked {
		t.Error("a stranger was asked")
	}
	if _, err := NewKeys([]byte("short")); err == nil {
		t.Error("a short secret was taken")
	}
}

// A request waits for a daemon that leads, and goes to the next one if it may be sent again: else its sender learns that it may have been carried out.
func TestTakeOver(t *testing.T) {
	for _, tt := range []struct {
		name, method, key string
		status            int
		carriedOut        int32
	}{
		{"reads", "GET", "", 200, 2},
		{"keyed", "POST", "k1", 200, 2},
		{"not keyed", "POST", "", 503, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var carriedOut atomic.Int32
			arrived := make(chan struct{}, 1)
			p := newPair(t, secret, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				carriedOut.Add(1)
				arrived <- struct{}{}
				panic(http.ErrAbortHandler) // as a daemon that dies
			}))
			var wg sync.WaitGroup
			wg.Go(func() {
				<-arrived
				p.leader.Close()
				time.Sleep(300 * time.Millisecond)
				l, _ := leads(t, p.keys, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if body, _ := io.ReadAll(r.Body); tt.method == "POST" && string(body) != "hello" {
						t.Errorf("the second one got %q", body)
					}
					carriedOut.Add(1)
				}))
				p.forward.Follow(l.Addr().String())
			})
			var body io.Reader
			if tt.method == "POST" {
				body = strings.NewReader("hello")
			}
			req, _ := http.NewRequest(tt.method, "http://fsub/x", body)
			if tt.key != "" {
				req.Header.Set(submission.HeaderKey, tt.key)
			}
			resp, err := p.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			said, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			wg.Wait()
			if resp.StatusCode != tt.status || carriedOut.Load() != tt.carriedOut {
				t.Errorf("status %d, carried out %d times; want %d, %d; it says %s", resp.StatusCode, carriedOut.Load(), tt.status, tt.carriedOut, said)
			}
		})
	}
}

// What was never sent waits for a leader, whatever it is.
func TestNobodyLeadsYet(t *testing.T) {
	p := newPair(t, secret, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }))
	address := p.forward.Leader()
	p.forward.Follow("")
	time.AfterFunc(300*time.Millisecond, func() { p.forward.Follow(address) })
	resp, err := p.client.Post("http://fsub/x", "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 || string(got) != "hello" {
		t.Errorf("%s %q", resp.Status, got)
	}
}

// A body that is too large to be kept arrives whole.
func TestLargeBody(t *testing.T) {
	p := newPair(t, secret, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
	}))
	for _, n := range []int{mostBody, mostBody + 1, 3 * mostBody} {
		req, _ := http.NewRequest("POST", "http://fsub/x", strings.NewReader(strings.Repeat("x", n)))
		req.Header.Set(submission.HeaderKey, "k")
		resp, err := p.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want := fmt.Sprint(n, error(nil)); string(got) != want {
			t.Errorf("%d bytes: %s", n, got)
		}
	}
	if kept := p.forward.asks.kept.Load(); kept != 0 {
		t.Errorf("%d bytes are kept still", kept)
	}
}
