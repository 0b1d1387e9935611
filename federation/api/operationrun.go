package api

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/submission"
	"fsub/federation/audit"
)

// How operations are worked off. A site has at most window requests of theirs open at a time, so that its own answers set the pace, and gets new
// ones at Jobs.Rate: what it has of calls is needed for other things too. At most atOnce are written in one commit.
const (
	operationWindow = 32
	defaultRate     = 100
	itemsAtOnce     = 256
	operationTick   = 100 * time.Millisecond
	operationRest   = 5 * time.Second // while nothing is to be done
)

// waitingItem is what operations wait for.
type waitingItem struct {
	mu sync.Mutex
	on map[action.OperationID][]string
}

func (w *waitingItem) of(id action.OperationID) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.on[id]
}

func (w *waitingItem) set(on map[action.OperationID][]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on = on
}

// worker works off the operations. What it knows it has read from the store; after an error it reads that again.
type operationWorker struct {
	*operations
	open  map[action.OperationID]*operationProgress
	rates map[federation.SiteName]*rate.Limiter
}

// operationProgress is how far an operation has come.
type operationProgress struct {
	op      action.Operation
	items   []action.OperationItem
	settled int
	asked   []int // places of the items whose requests are open
	held    []int // places of those that had to wait for their sites
}

// Run works off the operations until ctx is done: those that an earlier daemon has left, too.
func (s *operations) Run(ctx context.Context) error {
	s.init()
	w := &operationWorker{operations: s, open: map[action.OperationID]*operationProgress{}, rates: map[federation.SiteName]*rate.Limiter{}}
	for {
		pause := operationTick
		if err := w.step(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error("work off operations", "err", err)
			clear(w.open)
			pause = time.Second
		} else if len(w.open) == 0 {
			pause = operationRest
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.wake:
		case <-time.After(pause):
		}
	}
}

func (s *operations) init() { s.once.Do(func() { s.wake = make(chan struct{}, 1) }) }

// poke has Run look for new operations.
func (s *operations) poke() {
	s.init()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// step takes every operation as far as it can go now.
func (w *operationWorker) step(ctx context.Context) error {
	if err := w.read(ctx); err != nil || len(w.open) == 0 {
		w.waiting.set(nil)
		return err
	}
	open, err := w.openRequests(ctx)
	if err != nil {
		return err
	}
	busy := map[federation.SiteName]int{} // requests of operations that are open
	for _, p := range w.inOrder() {
		if err := w.settle(ctx, p, open); err != nil {
			return err
		}
		for _, i := range p.asked {
			busy[p.items[i].Site]++
		}
	}
	asked := false
	for _, p := range w.inOrder() {
		if err := w.grow(ctx, p); err != nil {
			return err
		}
	}
	on := map[action.OperationID][]string{}
	for _, p := range w.inOrder() {
		n, err := w.ask(ctx, p, busy)
		if err != nil {
			return err
		}
		asked = asked || n > 0
		on[p.op.ID] = w.waitsFor(p)
		if p.settled == len(p.items) && len(p.op.Rest) == 0 {
			if err := w.Store.SettleItems(ctx, p.op.ID, nil, w.Now().UTC()); err != nil {
				return err
			}
			delete(w.open, p.op.ID)
		}
	}
	w.waiting.set(on)
	if asked {
		w.Controller.Wake()
	}
	if w.Queue != nil && w.Queue.Complete() { // what is done to very many jobs is not left for the next list to take up at once
		return w.Queue.Follow(ctx)
	}
	return nil
}

// openRequests are the numbers of the requests that are not done yet, from the oldest of an operation on.
func (w *operationWorker) openRequests(ctx context.Context) (map[int64]bool, error) {
	oldest := int64(math.MaxInt64)
	for _, p := range w.open {
		for _, i := range p.asked {
			oldest = min(oldest, p.items[i].Seq)
		}
	}
	if oldest == math.MaxInt64 {
		return nil, nil
	}
	requests, err := w.Store.Requests(ctx, oldest-1)
	open := make(map[int64]bool, len(requests))
	for i := range requests {
		open[requests[i].Seq] = true
	}
	return open, err
}

func (w *operationWorker) inOrder() []*operationProgress {
	var all []*operationProgress
	for _, p := range w.open {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *operationProgress) int { return int(a.op.ID - b.op.ID) })
	return all
}

// read reads the operations that are not known yet.
func (w *operationWorker) read(ctx context.Context) error {
	all, err := w.Store.Operations(ctx, true, 1000)
	if err != nil {
		return err
	}
	for _, op := range all {
		if w.open[op.ID] != nil {
			continue
		}
		p := &operationProgress{op: op}
		if p.items, err = w.Store.OperationItems(ctx, op.ID); err != nil {
			return err
		}
		p.sort(0)
		w.open[op.ID] = p
	}
	return nil
}

// sort takes up how the items from the n-th on stand.
func (p *operationProgress) sort(n int) {
	for i := n; i < len(p.items); i++ {
		switch v := &p.items[i]; {
		case v.Settled > 0:
			p.settled++
		case v.Seq > 0:
			p.asked = append(p.asked, i)
		default:
			p.held = append(p.held, i)
		}
	}
}

// settle writes down what has become of items whose requests are done.
func (w *operationWorker) settle(ctx context.Context, p *operationProgress, open map[int64]bool) error {
	var done []action.OperationItem
	var rest []int
	for _, i := range p.asked {
		v := p.items[i]
		if open[v.Seq] {
			rest = append(rest, i)
			continue
		}
		if why := w.refused(ctx, &p.op, &v); why != "" {
			v.Failed, v.Note = true, notDone(p.op.Verb, why)
		}
		p.settled++
		v.Settled = p.settled
		p.items[i] = v
		done = append(done, v)
	}
	if len(done) == 0 {
		return nil
	}
	p.asked = rest
	return w.Store.SettleItems(ctx, p.op.ID, done, time.Time{})
}

