package slurm

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// leaseSite is a site at which a daemon acts that leads others.
type leaseSite struct {
	*fake
	d     *Driver
	until atomic.Pointer[time.Time]
	ahead time.Duration // the site's clock

	mu  sync.Mutex
	exp map[string]int64 // what the last token of each method says
}

func newLeaseSite(t *testing.T) *leaseSite {
	s := &leaseSite{fake: newFake(t, "v0.0.42"), exp: map[string]int64{}}
	s.lease(4 * time.Second)
	seen := func(status int, shape func() any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var claims struct{ Exp int64 }
			raw, _ := base64.RawURLEncoding.DecodeString(strings.Split(r.Header.Get(wire.HeaderToken), ".")[1])
			json.Unmarshal(raw, &claims)
			s.mu.Lock()
			s.exp[r.Method] = claims.Exp
			s.mu.Unlock()
			b, _ := json.Marshal(shape())
			var m map[string]any
			json.Unmarshal(b, &m)
			m["meta"] = wire.NewMeta("26.05.5", "alpha", "slurm")
			w.WriteHeader(status)
			json.NewEncoder(w).Encode(m)
		}
	}
	s.do("GET /slurm/diag/", seen(200, func() any {
		return wire.DiagResponse{Statistics: wire.Diag{ReqTime: wire.Num(time.Now().Add(s.ahead).Unix())}}
	}))
	s.do("DELETE /slurm/jobs/", seen(200, func() any { return wire.KillJobsResponse{} }))
	s.d = s.driver(t, func(c *Config) {
		c.Mode, c.User, c.KeyFile = federation.Pinned, "slurm", keyFile(t, "key")
		c.Lease = func() time.Time { return *s.until.Load() }
	})
	return s
}

func (s *leaseSite) lease(left time.Duration) {
	until := time.Now().Add(left)
	s.until.Store(&until)
}

func (s *leaseSite) change(t *testing.T) error {
	var a wire.KillJobsResponse
	return s.d.c.do(t.Context(), request{op: "cancel", method: http.MethodDelete, path: wire.PathJobs, body: wire.KillJobs{}}, &a)
}

// What changes something carries a token that expires with the lease, and is renewed with it. Reads do not.
func TestTokenExpiresWithLease(t *testing.T) {
	s := newLeaseSite(t)
	for _, left := range []time.Duration{4 * time.Second, 6 * time.Second} {
		s.lease(left)
		if err := s.change(t); err != nil {
			t.Fatal(err)
		}
		if got, want := s.exp["DELETE"], s.until.Load().Unix(); got != want {
			t.Errorf("the token expires at %d, the lease at %d", got, want)
		}
	}
	if left := time.Until(time.Unix(s.exp["GET"], 0)); left < tokenLife/2 {
		t.Errorf("the token of a read expires in %v", left)
	}
	s.lease(-time.Millisecond)
	before := len(s.calls)
	if err := s.change(t); !errors.Is(err, federation.ErrNotSent) {
		t.Errorf("after the lease: %v", err)
	}
	if len(s.calls) != before {
		t.Error("a call was made after the lease")
	}
}

// Where a site's clock is another, its tokens are as those of a daemon that is alone: it might refuse all others.
func TestClockOfSite(t *testing.T) {
	for _, tt := range []struct {
		ahead time.Duration
		long  bool
	}{{0, false}, {time.Minute, true}, {-time.Minute, true}} {
		s := newLeaseSite(t)
		s.ahead = tt.ahead
		if err := s.change(t); err != nil {
			t.Fatal(err)
		}
		if long := time.Until(time.Unix(s.exp["DELETE"], 0)) > tokenLife/2; long != tt.long {
			t.Errorf("clock %v ahead: token until %v", tt.ahead, time.Unix(s.exp["DELETE"], 0))
		}
	}
}

// A token that has expired on its way says nothing against the key, and has the clock looked at again.
func TestExpiredOnItsWay(t *testing.T) {
	s := newLeaseSite(t)
	if err := s.change(t); err != nil {
		t.Fatal(err)
	}
	s.on("DELETE /slurm/jobs/", 511, wire.KillJobsResponse{Reply: wire.Reply{Errors: []wire.Error{{Number: wire.ErrAuth, Text: "Protocol authentication error"}}}})
	if err := s.change(t); !errors.Is(err, federation.ErrUnavailable) || errors.Is(err, federation.ErrDenied) || !strings.Contains(err.Error(), "lease") {
		t.Errorf("got %v", err)
	}
	s.ahead = time.Hour
	if err := s.change(t); err == nil || !s.d.c.leased.apart {
		t.Errorf("the clock was not looked at again: %v", err)
	}
}

// Nothing is written to a connection after the lease, and what is being written then fails.
func TestConnectionsEndWithLease(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	read := make(chan int64, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		n, _ := io.CopyN(io.Discard, c, 5)
		read <- n // and no more: what follows fills the buffers
		<-t.Context().Done()
		c.Close()
	}()
	until := time.Now().Add(time.Second)
	dial := dialFunc((&net.Dialer{}).DialContext).until(func() time.Time { return until })
	c, err := dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("hello")); err != nil || <-read != 5 {
		t.Fatal(err)
	}
	for err == nil {
		_, err = c.Write(make([]byte, 1<<20))
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) || time.Now().Before(until) {
		t.Errorf("a write that began in time ended with %v", err)
	}
	for _, until = range []time.Time{until, {}} { // the lease is over, and another daemon has it
		if n, err := c.Write([]byte("late")); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d bytes were written after the lease: %v", n, err)
		}
	}
}
