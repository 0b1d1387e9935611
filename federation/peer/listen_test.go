package peer

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A daemon listens whether it leads or not: requests that come while it does not lead are sent again, also such as may be carried out once only.
func TestListener(t *testing.T) {
	served := new(atomic.Int64)
	p := newPair(t, secret, http.NotFoundHandler())
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	address := l.l.Addr().String()
	p.forward.Follow(address)
	for term := range 2 {
		answered := make(chan string)
		go func() {
			resp, err := p.client.Post("http://fsub/x", "text/plain", strings.NewReader("once"))
			if err != nil {
				answered <- err.Error()
				return
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			answered <- string(text)
		}()
		select {
		case text := <-answered:
			t.Fatalf("a daemon that does not lead has answered: %s", text)
		case <-time.After(3 * again):
		}
		if Gone(t.Context(), address) {
			t.Error("a daemon that listens counts as gone")
		}
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			served.Add(1)
			io.Copy(w, r.Body)
		})}
		ended := make(chan error)
		go func() { ended <- srv.Serve(p.keys.Listen(l.Term())) }()
		if text := <-answered; text != "once" || served.Load() != int64(term+1) {
			t.Errorf("term %d: %q after %d requests", term, text, served.Load())
		}
		srv.Close()
		if err := <-ended; err != http.ErrServerClosed {
			t.Error(err)
		}
		p.forward.asks.next.(*http.Transport).CloseIdleConnections() // or it may not have seen yet that this one is closed
	}
	l.Close()
	if !Gone(t.Context(), address) {
		t.Error("nobody listens, and that is not seen")
	}
}

// Only a refusal proves that nobody listens.
func TestGone(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	refused := freeAddress(t)
	for _, tt := range []struct {
		ctx     context.Context
		address string
		gone    bool
	}{{t.Context(), refused, true}, {ended, refused, false}, {t.Context(), "", false}, {t.Context(), "no-such-host.invalid:1", false}, {t.Context(), "255.255.255.255:1", false}} {
		if got := Gone(tt.ctx, tt.address); got != tt.gone {
			t.Errorf("Gone(%q) = %v", tt.address, got)
		}
	}
}

func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
