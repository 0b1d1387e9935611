package controller

import (
	"errors"
	"hash/fnv"
	"time"

	"fsub/federation"
)

// breaker keeps all calls but looks away from a site that does not answer: ten thousand jobs there would ask for ten thousand look-ups, again and
// again. It opens when calls have failed one after another, and closes when a poll is answered.
type breaker struct {
	fails int // in a row, since the last good poll
	open  bool
}

// breakAfter is how many calls in a row fail before no more are made.
const breakAfter = 3

// note takes in how a call ended. One that our own calls left no room for says nothing of the site. It reports whether the breaker has opened or closed by that.
func (b *breaker) note(err error, poll bool) (changed bool) {
	was := b.open
	switch {
	case poll && err == nil:
		b.fails, b.open = 0, false
	case errors.Is(err, federation.ErrThrottled) && !poll:
	case errors.Is(err, federation.ErrUnavailable), poll && err != nil:
		b.fails++
		b.open = b.open || b.fails >= breakAfter
	}
	return was != b.open
}

// outcome is how a call to a site ended, and whether it was a poll.
func outcome(value any) (err error, poll bool) {
	switch v := value.(type) {
	case observed:
		return v.err, false
	case polled:
		return v.err, true
	case lookedUp: // also of accounting: it proves nothing about the controller
		return nil, false
	case acted:
		return v.err, false
	case answered:
		return v.err, false
	case ranked:
		return v.err, false
	case promiseKept:
		return v.err, false
	}
	return nil, false
}

// noteCall takes in how a call to a site ended.
func (w *watch) noteCall(s *site, value any) {
	err, poll := outcome(value)
	if !s.breaker.note(err, poll) {
		return
	}
	w.metrics.breakerOpen(s.Name, s.breaker.open)
	if s.breaker.open {
		w.log.Warn("no calls but looks are made to the site until it answers", "site", s.Name, "failed", s.breaker.fails)
		return
	}
	w.log.Info("calls to the site are made again", "site", s.Name)
	for _, j := range s.jobs {
		if j.retry.After(w.now()) {
			j.try().retry = time.Time{}
		}
	}
}

// apart spreads waits of many sites over time: d, a quarter more or less, by the site's name and the number of the try. It is not drawn by chance, so that
// equal runs of a simulation are equal.
func apart(d time.Duration, site federation.SiteName, try int) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(site))
	h.Write([]byte{byte(try), byte(try >> 8)})
	return d*3/4 + time.Duration(int64(d/2)*int64(h.Sum32()%1000)/1000)
}
