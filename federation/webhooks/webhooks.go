// Package webhooks posts what happens to addresses that users name. A [Hub] reads the log of changes once for all; each [Endpoint] follows it from a mark of its own, which
// the store keeps, so that each event is delivered at least once, in order, whatever becomes of the daemon or the endpoint meanwhile. Requests are signed as Standard Webhooks
// says (sign.go), and go to no address that the operator has not allowed (dial.go). What an event says, and who may see it, a [Source] knows.
package webhooks

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/federation/journal"
	"fsub/federation/records"
)

// Bounds.
const (
	Most       = 20      // endpoints of a user
	PerSecond  = 10      // events that an endpoint gets in a second
	Tries      = 10      // of one event, over three days; then the endpoint is off
	mostAnswer = 1 << 10 // bytes that are read of an answer
	mostEvents = 20_000  // of the newest that are held for all endpoints
	keepTries  = 50      // of an endpoint that are remembered
	// saveEvery is how often the mark of an endpoint is written down while all goes well, restEvery while nothing is for it.
	saveEvery, restEvery = 5 * time.Second, time.Minute
)

// postTime is how long an endpoint may take to answer; tests shorten it.
var postTime = 20 * time.Second

// Endpoint is an address that events are posted to. It is stored as it stands here.
type Endpoint struct {
	Definition `json:"definition"`
	State      `json:"state"`
	Plain      string `json:"-"` // the newest secret, when it was made
}

// Definition is what its owner has said of an endpoint.
type Definition struct {
	Owner, Name string
	UID         uint32
	URL         string
	Where       []string `json:",omitempty"`
	Secrets     []Secret // the newest first
	Made        time.Time
	Turn        int // counts what has set State otherwise than by deliveries
}

// State is how far an endpoint has come.
type State struct {
	Mark      journal.Mark // of the commit of the last event that was delivered, or is not for it
	Index     int          // of that event in its commit; what has a higher one, or a later mark, comes next
	Since     time.Time    `json:",omitzero"`  // what is older is left out
	Tries     int          `json:",omitempty"` // of the event that comes next
	Next      time.Time    `json:",omitzero"`  // when it is tried again
	Error     string       `json:",omitempty"` // of the last try that failed
	Off       string       `json:",omitempty"` // why nothing is sent; "": it is on
	Delivered int64
	Last      time.Time `json:",omitzero"` // delivery
}

// Event is something that happened, as endpoints get it.
type Event struct {
	Mark  journal.Mark
	Index int
	At    time.Time
	Type  string // "fsub.job.end"
	About string // the job, node or site
	Data  any    // as JSON
	// UID and Account are those of the event's job; Of: there is one that is known. What is no job's is for operators.
	Of      bool
	UID     uint32
	Account string
}

// Page is a part of the log.
type Page struct {
	Events []Event
	Mark   journal.Mark // to go on from
	Full   bool         // there may be more at once
}

// Source reads events, and knows for whom they are.
type Source interface {
	// Events reads what follows a mark. ErrTrimmed: the log no longer goes back to it.
	Events(ctx context.Context, after journal.Mark) (Page, error)
	// Filter says which events an endpoint gets: those that its owner may see and that meet all conditions, which are those of GET /fed/v1/events. What it returns is called
	// for the rights that the owner has then.
	Filter(d *Definition) (func() func(*Event) bool, error)
	// Wide reports whether an endpoint's owner may now see more than what is about jobs of the owner's own.
	Wide(d *Definition) bool
}

// Config is what a Hub is made of. All but Tell, Roots, Now and Registerer is required.
type Config struct {
	Federation string
	Records    records.Store
	Source     Source
	Box        *Box // seals secrets
	Allow      *Allowed
	// Tell tells an endpoint's owner that it is off now; nil: nobody is told.
	Tell       func(ctx context.Context, owner, subject, text string) error
	Transport  http.RoundTripper // nil: one that dials what Allow allows
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// Hub delivers events to all endpoints.
type Hub struct {
	Config
	set    records.Set[Endpoint]
	client *http.Client
	tail   *tail
	behind chan struct{} // slots of those that read the log by themselves
	saves  chan struct{} // slots of those that write down how far they have come
	kick   chan struct{} // endpoints were changed

	mu     sync.Mutex
	runs   map[key]*worker
	counts *prometheus.CounterVec
}

type key struct{ owner, name string }

// Kept are the endpoints that a store keeps.
func Kept(st records.Store) records.Set[Endpoint] {
	return records.Set[Endpoint]{Store: st, Kind: "webhook", Key: func(e *Endpoint) (owner, name *string) { return &e.Owner, &e.Name }}
}

// New makes a Hub.
func New(c Config) *Hub {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Transport == nil {
		c.Transport = c.Allow.transport()
	}
	h := &Hub{Config: c, set: Kept(c.Records), tail: &tail{}, behind: make(chan struct{}, 4), saves: make(chan struct{}, 4), kick: make(chan struct{}, 1), runs: map[key]*worker{}}
	h.client = &http.Client{Transport: c.Transport, Timeout: postTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	h.counts = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fsub_webhook_posts_total", Help: "Posts of events to webhooks, by what became of them: delivered, failed, gone (the endpoint wants no more), off (given up)."}, []string{"result"})
	for _, result := range []string{"delivered", "failed", "gone", "off"} {
		h.counts.WithLabelValues(result)
	}
	if c.Registerer != nil {
		c.Registerer.MustRegister(h.counts,
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fsub_webhook_endpoints", Help: "Endpoints of webhooks that are on."}, func() float64 { on, _ := h.count(); return on }),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fsub_webhook_endpoints_failing", Help: "Of those, the ones whose next event was tried and not delivered yet."}, func() float64 { _, failing := h.count(); return failing }))
	}
	return h
}

