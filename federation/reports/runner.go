package reports

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"fsub/accounting/report"
	"fsub/federation"
	"fsub/federation/records"
	"fsub/federation/share"
)

// Message is a mail, with one report or about jobs.
type Message struct {
	ID      string // without brackets: one that is sent twice has the same
	To      []string
	Subject string
	Text    string
	HTML    string // the same as Text; "": Text alone
	Picture []byte // that HTML refers to by the Content-ID of its name; nil: none
	Name    string
	File    string // name of what is attached; "": nothing is
	Content []byte
}

// Mailer sends mail. An error means that the mail server has not taken it, as far as is known.
type Mailer interface {
	Send(ctx context.Context, m *Message) error
}

// Config is what a Runner is made of.
type Config struct {
	Saved records.Set[Saved]
	// Make makes a report of what its owner may see now.
	Make func(ctx context.Context, d *Definition, s report.Spec, at time.Time) (*report.Table, error)
	// Write writes a report in a format, and Ending is what names of files of it end with.
	Write  func(w io.Writer, t *report.Table, format string) error
	Ending func(format string) string
	// Letter is a report as the HTML of a mail, and the picture that it refers to by name; nil: mails are plain text.
	Letter func(t *report.Table) (html, name string, picture []byte, err error)
	// Federation is its name: what subjects of mails begin with.
	Federation string
	Mail       Mailer   // nil: no mail is sent
	Domains    []string // that users may send mail to
	Files      string   // directory of reports that are files; "": there are none
	Host       string   // what IDs of messages end with
	Logger     *slog.Logger
	Now        func() time.Time // nil: time.Now
}

// Runner makes reports when they are due.
type Runner struct {
	Config
	making sync.Mutex // one report at a time; mails go out beside it

	mu   sync.Mutex
	done map[delivery]State       // delivered, and not written down: the store did not take it
	mail map[string]*rate.Limiter // of mails, by owner
}

// What a user may have delivered: mails, each to one address, at once and in an hour, whether by schedule or out of turn; and files out of turn, while there
// are no more than that of his.
const (
	MostMails = 100
	mostFiles = 1000
)

// sending is how many reports are delivered at a time: a slow mail server holds up no more.
const sending = 8

// delivery is a moment of a report's schedule.
type delivery struct {
	owner, name string
	made, due   int64
}

// New makes a Runner.
func New(c Config) *Runner {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Runner{Config: c, done: map[delivery]State{}, mail: map[string]*rate.Limiter{}}
}

const (
	lookEvery = 20 * time.Second
	mostWait  = time.Hour // between two tries
)

