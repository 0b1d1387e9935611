package answer

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"fsub/federation/share"
)

// mostUnread is how many bytes of answers may wait for their readers. Beyond that some are cut off: of those users who have several unread, those of the one
// who has most; then whichever has waited longest.
const mostUnread = 512 << 20

// unread knows the answers that wait to be read.
type unread struct {
	mu    sync.Mutex
	bytes int
	users map[uint32]*unreadOf
}

type unreadOf struct {
	bytes   int
	answers map[*fairWriter]bool
}

// enter counts an answer. It reports false for one that was cut off.
func (u *unread) enter(w *fairWriter, n int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if w.cut {
		return false
	}
	if u.users == nil {
		u.users = map[uint32]*unreadOf{}
	}
	of := u.users[w.uid]
	if of == nil {
		of = &unreadOf{answers: map[*fairWriter]bool{}}
		u.users[w.uid] = of
	}
	of.answers[w], w.held, w.since = true, n, time.Now()
	of.bytes, u.bytes = of.bytes+n, u.bytes+n
	for u.bytes > mostUnread && u.cut() {
	}
	return true
}

func (u *unread) leave(w *fairWriter) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drop(w)
}

// drop counts an answer no more: it has gone out, or is cut off.
func (u *unread) drop(w *fairWriter) {
	of := u.users[w.uid]
	if of == nil || !of.answers[w] {
		return
	}
	of.bytes, u.bytes, w.held = of.bytes-w.held, u.bytes-w.held, 0
	if delete(of.answers, w); len(of.answers) == 0 {
		delete(u.users, w.uid)
	}
}

// cut ends an answer that waits to be read, if there are several. One that waits alone is let be, however large.
func (u *unread) cut() bool {
	n := 0
	var most *unreadOf
	var worst *fairWriter // the one that has waited longest
	for _, of := range u.users {
		n += len(of.answers)
		if len(of.answers) > 1 && (most == nil || of.bytes > most.bytes) {
			most = of
		}
		for w := range of.answers {
			if worst == nil || w.since.Before(worst.since) {
				worst = w
			}
		}
	}
	if n < 2 {
		return false
	}
	if most != nil {
		worst = nil // the largest of his
		for w := range most.answers {
			if worst == nil || w.held > worst.held {
				worst = w
			}
		}
	}
	_ = http.NewResponseController(worst.ResponseWriter).SetWriteDeadline(time.Now().Add(-time.Second)) // one that cannot is a test's
	u.drop(worst)
	worst.cut = true // it may be between two writes
	return true
}

// fairWriter gives its user's turn back while an answer goes out.
type fairWriter struct {
	http.ResponseWriter
	ctx    context.Context
	uid    uint32
	unread *unread
	held   int       // of what is being written; guarded by unread
	since  time.Time // it is so
	cut    bool      // likewise
	sent   int       // bytes of the answer so far
}

// Unwrap is for [http.ResponseController].
func (w *fairWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

var errCut = errors.New("the answer was cut off: it was not read")

// buffered is how much package http keeps without sending it.
const buffered = 2 << 10

func (w *fairWriter) Write(p []byte) (int, error) {
	if w.sent += len(p); w.sent < buffered {
		return w.ResponseWriter.Write(p)
	}
	if !w.unread.enter(w, len(p)+share.Held(w.ctx)) {
		return 0, errCut
	}
	again := share.Idle(w.ctx)
	n, err := w.ResponseWriter.Write(p)
	again()
	w.unread.leave(w) // what it wrote is held until it is its turn again
	return n, err
}
