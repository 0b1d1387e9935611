package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"fsub/cloud/agent/keeper"
	"fsub/cloud/agentapi"
)

// piece is the most output that is sent at one time: large enough that the requests cost nothing,
// small enough that a lost one does not either.
const piece = 8 << 20

// pieceTime bounds the sending of one piece.
const pieceTime = 2 * time.Minute

// stream sends a file that the script writes to the daemon, while it is being written.
type stream struct {
	a    *Agent
	path string // of the request
	file *os.File
	at   int64         // what of the file has been sent
	base int64         // file offset minus stream offset
	over chan struct{} // closed when the script has ended
	done chan struct{}
}

// openStreams starts sending the output, if it is wanted.
func (r *run) openStreams() {
	if !r.l.Stream {
		return
	}
	for name, o := range map[string]*keeper.Output{"out": r.p.Out, "err": r.p.Err} {
		if o == nil {
			continue
		}
		s := &stream{a: r.a, path: agentapi.PathLog + url.PathEscape(r.l.Run) + "/" + name, file: o.File, at: o.Start, base: o.Start,
			over: make(chan struct{}), done: make(chan struct{})}
		r.output = append(r.output, s)
		go s.follow()
	}
}

// closeStreams returns when all output has been sent, or cannot be.
func (r *run) closeStreams() {
	for _, s := range r.output {
		close(s.over)
	}
	for _, s := range r.output {
		<-s.done
	}
}

// Looks at the file are this far apart: the shorter, the more there was.
const (
	lookSoon = 5 * time.Millisecond
	lookLate = 250 * time.Millisecond
)

// follow sends what there is, waits, and looks again, until the script has ended and all is sent, or cannot be.
func (s *stream) follow() {
	defer close(s.done)
	pause, trouble := lookSoon, newBackoff()
	for over := false; ; {
		n, err := s.some(over)
		wait := pause
		switch {
		case errors.As(err, new(*gone)):
			s.a.log.Warn("output not wanted", "stream", s.path, "err", err)
			return
		case err != nil:
			s.a.log.Warn("output not taken", "stream", s.path, "err", err)
			if s.a.lease.left() <= 0 {
				return // nobody will take it any more
			}
			wait, trouble.wait = trouble.wait, min(2*trouble.wait, 2*time.Second)
		case n > 0:
			trouble.reset()
			if pause = lookSoon; n >= piece/8 {
				continue
			}
			wait = pause // many small writes go together
		case over:
			return
		default:
			pause = min(2*pause, lookLate)
		}
		if over {
			time.Sleep(wait)
			continue
		}
		select {
		case <-s.over:
			over = true
		case <-time.After(wait):
		}
	}
}

// gone is a response after which sending more is useless.
type gone struct{ error }

// some sends what is there to send, up to a piece, and returns how much that was. The last piece says so.
func (s *stream) some(over bool) (n int64, err error) {
	info, err := s.file.Stat()
	if err != nil {
		return 0, &gone{err}
	}
	size := info.Size()
	if size < s.at { // the script has truncated the file
		s.base -= s.at
		s.at = 0
	}
	n = min(size-s.at, piece)
	last := over && s.at+n == size
	if n == 0 && !last {
		return 0, nil
	}
	query := "?offset=" + fmt.Sprint(s.at-s.base)
	if last {
		query += "&end=1"
	}
	if err := s.send(query, n); err != nil || last {
		return 0, err
	}
	return n, nil
}

func (s *stream) send(query string, n int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), pieceTime)
	defer cancel()
	began := time.Now()
	var has agentapi.LogSize
	err := s.a.server.send(ctx, s.path+query, s.a.server.session, io.NewSectionReader(s.file, s.at, n), n, &has)
	var r *refused
	switch {
	case err == nil:
		s.a.lease.renew(began, 0)
		s.at = max(s.at+n, s.base+has.Size) // it may have had more of it before
	case errors.As(err, &r) && r.code == http.StatusConflict:
		if json.Unmarshal([]byte(r.text), &has) == nil {
			s.goOn(has.Size)
		}
	case errors.As(err, &r) && r.code >= 400 && r.code < 500:
		return &gone{err}
	}
	return err
}

// goOn goes on where the daemon is.
func (s *stream) goOn(size int64) {
	s.at = s.base + size
	if s.at < 0 { // it lacks what was in the file before the script emptied it: that is lost
		s.at, s.base = 0, -size
	}
}
