package controller

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/fairshare"
	"fsub/federation/fragment"
	"fsub/federation/health"
	"fsub/federation/idle"
	"fsub/federation/place"
	"fsub/federation/spending"
)

// View is what the rest of the daemon sees of the controller. Its methods may be called at any time, by any goroutine. It never waits for a round, but where it
// says so, and a round never waits for it.
type View struct {
	*judging
	fairShare *fairshare.Shares

	published time.Time
	behind    bool // something may have changed since, and it was too soon to publish it
	wake      chan struct{}

	joinMu  sync.Mutex
	joining []Site // that are to be taken in
	tuning  *Tuning

	mu     sync.Mutex
	seqs   doneSeqs                     // the requests that have been carried out
	done   chan struct{}                // closed when there are more of them
	lookAt map[federation.SiteName]bool // true: though it does not answer

	after []func(*forecasts) // see afterRound

	starts    question[decision.Starts]
	spendings question[spending.Spendings]

	refused refusals
	told    atomic.Pointer[health.Report] // what the rules of health know
	aside   atomic.Pointer[[]federation.JobID]

	fragments fragment.Book
	idle      atomic.Pointer[[]idle.Held]
}

func newView(cfg Config, m *metrics) *View {
	j := &judging{now: cfg.Now, store: cfg.Store, faults: faults{cfg.Logger, m}, maxArray: cfg.MaxArray, priced: cfg.Priced,
		runs: &runTimes{book: cfg.Runs, share: cfg.Policy.Share(), outlasted: new(sync.Map)}, world: place.NewWorld(cfg.Policy, 0)}
	j.limits.Store(&limits{book: cfg.Quota, fraction: cfg.Policy.RunFraction})
	j.shown.Store(&viewOfSites{judged: &judgements{}})
	return &View{judging: j, fairShare: cfg.FairShare, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// publishEvery bounds how often the sites are copied; what is judged by them need not be newer.
const publishEvery = 200 * time.Millisecond

// publish makes the sites as they are now visible, and which jobs are left alone.
func (v *View) publish(sites *roster, world *place.World, aside []federation.JobID) {
	v.aside.Store(&aside)
	last := v.shown.Load()
	old := last.sites
	v.behind = len(old) == len(sites.all) && v.now().Sub(v.published) < publishEvery
	if v.behind {
		return
	}
	v.published = v.now()
	next := &viewOfSites{judged: &judgements{}}
	same := len(old) == len(sites.all)
	for i, s := range sites.all {
		copied := s.Site
		for _, b := range world.Bound(s.Name) {
			job := *b.Job
			b.Job = &job
			copied.Bound = append(copied.Bound, b)
		}
		next.sites = append(next.sites, &copied)
		same = same && old[i].Name == copied.Name && old[i].Seen == copied.Seen && old[i].Answering == copied.Answering && old[i].State == copied.State && old[i].Payers == copied.Payers
	}
	if same && !last.judged.full() { // judgements do not depend on what is bound
		next.judged = last.judged
	}
	v.shown.Store(next)
}

func (v *View) settled(done []int64) {
	if len(done) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, seq := range done {
		v.seqs.add(seq)
	}
	close(v.done)
	v.done = make(chan struct{})
}

// Wake tells the controller that the store has something new.
func (v *View) Wake() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// LookAt asks for a look at a site's jobs out of turn. Looks follow each other no faster than lookGap.
func (v *View) LookAt(site federation.SiteName) {
	v.mu.Lock()
	if v.lookAt == nil {
		v.lookAt = map[federation.SiteName]bool{}
	}
	if _, asked := v.lookAt[site]; !asked {
		v.lookAt[site] = false
	}
	v.mu.Unlock()
	v.Wake()
}

// LookAgain has a site looked at now, though it has not answered: somebody has seen that it does.
func (v *View) LookAgain(site federation.SiteName) {
	v.mu.Lock()
	if v.lookAt == nil {
		v.lookAt = map[federation.SiteName]bool{}
	}
	v.lookAt[site] = true
	v.mu.Unlock()
	v.Wake()
}

const lookGap = 100 * time.Millisecond

// wanted returns the sites that LookAt was called for, with true those of LookAgain.
func (v *View) wanted() map[federation.SiteName]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	sites := v.lookAt
	v.lookAt = nil
	return sites
}

// Sites returns the members of the federation as last published. The values are shared: they are not changed.
func (v *View) Sites() []*federation.Site { return v.shown.Load().sites }

// Aside returns the jobs that the controller leaves alone for a while, because it cannot go on with them.
func (v *View) Aside() []federation.JobID {
	if ids := v.aside.Load(); ids != nil {
		return *ids
	}
	return nil
}

// Settled waits until each of the requests seqs has been carried out as far as no site is needed, or for at most d. They were written just now: of one that was done long
// ago, or by a daemon before this one, nothing is known.
func (v *View) Settled(ctx context.Context, seqs []int64, d time.Duration) {
	timeout := time.After(d)
	for {
		v.mu.Lock()
		seqs = v.seqs.missing(seqs)
		done := v.done
		v.mu.Unlock()
		if len(seqs) == 0 {
			return
		}
		select {
		case <-done:
		case <-timeout:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Fragments tells how whole the free GPUs of a site are, by what has been asked for lately.
func (v *View) Fragments(site *federation.Site) []fragment.Score { return v.fragments.Of(site) }

// Idle returns the running jobs that leave idle what they hold, in order. It is shared: it is not changed.
func (v *View) Idle() []idle.Held {
	if all := v.idle.Load(); all != nil {
		return *all
	}
	return nil
}
