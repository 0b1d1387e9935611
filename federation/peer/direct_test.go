package peer

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A daemon that stands by answers what is asked of itself. What is for the leader waits until it leads, and is sent once.
func TestDirect(t *testing.T) {
	p := newPair(t, secret, http.NotFoundHandler())
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	own := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "itself "); io.Copy(w, r.Body) })
	go func() { ended <- l.ServeDirect(ctx, p.keys, own) }()
	address := l.l.Addr().String()
	direct := p.keys.Direct()
	defer direct.CloseIdleConnections()
	ask := func(c *http.Client, url string) string {
		resp, err := c.Post(url, "text/plain", strings.NewReader("once"))
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return string(text)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) { // until it serves
		got := ask(direct, "https://"+address+"/x")
		if got == "itself once" {
			break
		}
		if time.Now().After(end) {
			t.Fatal(got)
		}
	}
	p.forward.Follow(address)
	answered := make(chan string)
	go func() { answered <- ask(p.client, "http://fsub/x") }()
	select {
	case text := <-answered:
		t.Fatalf("a daemon that stands by has answered for the leader: %s", text)
	case <-time.After(3 * again):
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "leads "); io.Copy(w, r.Body) })}
	defer srv.Close()
	go srv.Serve(p.keys.Listen(l.Term()))
	if text := <-answered; text != "leads once" {
		t.Error(text)
	}
	stranger, err := NewKeys([]byte(strings.Repeat("x", MinSecret)))
	if err != nil {
		t.Fatal(err)
	}
	srv.Close()
	if text := ask(stranger.Direct(), "https://"+address+"/x"); strings.Contains(text, "itself") {
		t.Errorf("a stranger was answered: %s", text)
	}
	stop()
	if err := <-ended; err != context.Canceled {
		t.Error(err)
	}
}