// refused is why the request of an item was not carried out; "": it was. The controller remembers that for a while; the job's history has it for good.
func (w *operationWorker) refused(ctx context.Context, op *action.Operation, v *action.OperationItem) string {
	if c, ok := w.Controller.(interface{ Refusal(seq int64) error }); ok {
		if err := c.Refusal(v.Seq); err != nil {
			return textOf(err)
		}
	}
	events, err := w.Store.Events(ctx, v.Job)
	if err != nil {
		return ""
	}
	for _, e := range slices.Backward(events) {
		if e.At.Before(v.Asked.Add(-time.Second)) {
			break
		}
		if why, ok := strings.CutPrefix(e.Text, string(op.Verb)+" refused: "); ok {
			return why
		}
	}
	return ""
}

// ask gives items their requests, as many as their sites may have now.
func (w *operationWorker) ask(ctx context.Context, p *operationProgress, busy map[federation.SiteName]int) (int, error) {
	var now, later []int
	for k, i := range p.held {
		if len(now) == itemsAtOnce {
			later = append(later, p.held[k:]...)
			break
		}
		site := p.items[i].Site
		if site != "" && (busy[site] >= operationWindow || !w.rate(site).Allow()) {
			later = append(later, i)
			continue
		}
		busy[site]++
		now = append(now, i)
	}
	if len(now) == 0 {
		return 0, nil
	}
	var chosen []action.OperationItem
	for _, i := range now {
		chosen = append(chosen, p.items[i])
	}
	jobs, err := w.jobsOf(ctx, idsOfItems(chosen))
	if err != nil {
		return 0, err
	}
	var asks []action.ItemRequest
	var settled []action.OperationItem
	var asked []int
	for _, i := range now {
		v := &p.items[i]
		job := jobs[v.Job]
		if note, failed := unneeded(&p.op, v, job); note != "" {
			p.settled++
			if failed {
				note = notDone(p.op.Verb, note)
			}
			v.Settled, v.Failed, v.Note = p.settled, failed, note
			settled = append(settled, *v)
			continue
		}
		r := w.request(&p.op, v, job)
		asks = append(asks, action.ItemRequest{N: v.N, Request: r, Audit: auditedItem(&p.op, job, &r)})
		asked = append(asked, i)
	}
	if len(settled) > 0 {
		if err := w.Store.SettleItems(ctx, p.op.ID, settled, time.Time{}); err != nil {
			return 0, err
		}
	}
	if len(asks) > 0 {
		seqs, err := w.Store.AskItems(ctx, p.op.ID, asks)
		if err != nil {
			return 0, err
		}
		for k, i := range asked {
			p.items[i].Seq, p.items[i].Asked = seqs[k], asks[k].Request.At
		}
	}
	p.held, p.asked = later, append(p.asked, asked...)
	return len(asks), nil
}

// notKnown is said of a job that ended so long ago that it was deleted.
const notKnown = "it is not known any more"

// unneeded says why a job does not get its request after all: much may have happened since it was chosen.
func unneeded(op *action.Operation, v *action.OperationItem, job *federation.Job) (note string, failed bool) {
	again := op.Verb == action.Requeue || op.Verb == action.Move
	switch {
	case job == nil:
		return notKnown, op.Verb != action.Cancel
	case again && job.Restarts > v.Restarts:
		return "it was queued again meanwhile", false
	case job.State.Ended() && op.Verb == action.Cancel:
		return "it has ended: " + string(job.State), false
	case job.State.Ended() && !job.End.Before(op.At): // those that had ended when they were chosen were meant
		return "it has ended: " + string(job.State), true
	}
	return "", false
}

// request is what an item is to get.
func (w *operationWorker) request(op *action.Operation, v *action.OperationItem, job *federation.Job) action.Request {
	r := action.Request{Job: v.Job, Tasks: v.Tasks, Kind: op.Verb, UID: op.By.UID, User: op.By.User, Restarts: v.Restarts, At: w.Now().UTC(), Change: op.Change,
		// An operator's hold of a job of their own is a user's hold.
		Operator: op.Operator && (op.Verb != action.Hold || op.By.UID != job.UID)}
	if op.Move != nil {
		to := *op.Move
		to.From = v.Site
		r.Move = &to
	}
	return r
}

func auditedItem(op *action.Operation, job *federation.Job, r *action.Request) []audit.Entry {
	entries := submission.Audited(op.By, job, r)
	for i := range entries {
		entries[i].Why, entries[i].Ticket = strings.TrimSpace(fmt.Sprintf("%s (operation %d)", op.Why, op.ID)), op.Ticket
	}
	return entries
}

func (w *operationWorker) rate(site federation.SiteName) *rate.Limiter {
	l := w.rates[site]
	if l == nil {
		r := float64(defaultRate)
		if w.Rate != nil {
			r = w.Rate(site)
		}
		l = rate.NewLimiter(rate.Limit(r), int(max(1, min(r/2, operationWindow))))
		w.rates[site] = l
	}
	return l
}

// waitsFor are the sites that do not answer and still have to do something.
func (w *operationWorker) waitsFor(p *operationProgress) (on []string) {
	needed := map[federation.SiteName]bool{}
	for _, i := range slices.Concat(p.asked, p.held) {
		needed[p.items[i].Site] = true
	}
	for _, site := range w.Controller.Sites() {
		if needed[site.Name] && !site.Answering {
			on = append(on, fmt.Sprintf("%s does not answer", site.Name))
		}
	}
	return on
}
