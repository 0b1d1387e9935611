// Package jobmail sends the mails that users ask for with --mail-type, for the jobs of all sites. A [Mailer] follows the log of changes from a mark that the store
// keeps: what a commit calls for becomes an [Entry] of the store before the mark goes on, and an entry is removed when the mail server has taken its mail. So a
// daemon that is killed loses none, and sends one again only if it was killed between the two, under the same Message-ID. [Rules] say to whom mail may go.
// What mails tell of a job beyond its record is asked of [Facts]; the mail server is package federation/reports/mail.
package jobmail

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/records"
	"fsub/federation/reports"
)

// Bounds of mail.
const (
	// PerHour is how many mails of his jobs a user gets in an hour. What is more becomes one mail with a line for each event.
	PerHour = 100
	// mostSingle is how many events of a user that are told at the same time each have a mail; more share one.
	mostSingle = 20
	// MostTasks is how many tasks of an array have mails of their own where ARRAY_TASKS asks for it: the first ones.
	MostTasks = 100
	// MostWaiting is how many mails of a user may wait to be sent, those about time limits too; further ones are left out.
	MostWaiting = 1000
	// mostEntries is how many mails may wait in all. While there are more, the log is read no further.
	mostEntries = 20_000
	// giveUp is how long a mail is tried.
	giveUp = 3 * 24 * time.Hour
	// measureWithin is how long the mail of an end waits for what the site measured.
	measureWithin = time.Minute
	measureAgain  = 5 * time.Second
	// sending is how many users' mails are sent at a time.
	sending = 4
)

// Store is what a Mailer reads, and where it keeps its mark and its entries.
type Store interface {
	journal.Follower
	records.Store
	Job(ctx context.Context, id federation.JobID) (federation.Job, error)
	Jobs(ctx context.Context, q federation.JobQuery) ([]federation.Job, error)
	Attempts(ctx context.Context, id federation.JobID) ([]federation.Attempt, error)
}

// Facts tells of jobs what is not in their records.
type Facts interface {
	// Limit is the job's time limit where it runs; 0: it has none, or it is not known.
	Limit(j *federation.Job) time.Duration
	// Used is what the job's site measured of it.
	Used(ctx context.Context, j *federation.Job) (Used, error)
	// Leads are the coordinators of the account that a job is charged to.
	Leads(j *federation.Job) []string
	// Output is where the output of a job is, and its last lines as far as they can be read with its user's rights.
	Output(ctx context.Context, j *federation.Job, lines int) Output
}

// Used is what a job used of what it held.
type Used struct {
	Known      bool // the site's accounting has told
	CPU, CPUOf time.Duration
	Mem, MemOf int64 // KiB
}

// Output is a job's output.
type Output struct {
	File  string
	Lines []string
	Why   string // there are no lines; "": there is no output
}

// Config is what a Mailer is made of. Registerer, Page and Now may be missing.
type Config struct {
	Store      Store
	Facts      Facts
	Rules      *Rules
	Send       reports.Mailer                   // an error that is federation.ErrInvalid will not pass by trying again
	Page       func(id federation.JobID) string // address of the job's page; nil: there is none
	Host       string                           // what IDs of messages end with
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// Mailer sends mail of jobs.
type Mailer struct {
	Config
	set  records.Set[Entry]
	news chan struct{} // there may be something to send

	mu      sync.Mutex
	waiting map[string]*Entry        // by name
	of      map[string]int           // how many of them a user has
	left    map[string]int           // mails of a user that were left out since his last one
	rates   map[string]*rate.Limiter // of users

	failures int       // of the mail server, one after the other
	quiet    time.Time // nothing is sent until then

	mailed *prometheus.CounterVec
}

// New makes a Mailer.
func New(c Config) *Mailer {
	if c.Now == nil {
		c.Now = time.Now
	}
	m := &Mailer{Config: c, set: entries(c.Store), news: make(chan struct{}, 1), waiting: map[string]*Entry{}, of: map[string]int{}, left: map[string]int{}, rates: map[string]*rate.Limiter{}}
	m.mailed = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fsub_job_mails_total", Help: "Mails of jobs, by what became of them: sent, digest (one for many events), refused by the mail server, left_out because a user has too many."}, []string{"result"})
	for _, result := range []string{"sent", "digest", "refused", "left_out"} {
		m.mailed.WithLabelValues(result)
	}
	if c.Registerer != nil {
		c.Registerer.MustRegister(m.mailed,
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fsub_job_mails_waiting", Help: "Mails of jobs that wait to be sent, those about time limits too."}, func() float64 { return float64(m.count()) }),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fsub_job_mails_failing", Help: "1 while the mail server takes no mail of jobs."}, m.failing))
	}
	return m
}

func (m *Mailer) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiting)
}

func (m *Mailer) failing() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failures > 0 {
		return 1
	}
	return 0
}

// Run follows the log and sends mail until ctx is done.
func (m *Mailer) Run(ctx context.Context) error {
	from, err := m.load(ctx)
	for err != nil {
		if ctx.Err() != nil {
			return nil
		}
		m.Logger.Warn("mails of jobs not read", "err", err)
		if !pause(ctx, lookAgain) {
			return nil
		}
		from, err = m.load(ctx)
	}
	var g errgroup.Group
	g.Go(func() error { m.follow(ctx, from); return nil })
	g.Go(func() error { m.deliver(ctx); return nil })
	return g.Wait()
}

// load reads the mark, and what waits. What came after the mark is read of the log again.
func (m *Mailer) load(ctx context.Context) (at place, err error) {
	if at, err = readPlace(ctx, m.Store); err != nil {
		return at, err
	}
	all, err := m.set.List(ctx, "")
	if err != nil {
		return at, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.waiting)
	clear(m.of)
	for i := range all {
		if e := &all[i]; e.Mark <= at.Mark {
			m.add(e)
		}
	}
	return at, nil
}

// add is for one who holds mu.
func (m *Mailer) add(e *Entry) {
	if m.waiting[e.Name] == nil {
		m.of[e.Owner]++
	}
	m.waiting[e.Name] = e
}

// drop forgets an entry, and then removes it from the store.
func (m *Mailer) drop(ctx context.Context, e *Entry) {
	m.mu.Lock()
	e.done = true
	m.mu.Unlock()
	if err := m.set.Remove(ctx, e.Owner, e.Name); err != nil && !errors.Is(err, federation.ErrNotFound) {
		return // it is tried again, and not sent again
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.waiting, e.Name)
	if m.of[e.Owner]--; m.of[e.Owner] <= 0 {
		delete(m.of, e.Owner)
	}
}

// pause waits, and reports whether ctx is not done.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
