package jobmail

import (
	"context"
	"errors"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
)

const (
	lookAgain = 200 * time.Millisecond // between two looks at the log
	pageSize  = 64                     // commits that are read at a time
	// placeEvery is how often the mark is written down while nothing calls for mail.
	placeEvery = 10 * time.Second
)

// follow reads the log until ctx is done.
func (m *Mailer) follow(ctx context.Context, at place) {
	written, failed := at, ""
	for {
		next, full, err := at, false, error(nil)
		if m.count() < mostEntries {
			next, full, err = m.read(ctx, at)
		}
		if err != nil && ctx.Err() == nil && err.Error() != failed {
			m.Logger.Warn("mails of jobs: the log was not read", "err", err)
			failed = err.Error()
		}
		if err == nil {
			at, failed = next, ""
		}
		if at.Mark > written.Mark && m.Now().Sub(written.At) > placeEvery {
			if err := m.settle(ctx, at); err == nil {
				written = at
			}
		}
		if full && err == nil {
			continue
		}
		if !pause(ctx, lookAgain) {
			return
		}
	}
}

// settle writes down how far the log was read.
func (m *Mailer) settle(ctx context.Context, at place) error { return places(m.Store).Put(ctx, &at) }

// read reads a page of the log, and writes down what mails it calls for. full: there may be more at once.
func (m *Mailer) read(ctx context.Context, at place) (next place, full bool, err error) {
	log, err := m.Store.Changes(ctx, at.Mark, pageSize)
	if errors.Is(err, federation.ErrTrimmed) {
		m.Logger.Error("mails of jobs: the log of changes no longer goes back to where it was read last: what happened since is mailed as far as the log has it", "since", at.At)
		log, err = m.Store.Changes(ctx, journal.OldestMark, pageSize)
	}
	if err != nil {
		return at, false, err
	}
	full = len(log.Commits) == pageSize
	next = at
	next.Mark = log.Mark
	if n := len(log.Commits); n > 0 && log.Commits[n-1].At.After(at.At) {
		next.At = log.Commits[n-1].At
	}
	list, err := m.mails(ctx, log.Commits, at.At)
	if err != nil {
		return at, false, err
	}
	if len(list) == 0 {
		return next, full, nil
	}
	kept, err := m.keep(ctx, list)
	if err == nil {
		err = m.settle(ctx, next)
	}
	if err != nil {
		return at, false, err
	}
	m.mu.Lock()
	for i := range kept {
		m.add(&kept[i])
	}
	m.mu.Unlock()
	select {
	case m.news <- struct{}{}:
	default:
	}
	return next, full, nil
}

// keep writes down which of the mails are to be sent. A user who has too many gets no more.
func (m *Mailer) keep(ctx context.Context, list []Entry) (kept []Entry, err error) {
	more := map[string]int{}
	for i := range list {
		e := &list[i]
		m.mu.Lock()
		full := m.of[e.Owner]+more[e.Owner] >= MostWaiting
		if full {
			m.left[e.Owner]++
		}
		m.mu.Unlock()
		if full {
			m.mailed.WithLabelValues("left_out").Inc()
			continue
		}
		more[e.Owner]++
		if err := m.set.Put(ctx, e); err != nil {
			return nil, err
		}
		kept = append(kept, *e)
	}
	return kept, nil
}

// mails are those that commits call for which are not older than since: where the log was trimmed it is read from its beginning.
func (m *Mailer) mails(ctx context.Context, commits []journal.Commit, since time.Time) (out []Entry, err error) {
	commits = slices.DeleteFunc(commits, func(c journal.Commit) bool { return c.At.Before(since) })
	var ids []federation.JobID
	for i := range commits {
		for k := range commits[i].Changes {
			if c := &commits[i].Changes[k]; calls(c) {
				ids = append(ids, c.Job)
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	jobs := map[federation.JobID]*federation.Job{}
	for len(ids) > 0 { // a commit may tell of many thousand
		some := ids[:min(len(ids), 500)]
		ids = ids[len(some):]
		list, err := m.Store.Jobs(ctx, federation.JobQuery{IDs: some, Alone: true})
		if err != nil {
			return nil, err
		}
		for i := range list {
			jobs[list[i].ID] = &list[i]
		}
	}
	for i := range commits {
		for k := range commits[i].Changes {
			c := &commits[i].Changes[k]
			switch j := jobs[c.Job]; {
			case j == nil || !calls(c):
			case c.Finding != nil:
				if e, ok := idleEntry(j, &commits[i], c.Finding); ok {
					out = append(out, e)
				}
			default:
				out = append(out, mailsOf(j, &commits[i], c.Move, m.Facts.Limit)...)
			}
		}
	}
	return out, nil
}
