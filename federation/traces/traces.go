// Package traces sends one OpenTelemetry trace of each job that has ended to a collector. A trace is made of the job's stored history when the job ends: nothing is held in
// memory meanwhile, and a daemon that is killed loses no span. How far the log of changes was read is written down after the collector has taken what came before,
// so that each trace is sent at least once; its spans have the same identities each time.
package traces

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/records"
	"fsub/sbatch"
)

// Store is what traces are made of.
type Store interface {
	journal.Follower
	records.Store
	Jobs(ctx context.Context, q federation.JobQuery) ([]federation.Job, error)
	Attempts(ctx context.Context, id federation.JobID) ([]federation.Attempt, error)
	Payload(ctx context.Context, id federation.JobID) (sbatch.Payload, error)
}

// ErrRefused means that a collector has got spans and takes them neither now nor later.
var ErrRefused = errors.New("the collector refuses these spans")

// Config is what an exporter is made of.
type Config struct {
	Store Store
	// Upload sends spans to the collector. [ErrRefused]: it will never take these.
	Upload     func(context.Context, []*trace.ResourceSpans) error
	Federation string
	Version    string
	// Share of the traces that are sent, from 0 to 1. Jobs that fail are sent always, and those whose submitter has them sampled.
	Share      float64
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time // nil: time.Now
}

// Exporter sends traces.
type Exporter struct {
	cfg  Config
	sent *prometheus.CounterVec
}

// New returns an exporter. Call [Exporter.Run].
func New(c Config) *Exporter {
	if c.Now == nil {
		c.Now = time.Now
	}
	e := &Exporter{cfg: c, sent: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fsub_traces_total", Help: "Traces of jobs, by what became of them: sent, refused by the collector."}, []string{"result"})}
	if c.Registerer != nil {
		c.Registerer.MustRegister(e.sent)
	}
	return e
}

// place is how far the log was read. It belongs to no user.
type place struct {
	Owner, Name string
	Mark        journal.Mark
}

func places(s records.Store) records.Set[place] {
	return records.Set[place]{Store: s, Kind: "trace-mark", Key: func(p *place) (owner, name *string) { return &p.Owner, &p.Name }}
}

const nobody, theMark = "-", "mark"

const (
	lookAgain  = time.Second      // between two looks at the log
	tryAgain   = 5 * time.Second  // after a collector has not answered; doubled up to longest
	longest    = 5 * time.Minute  // between two tries
	pageSize   = 64               // commits that are read at a time
	placeEvery = 30 * time.Second // how often the mark is written down while no job ends
	mostSpans  = 2000             // in one request: some 500 KB
)

// Run follows the log until ctx is done.
func (e *Exporter) Run(ctx context.Context) error {
	at, err := e.begin(ctx)
	written, failures := at, 0
	for wrote := e.cfg.Now(); ; {
		wait := lookAgain
		if err == nil {
			var next journal.Mark
			var full, sent bool
			if next, full, sent, err = e.page(ctx, at.Mark); err == nil {
				at.Mark = next
				if at.Mark != written.Mark && (sent || e.cfg.Now().Sub(wrote) > placeEvery) {
					err = places(e.cfg.Store).Put(ctx, &at)
					written, wrote = at, e.cfg.Now()
				}
				if full && err == nil {
					wait = 0
				}
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			failures = 0
		default:
			if failures == 0 {
				e.cfg.Logger.Warn("traces of jobs are not sent; they are when the collector answers again", "err", err)
			}
			wait = min(tryAgain<<min(failures, 10), longest)
			failures++
			if at.Name == "" {
				at, err = e.begin(ctx)
			} else {
				at, err = written, nil
			}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

// begin reads where to go on. Where nothing was read yet it is the end of the log.
func (e *Exporter) begin(ctx context.Context) (place, error) {
	at, err := places(e.cfg.Store).Find(ctx, nobody, theMark)
	if !errors.Is(err, federation.ErrNotFound) {
		return at, err
	}
	log, err := e.cfg.Store.Changes(ctx, 0, 1)
	if err != nil {
		return place{}, err
	}
	at = place{Owner: nobody, Name: theMark, Mark: after(log.Mark)}
	return at, places(e.cfg.Store).Put(ctx, &at)
}

// after is a mark to read on from. That of a log in which nothing was written yet asks for the newest.
func after(m journal.Mark) journal.Mark {
	if m == 0 {
		return journal.OldestMark
	}
	return m
}

// page reads a page of the log, and sends the traces of the jobs that ended in it. full: there may be more at once. sent: some were sent.
func (e *Exporter) page(ctx context.Context, at journal.Mark) (next journal.Mark, full, sent bool, err error) {
	log, err := e.cfg.Store.Changes(ctx, at, pageSize)
	if errors.Is(err, federation.ErrTrimmed) {
		e.cfg.Logger.Error("traces of jobs: the log of changes no longer goes back to where it was read last; jobs that ended since are left out as far as it lacks them")
		log, err = e.cfg.Store.Changes(ctx, journal.OldestMark, pageSize)
	}
	if err != nil {
		return at, false, false, err
	}
	var ids []federation.JobID
	for i := range log.Commits {
		for k := range log.Commits[i].Changes {
			if c := &log.Commits[i].Changes[k]; c.Move != nil && c.Move.What == journal.MoveEnd && c.Job != 0 {
				ids = append(ids, c.Job)
			}
		}
	}
	for len(ids) > 0 { // a commit may tell of many thousand
		some := ids[:min(len(ids), 500)]
		ids = ids[len(some):]
		if err := e.send(ctx, some); err != nil {
			return at, false, false, err
		}
		sent = true
	}
	return after(log.Mark), len(log.Commits) == pageSize, sent, nil
}

// send sends the traces of jobs.
func (e *Exporter) send(ctx context.Context, ids []federation.JobID) error {
	jobs, err := e.cfg.Store.Jobs(ctx, federation.JobQuery{IDs: ids, Alone: true})
	if err != nil {
		return err
	}
	var all []*trace.Span
	n := 0
	flush := func() error {
		if len(all) == 0 {
			return nil
		}
		result := "sent"
		if err := e.cfg.Upload(ctx, e.cfg.request(all)); errors.Is(err, ErrRefused) { // else it would keep back all that come later
			result = "refused"
			e.cfg.Logger.Error("traces of jobs are lost", "traces", n, "err", err)
		} else if err != nil {
			return err
		}
		e.sent.WithLabelValues(result).Add(float64(n))
		all, n = nil, 0
		return nil
	}
	for i := range jobs {
		j := &jobs[i]
		if !j.State.Ended() || j.Whole != nil { // it was requeued by hand since; an array's tasks have traces of their own
			continue
		}
		p, err := e.cfg.Store.Payload(ctx, j.PayloadOf())
		if err != nil && !errors.Is(err, federation.ErrNotFound) {
			return err
		}
		id := IdentityOf(e.cfg.Federation, j, p.Environment)
		if !id.Sampled(e.cfg.Share) && !failed(j.State) {
			continue
		}
		attempts, err := e.cfg.Store.Attempts(ctx, j.ID)
		if err != nil {
			return err
		}
		all, n = append(all, spansOf(&id, j, attempts, e.cfg.Now())...), n+1
		if len(all) >= mostSpans {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
