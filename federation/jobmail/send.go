package jobmail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"fsub/federation"
	"fsub/federation/reports"
)

// sendEvery is the time between two looks at what is due, where nothing is new.
const sendEvery = time.Second

// deliver sends what is due until ctx is done.
func (m *Mailer) deliver(ctx context.Context) {
	t := time.NewTicker(sendEvery)
	defer t.Stop()
	for {
		m.pass(ctx)
		select {
		case <-t.C:
		case <-m.news:
		case <-ctx.Done():
			return
		}
	}
}

// pass sends what is due now. One user's mails go out one after the other, those of others beside them.
func (m *Mailer) pass(ctx context.Context) {
	var g errgroup.Group
	g.SetLimit(sending)
	for _, list := range m.due(m.Now()) {
		g.Go(func() error { m.user(ctx, list); return nil })
	}
	_ = g.Wait() // it has no errors
}

// due are the entries that are to be sent, for each user in the order of what happened. While the mail server takes nothing there are none.
func (m *Mailer) due(now time.Time) map[string][]*Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Before(m.quiet) {
		return nil
	}
	by := map[string][]*Entry{}
	for _, e := range m.waiting {
		if !e.Due.After(now) {
			by[e.Owner] = append(by[e.Owner], e)
		}
	}
	for owner, l := range m.rates {
		if len(by[owner]) == 0 && l.TokensAt(now) >= PerHour {
			delete(m.rates, owner)
		}
	}
	for _, list := range by {
		slices.SortFunc(list, func(a, b *Entry) int { return cmp.Or(cmp.Compare(a.Mark, b.Mark), cmp.Compare(a.Name, b.Name)) })
	}
	return by
}

// user sends what is due of one user: each event has a mail, or if they are many, or the user has had too many mails, they share one.
func (m *Mailer) user(ctx context.Context, list []*Entry) {
	owner := list[0].Owner
	most := m.may(owner)
	if most == 0 {
		return // they wait
	}
	var letters []*letter
	for _, e := range list {
		m.mu.Lock()
		over := e.done
		m.mu.Unlock()
		if over {
			m.drop(ctx, e)
			continue
		}
		l, err := m.letter(ctx, e)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errNever):
			m.drop(ctx, e)
		case err == nil && l != nil:
			letters = append(letters, l)
		case err != nil:
			m.Logger.Warn("mail of a job not written", "job", e.Job, "err", err)
		}
	}
	if len(letters) > min(most, mostSingle) {
		m.digest(ctx, owner, letters)
		return
	}
	for _, l := range letters {
		msg, err := m.message(ctx, l)
		if err != nil {
			if ctx.Err() == nil {
				m.Logger.Warn("mail of a job not written", "job", l.entry.Job, "err", err)
			}
			continue
		}
		if !m.post(ctx, owner, "sent", msg, []*letter{l}) {
			return
		}
	}
}

// may is how many mails a user may have now.
func (m *Mailer) may(owner string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.rates[owner]
	if l == nil {
		l = rate.NewLimiter(rate.Every(time.Hour/PerHour), PerHour)
		m.rates[owner] = l
	}
	return int(l.TokensAt(m.Now()))
}

// post sends one mail, which tells of these events. It reports whether the mail server takes mail.
func (m *Mailer) post(ctx context.Context, owner, result string, msg *reports.Message, of []*letter) bool {
	err := m.Send.Send(ctx, msg)
	now := m.Now()
	switch {
	case ctx.Err() != nil && err != nil:
		return false
	case err == nil:
		m.mailed.WithLabelValues(result).Inc()
	case errors.Is(err, federation.ErrInvalid):
		m.mailed.WithLabelValues("refused").Inc()
		m.Logger.Warn("mail of a job refused", "job", of[0].entry.Job, "err", err)
	default:
		m.mu.Lock()
		m.failures++
		wait := min(5*time.Minute, 5*time.Second<<min(m.failures-1, 6))
		m.quiet = now.Add(wait)
		m.mu.Unlock()
		m.Logger.Warn("mail of a job not sent", "job", of[0].entry.Job, "err", err, "again", wait)
		return false
	}
	m.mu.Lock()
	m.failures, m.quiet = 0, time.Time{}
	if l := m.rates[owner]; l != nil {
		l.AllowN(now, min(len(msg.To), max(int(l.TokensAt(now)), 1)))
	}
	m.mu.Unlock()
	for _, l := range of {
		m.drop(ctx, l.entry)
	}
	return true
}

