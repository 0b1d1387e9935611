package agent

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"fsub/cloud/agentapi"
)

// news is what the daemon has not confirmed yet: the latest status of each run, which replaces earlier ones.
type news struct {
	mu     sync.Mutex
	runs   map[string]told
	notice *agentapi.Notice
	use    []agentapi.InUse // the newest readings
	beats  []agentapi.Beat  // likewise
	serial int
	some   chan struct{} // has an element when there may be something to tell
}

// told is a status with its number: if it changed while it was sent, it is sent again.
type told struct {
	serial int
	status agentapi.Status
}

func newNews() *news { return &news{runs: map[string]told{}, some: make(chan struct{}, 1)} }

func (n *news) wake() {
	select {
	case n.some <- struct{}{}:
	default:
	}
}

func (n *news) tell(s agentapi.Status) {
	n.mu.Lock()
	n.serial++
	if s.State != agentapi.RunEnded { // which has all of them
		s.Steps = newer(n.runs[s.Run].status.Steps, s.Steps)
	}
	n.runs[s.Run] = told{n.serial, s}
	n.mu.Unlock()
	n.wake()
}

// newer returns steps plus those that were reported before and not confirmed. Neither argument is changed.
func newer(before, now []agentapi.Step) []agentapi.Step {
	if len(before) == 0 {
		return now
	}
	list := slices.Clone(before)
	at := make(map[string]int, len(list))
	for i := range list {
		at[list[i].ID] = i
	}
	for _, s := range now {
		if i, ok := at[s.ID]; ok {
			list[i] = s
		} else {
			list = append(list, s)
		}
	}
	return list
}

func (n *news) tellNotice(notice agentapi.Notice) {
	n.mu.Lock()
	n.notice = &notice
	n.mu.Unlock()
	n.wake()
}

func (n *news) tellUse(use []agentapi.InUse) {
	n.mu.Lock()
	n.use = use
	n.mu.Unlock()
	n.wake()
}

func (n *news) tellBeats(beats []agentapi.Beat) {
	n.mu.Lock()
	n.beats = beats
	n.mu.Unlock()
	n.wake()
}

func (n *news) drop(run string) {
	n.mu.Lock()
	delete(n.runs, run)
	n.mu.Unlock()
}

// next returns all that is to be reported, and a function that records its confirmation.
func (n *news) next() (r agentapi.Report, done func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	sent := map[string]int{}
	for id, t := range n.runs {
		r.Runs = append(r.Runs, t.status)
		sent[id] = t.serial
	}
	slices.SortFunc(r.Runs, func(x, y agentapi.Status) int { return n.runs[x.Run].serial - n.runs[y.Run].serial })
	r.Notice, r.Use, n.use, r.Beats, n.beats = n.notice, n.use, nil, n.beats, nil // a reading that is lost is not told again: it would be an old one
	return r, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for id, serial := range sent {
			if n.runs[id].serial == serial {
				delete(n.runs, id)
			}
		}
		if n.notice == r.Notice {
			n.notice = nil
		}
	}
}

// loadEvery is the interval of reports about the machine as a whole.
const loadEvery = time.Minute

// report tells the daemon at once what there is to tell, and again until it was answered.
func (a *Agent) report(ctx context.Context) {
	loads := time.NewTicker(loadEvery)
	defer loads.Stop()
	wait := newBackoff()
	for {
		load := false
		select {
		case <-a.news.some:
		case <-loads.C:
			load = true
		case <-ctx.Done():
			return
		}
		r, done := a.news.next()
		if load {
			r.Load = machineLoad()
		}
		if len(r.Runs) == 0 && r.Notice == nil && r.Load == nil && r.Use == nil && r.Beats == nil {
			continue
		}
		if err := a.tell(ctx, r); err != nil {
			a.log.Warn("report not taken", "err", err)
			if denied(err) || wait.sleep(ctx) != nil {
				return
			}
			a.news.wake()
			continue
		}
		wait.reset()
		done()
	}
}

func (a *Agent) tell(ctx context.Context, r agentapi.Report) error {
	began := time.Now()
	err := a.server.call(ctx, callTime, agentapi.PathReport, a.server.session, r, nil)
	var no *refused
	switch {
	case err == nil:
		a.lease.renew(began, 0)
	case errors.As(err, &no) && no.code == http.StatusRequestEntityTooLarge && len(r.Runs) > 1: // many runs with many steps
		for _, s := range r.Runs {
			if err := a.tell(ctx, agentapi.Report{Runs: []agentapi.Status{s}}); err != nil {
				return err
			}
		}
		r.Runs = nil
		return a.tell(ctx, r)
	}
	return err
}

// lastWords tells the daemon that the machine ends, if it can still be heard.
func (a *Agent) lastWords() {
	patience := 5 * time.Second
	if a.lease.left() <= 0 {
		patience = time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for wait := newBackoff(); ; {
		r, _ := a.news.next()
		a.mu.Lock()
		r.Ending = a.ending
		a.mu.Unlock()
		if err := a.tell(ctx, r); err == nil || denied(err) || wait.sleep(ctx) != nil {
			return
		}
	}
}
