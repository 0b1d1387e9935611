package answer

import (
	"context"
	"net/http"
	"sync"
	"time"

	"fsub/federation/share"
)

// mostUnread is how many bytes of answers may wait for their readers. Beyond that those who have most unread are cut off, so that others' are kept.
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

func (u *unread) enter(w *fairWriter, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.users == nil {
		u.users = map[uint32]*unreadOf{}
	}
	of := u.users[w.uid]
	if of == nil {
		of = &unreadOf{answers: map[*fairWriter]bool{}}
		u.users[w.uid] = of
	}
	of.answers[w], w.held = true, n
	of.bytes, u.bytes = of.bytes+n, u.bytes+n
	if u.bytes > mostUnread {
		u.cut()
	}
}

func (u *unread) leave(w *fairWriter) {
	u.mu.Lock()
	defer u.mu.Unlock()
	of := u.users[w.uid]
	of.bytes, u.bytes, w.held = of.bytes-w.held, u.bytes-w.held, 0
	if delete(of.answers, w); len(of.answers) == 0 {
		delete(u.users, w.uid)
	}
}

// cut ends the largest answer of the user who has most unread. One answer alone is let be, however large.
func (u *unread) cut() {
	var most *unreadOf
	for _, of := range u.users {
		if len(of.answers) > 1 && (most == nil || of.bytes > most.bytes) {
			most = of
		}
	}
	if most == nil {
		return
	}
	var largest *fairWriter
	for w := range most.answers {
		if largest == nil || w.held > largest.held {
			largest = w
		}
	}
	_ = http.NewResponseController(largest.ResponseWriter).SetWriteDeadline(time.Now().Add(-time.Second)) // one that cannot is a test's
}

// fairWriter gives its user's turn back while an answer goes out.
type fairWriter struct {
	http.ResponseWriter
	ctx    context.Context
	uid    uint32
	unread *unread
	held   int // of what is being written; guarded by unread
	small  int // bytes since it last went out
}

// Unwrap is for [http.ResponseController].
func (w *fairWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// buffered is how much package http keeps without sending it.
const buffered = 2 << 10

func (w *fairWriter) Write(p []byte) (int, error) {
	if w.small += len(p); w.small < buffered {
		return w.ResponseWriter.Write(p)
	}
	w.small = 0
	w.unread.enter(w, len(p))
	again := share.Idle(w.ctx)
	n, err := w.ResponseWriter.Write(p)
	w.unread.leave(w)
	again()
	return n, err
}