// errNever means that there is nothing to tell any more.
var errNever = errors.New("nothing to tell")

// letter is what is known of an entry that is to be sent now.
type letter struct {
	entry    *Entry
	job      federation.Job
	to       []string
	subject  string
	attempts []federation.Attempt
	attempt  *federation.Attempt // that the event is about; nil: none
	used     Used
	array    *summary // of the end of an array; nil: it is another mail
}

// letter reads what a mail is about. It is nil if it is too early, errNever if it is too late.
func (m *Mailer) letter(ctx context.Context, e *Entry) (*letter, error) {
	now := m.Now()
	if now.Sub(e.At) > giveUp && e.What.percent() == 0 {
		m.mailed.WithLabelValues("refused").Inc()
		m.Logger.Warn("mail of a job given up", "job", e.Job, "since", e.At)
		return nil, errNever
	}
	l := &letter{entry: e}
	var err error
	if l.job, err = m.Store.Job(ctx, e.Job); errors.Is(err, federation.ErrNotFound) {
		return nil, errNever
	}
	if err == nil {
		l.attempts, err = m.Store.Attempts(ctx, e.Job)
	}
	if err != nil {
		return nil, err
	}
	for i := range l.attempts {
		if a := &l.attempts[i]; !a.Created.After(e.At) && !a.Started.IsZero() {
			l.attempt = a
		}
	}
	if e.What == IdleLead {
		l.to, err = m.Rules.leads(m.Facts.Leads(&l.job))
	} else {
		l.to, err = m.Rules.Recipients(&l.job)
	}
	if err != nil {
		m.Logger.Warn("mail of a job has nowhere to go", "job", e.Job, "err", err)
		return nil, errNever
	}
	if e.What.percent() > 0 {
		if err := m.late(l, now); err != nil || e.Due.After(now) {
			return nil, err
		}
	}
	if l.ended() && l.job.Whole == nil && e.Task < 0 && !l.job.Start.IsZero() {
		if l.used, err = m.Facts.Used(ctx, &l.job); err != nil {
			return nil, err
		}
		if !l.used.Known && now.Sub(e.At) < measureWithin {
			m.mu.Lock()
			e.Due = now.Add(measureAgain)
			m.mu.Unlock()
			return nil, nil
		}
	}
	if l.ended() && l.job.Whole != nil && e.Task < 0 {
		if l.array, err = m.summary(ctx, &l.job); err != nil {
			return nil, err
		}
	}
	l.subject = l.head()
	return l, nil
}

// ended reports whether the mail is about the job's end.
func (l *letter) ended() bool {
	switch l.entry.What {
	case End, Fail, StageOut, TimeLimit:
		return true
	}
	return false
}

// late sees to a mail that is due at a part of the time limit: errNever if that run is over, and another time if there is more left, as the limit was raised, or the job
// was suspended.
func (m *Mailer) late(l *letter, now time.Time) error {
	e, j := l.entry, &l.job
	limit := m.Facts.Limit(j)
	if !j.State.Started() || !j.Start.Equal(e.Start) || limit <= 0 {
		return errNever
	}
	suspended := j.State == federation.Suspended
	left := limit*time.Duration(e.What.percent())/100 - j.Suspension().Elapsed(j.Start, now, suspended)
	if suspended {
		left = max(left, time.Minute)
	}
	if left > 0 {
		m.mu.Lock()
		e.Due = now.Add(left)
		m.mu.Unlock()
	}
	return nil
}

// digest sends one mail for many events.
func (m *Mailer) digest(ctx context.Context, owner string, letters []*letter) {
	first := letters[0]
	var of []*letter
	for _, l := range letters { // jobs of one user may have mail sent to different people
		if slices.Equal(l.to, first.to) {
			of = append(of, l)
		}
	}
	m.mu.Lock()
	left := m.left[owner]
	m.mu.Unlock()
	msg := &reports.Message{ID: fmt.Sprintf("%s.%d@%s", first.entry.Name, len(of), m.Host), To: first.to, Subject: fmt.Sprintf("Slurm %d events of your jobs", len(of)), Text: many(of, left)}
	if m.post(ctx, owner, "digest", msg, of) {
		m.mu.Lock()
		delete(m.left, owner)
		m.mu.Unlock()
	}
}