// Run delivers what is due, until ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		if err := r.Once(ctx); err != nil && ctx.Err() == nil {
			r.Logger.Warn("saved reports not looked at", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

// Once delivers what is due now. Of moments that have passed while nobody looked only the last counts.
//
// That a report was delivered is written down after it: a file that is written twice is one file, and a mail that the mail server took in the moment in
// which the daemon was killed is sent again under the same Message-ID.
func (r *Runner) Once(ctx context.Context) error {
	all, err := r.Saved.List(ctx, "")
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(sending)
	for i := range all {
		s := &all[i]
		due, now := s.Due(r.Now()), r.Now()
		if !due.After(s.For) || s.Tries > 0 && now.Sub(s.Tried) < min(mostWait, time.Minute<<min(s.Tries, 10)) {
			continue
		}
		g.Go(func() error { return r.scheduled(ctx, s, due, now) })
	}
	return g.Wait()
}

// scheduled delivers a report that is due, and writes down what became of it.
func (r *Runner) scheduled(ctx context.Context, s *Saved, due, now time.Time) error {
	key := delivery{s.Owner, s.Name, s.Made.UnixNano(), due.Unix()}
	r.mu.Lock()
	next, delivered := r.done[key]
	r.mu.Unlock()
	if !delivered {
		where, err := "", r.fewMails(&s.Definition, now)
		if err == nil {
			where, err = r.deliver(ctx, &s.Definition, due, "")
		}
		if ctx.Err() != nil {
			return nil
		}
		next = State{For: due, Sent: now, Where: where}
		if err != nil {
			r.Logger.Warn("saved report not delivered", "report", s.Name, "user", s.Owner, "err", err)
			next = s.State
			next.Tried, next.Error = now, err.Error()
			next.Tries++
		} else { // a store that takes nothing for an hour is no reason for a mail every look
			r.mu.Lock()
			r.done[key] = next
			r.mu.Unlock()
		}
	}
	if err := r.settle(ctx, &s.Definition, next); err != nil {
		return err
	}
	r.mu.Lock()
	delete(r.done, key)
	r.mu.Unlock()
	return nil
}

// settle writes down what became of a report, unless it was removed or saved again since. For never goes back.
func (r *Runner) settle(ctx context.Context, d *Definition, is State) error {
	err := r.Saved.Update(ctx, d.Owner, d.Name, func(s *Saved) bool {
		if !s.Made.Equal(d.Made) {
			return false
		}
		if s.For.After(is.For) {
			is.For = s.For
		}
		s.State = is
		return true
	})
	if errors.Is(err, federation.ErrNotFound) {
		return nil
	}
	return err
}

// Deliver makes and delivers a report out of turn: that of the period which ended last. It says where it is.
func (r *Runner) Deliver(ctx context.Context, s *Saved) (string, error) {
	now := r.Now()
	if err := r.bounded(&s.Definition, now); err != nil {
		return "", err
	}
	moment := s.Due(now)
	if moment.IsZero() {
		moment = now
	}
	where, err := r.deliver(ctx, &s.Definition, moment, fmt.Sprintf(".%d", now.UnixNano()))
	if err != nil {
		return "", err
	}
	next := s.State
	next.Sent, next.Where, next.Error, next.Tries = now, where, "", 0
	return where, r.settle(ctx, &s.Definition, next)
}

// bounded refuses what would be too many mails or files of one user, out of turn.
func (r *Runner) bounded(d *Definition, now time.Time) error {
	if len(d.To) > 0 {
		return r.fewMails(d, now)
	}
	if files, err := os.ReadDir(filepath.Join(r.Files, d.Owner)); err == nil && len(files) >= mostFiles {
		return fmt.Errorf("%s has %d files of reports, at most %d are made out of turn; ask an administrator to remove old ones from %s", d.Owner, len(files), mostFiles, r.Files)
	}
	return nil
}

// fewMails counts the mails that a report is sent as, and refuses those that are too many of one user: a report that is saved anew again and again is due again each time.
func (r *Runner) fewMails(d *Definition, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.mail[d.Owner]
	if l == nil {
		l = rate.NewLimiter(rate.Every(time.Hour/MostMails), MostMails)
		r.mail[d.Owner] = l
	}
	if !l.AllowN(now, len(d.To)) {
		return fmt.Errorf("%s has had more than %d mails sent within an hour; try again later", d.Owner, MostMails)
	}
	return nil
}

// Able says why a report can never be delivered here; nil if it can.
func (r *Runner) Able(d *Definition) error {
	switch {
	case len(d.To) > 0 && r.Mail == nil:
		return errors.New("this daemon sends no mail: set mail of reports in its configuration")
	case len(d.To) == 0 && r.Files == "":
		return errors.New("this daemon keeps no reports as files: name addresses with --mail, or set directory of reports in its configuration")
	}
	return nil
}

// subject is "hpc: weekly-cost: Cost by user, 2026-11-23 to 2026-11-29, UTC days".
func (r *Runner) subject(d *Definition, t *report.Table) string {
	text := d.Name + ": " + t.Title + ", " + t.Span
	if r.Federation != "" {
		text = r.Federation + ": " + text
	}
	if len(t.Rows) == 0 {
		text += " (nothing)"
	}
	return text
}

func (r *Runner) deliver(ctx context.Context, d *Definition, moment time.Time, again string) (string, error) {
	m, file, err := r.make(ctx, d, moment, again)
	if err != nil || m == nil {
		return file, err
	}
	defer share.Idle(ctx)()
	return strings.Join(d.To, ", "), r.Mail.Send(ctx, m)
}

// make makes a report: a message, or else a file.
func (r *Runner) make(ctx context.Context, d *Definition, moment time.Time, again string) (m *Message, written string, err error) {
	turn := share.Idle(ctx) // another may be made just now
	r.making.Lock()
	defer r.making.Unlock()
	turn()
	if err := r.Able(d); err != nil {
		return nil, "", err
	}
	spec, at := d.Question(moment)
	t, err := r.Make(ctx, d, spec, at)
	if err != nil {
		return nil, "", err
	}
	t.Federation = r.Federation
	var content, text bytes.Buffer
	if err := r.Write(&content, t, d.Format); err != nil {
		return nil, "", err
	}
	file := d.Name + "-" + moment.UTC().Format(time.DateOnly) + "." + r.Ending(d.Format)
	if len(d.To) == 0 {
		written, err = writeFile(r.Files, d.Owner, d.UID, file, content.Bytes())
		return nil, written, err
	}
	if err := t.Text(&text); err != nil {
		return nil, "", err
	}
	fmt.Fprintf(&text, "\n-- \nReport %s of %s. To end it: fed report remove %s\n", d.Name, d.Owner, d.Name)
	m = &Message{ID: fmt.Sprintf("%s.%s.%d%s@%s", d.Name, d.Owner, moment.Unix(), again, r.Host), To: d.To, Subject: r.subject(d, t), Text: text.String(), File: file, Content: content.Bytes()}
	if r.Letter != nil {
		if m.HTML, m.Name, m.Picture, err = r.Letter(t); err != nil {
			return nil, "", err
		}
	}
	return m, "", nil
}
