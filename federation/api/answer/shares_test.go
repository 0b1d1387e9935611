package answer

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fsub/federation/api/identity"
	"fsub/federation/share"
)

// TestSharesOfUsers: a user who has as many requests in hand as he may waits, and is refused when his time is over; another is answered, and so is what
// may take long.
func TestSharesOfUsers(t *testing.T) {
	r := &Router{Long: map[string]bool{"GET /wait": true}}
	answering, release := make(chan uint32, 3*readsOfUser), make(chan struct{})
	defer close(release)
	ask := func(ctx context.Context, uid uint32, pattern string) error {
		req := httptest.NewRequestWithContext(ctx, "GET", "/", nil)
		req.Pattern = pattern
		return r.shared(func(_ http.ResponseWriter, r *http.Request, _ identity.Caller) error {
			share.Idle(r.Context()) // as one does whose answer is not read
			answering <- uid
			<-release
			return nil
		}, httptest.NewRecorder(), req, identity.Caller{UID: uid, Name: "somebody"})
	}
	answered := func(uid uint32, what string) {
		t.Helper()
		select {
		case got := <-answering:
			if got != uid {
				t.Fatalf("%s: %d is answered", what, got)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: %d waits", what, uid)
		}
	}
	for range readsOfUser {
		go ask(t.Context(), 7, "GET /x")
	}
	for range readsOfUser {
		answered(7, "as many as he may")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- ask(ctx, 7, "GET /x") }()
	select {
	case err := <-done:
		if Status(err) != http.StatusServiceUnavailable {
			t.Errorf("one more: %v", err)
		}
	case <-answering:
		t.Error("one more is answered")
	}
	go ask(t.Context(), 8, "GET /x")
	answered(8, "another user")
	go ask(t.Context(), 7, "GET /wait")
	answered(7, "what may take long")
}

// TestLargeBodiesOfUsers: who sends as many large bodies as he may waits with one more, and so do all when there are too many; small ones pass.
func TestLargeBodiesOfUsers(t *testing.T) {
	r := &Router{}
	answering, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	ask := func(uid uint32, length int64, patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		req := httptest.NewRequestWithContext(ctx, "POST", "/", nil)
		req.ContentLength, req.Body = length, http.NoBody
		done := make(chan error, 1)
		go func() {
			done <- r.shared(func(_ http.ResponseWriter, r *http.Request, _ identity.Caller) error {
				share.Idle(r.Context()) // as while the body comes
				answering <- struct{}{}
				<-release
				return nil
			}, httptest.NewRecorder(), req, identity.Caller{UID: uid, Name: "somebody"})
		}()
		select {
		case <-answering:
			return nil
		case err := <-done:
			return err
		}
	}
	const long = time.Minute
	for user := range uint32(largeBodies / largeOfUser) {
		for range largeOfUser {
			if err := ask(user, largeBody+1, long); err != nil {
				t.Fatalf("user %d has a large body in hand: %v", user, err)
			}
		}
		for _, length := range []int64{largeBody + 1, -1} { // -1: it is not said
			if err := ask(user, length, 50*time.Millisecond); Status(err) != http.StatusServiceUnavailable {
				t.Errorf("user %d sends one more, of length %d: %v", user, length, err)
			}
		}
		if err := ask(user, largeBody, long); err != nil {
			t.Errorf("user %d sends a small one: %v", user, err)
		}
	}
	if err := ask(1000, largeBody+1, 50*time.Millisecond); Status(err) != http.StatusServiceUnavailable {
		t.Errorf("one more large body than all may send: %v", err)
	}
	if err := ask(1000, largeBody, long); err != nil {
		t.Errorf("a small one of another: %v", err)
	}
}

// TestBodyHasToCome: a caller that stops in the middle of a body is waited for until its time is over, and no longer.
func TestBodyHasToCome(t *testing.T) {
	read := make(chan error, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := &timedBody{ReadCloser: r.Body, ctx: r.Context(), rc: http.NewResponseController(w), limit: 100 * time.Millisecond}
		_, err := io.ReadAll(body)
		read <- err
	}))
	defer srv.Close()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-read:
		var late net.Error
		if !errors.As(err, &late) || !late.Timeout() {
			t.Errorf("the body ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the daemon still waits for the body")
	}
}

// TestBodyMayBeReadSlowly: a body that has been sent is read to its end, however long the daemon works on each part of it.
func TestBodyMayBeReadSlowly(t *testing.T) {
	const limit = 200 * time.Millisecond
	read := make(chan error, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := &timedBody{ReadCloser: r.Body, ctx: r.Context(), rc: http.NewResponseController(w), limit: limit}
		for chunk := make([]byte, 64<<10); ; time.Sleep(limit) { // as a parser on a busy machine
			if _, err := body.Read(chunk); err != nil {
				read <- err
				return
			}
		}
	}))
	defer srv.Close()
	resp, err := http.Post(srv.URL, "text/plain", strings.NewReader(strings.Repeat("x", 300<<10)))
	if err == nil {
		resp.Body.Close()
	}
	if end := <-read; err != nil || end != io.EOF {
		t.Errorf("the body ended with %v, and the answer with %v", end, err)
	}
}