func (h *Hub) count() (on, failing float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.runs {
		on++
		if w.tried() > 0 {
			failing++
		}
	}
	return on, failing
}

// Changed has the Hub look at the endpoints again.
func (h *Hub) Changed() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

const (
	lookAgain = 200 * time.Millisecond // at the log
	listEvery = 30 * time.Second       // endpoints are looked at, though nobody says that they were changed
)

// Run delivers until ctx is done.
func (h *Hub) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { h.follow(ctx) })
	look := time.NewTicker(listEvery)
	defer look.Stop()
	for {
		if err := h.refresh(ctx, &all); err != nil && ctx.Err() == nil {
			h.Logger.Warn("webhooks not read", "err", err)
		}
		select {
		case <-look.C:
		case <-h.kick:
		case <-ctx.Done():
			return nil
		}
	}
}

// refresh starts what is new, ends what is gone, and starts again what was changed.
func (h *Hub) refresh(ctx context.Context, all *sync.WaitGroup) error {
	list, err := h.set.List(ctx, "")
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	is := map[key]*Endpoint{}
	for i := range list {
		if e := &list[i]; e.Off == "" {
			is[key{e.Owner, e.Name}] = e
		}
	}
	for k, w := range h.runs {
		if e := is[k]; e == nil || !reflect.DeepEqual(e.Definition, w.is.Definition) {
			w.stop()
			delete(h.runs, k)
		}
	}
	for k, e := range is {
		if h.runs[k] != nil {
			continue
		}
		w, err := newWorker(h, e)
		if err != nil {
			h.Logger.Warn("webhook cannot be served", "webhook", e.Name, "user", e.Owner, "err", err)
			continue
		}
		var with context.Context
		with, w.stop = context.WithCancel(ctx)
		h.runs[k] = w
		all.Go(func() { w.run(with) })
	}
	return nil
}

// worker returns the one of an endpoint that is on; nil: there is none.
func (h *Hub) worker(owner, name string) *worker {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[key{owner, name}]
}

// follow reads the log for all endpoints.
func (h *Hub) follow(ctx context.Context) {
	mark, failed := journal.Mark(0), ""
	for ctx.Err() == nil {
		page, err := h.Source.Events(ctx, mark)
		switch {
		case err != nil:
			mark = 0 // begin again at the end; those that are behind read by themselves
			h.tail.reset()
			if err.Error() != failed && ctx.Err() == nil {
				h.Logger.Warn("webhooks: the log was not read", "err", err)
			}
			failed = err.Error()
		case mark == 0:
			h.tail.begin(page.Mark)
			h.wake(nil, mark)
			mark, failed = page.Mark, ""
		default:
			h.tail.add(page)
			h.wake(&page, mark)
			mark, failed = page.Mark, ""
		}
		if err == nil && page.Full {
			continue
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
		}
	}
}

// wake wakes the workers that a page which follows a mark may have something for; the others have it behind them. nil: all are woken.
func (h *Hub) wake(page *Page, mark journal.Mark) {
	if page != nil && page.Mark == mark {
		return
	}
	uids, others := map[uint32]bool{}, false
	if page != nil {
		for i := range page.Events {
			e := &page.Events[i]
			others = true
			if e.Of {
				uids[e.UID] = true
			}
		}
	}
	h.mu.Lock()
	runs := slices.Collect(maps.Values(h.runs))
	h.mu.Unlock() // who may see what is asked of the machine's directory, which may take its time
	for _, w := range runs {
		if page != nil && !uids[w.is.UID] && !(others && w.isWide()) && w.passed(mark, page.Mark) {
			continue
		}
		select {
		case w.kick <- struct{}{}:
		default:
		}
	}
}

// Owned reports what an endpoint's State is now, with what is not written down yet.
func (h *Hub) Owned(e *Endpoint) State {
	if w := h.worker(e.Owner, e.Name); w != nil && reflect.DeepEqual(w.is.Definition, e.Definition) {
		return w.state()
	}
	return e.State
}

// Deliveries are the last tries of an endpoint, the newest first. They are those of this daemon since it leads.
func (h *Hub) Deliveries(owner, name string) []Try {
	if w := h.worker(owner, name); w != nil {
		return w.tries()
	}
	return nil
}
