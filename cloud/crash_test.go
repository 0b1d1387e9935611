package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/cloudtest"
	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/tunnel"
	"fsub/sbatch"
)

// life is one life of the daemon: from a start to a kill -9. It counts the calls that cross the daemon's border, and dies at the one that it is told
// to, before or after it is done. A dead daemon's calls do nothing.
type life struct {
	mu     sync.Mutex
	calls  int
	ops    []string
	dieAt  int // 0: never
	after  bool
	dead   bool
	killed chan struct{}
}

var errDead = fmt.Errorf("the daemon is dead: %w", federation.ErrUnavailable)

// cross is a call over the border.
func (l *life) cross(op string, do func() error) error {
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		return errDead
	}
	l.calls++
	l.ops = append(l.ops, op)
	dies := l.calls == l.dieAt
	if dies && !l.after {
		l.die()
	}
	l.mu.Unlock()
	if dies && !l.after {
		return errDead
	}
	err := do()
	l.mu.Lock()
	defer l.mu.Unlock()
	if dies {
		l.die()
	}
	if l.dead {
		return errDead
	}
	return err
}

func (l *life) die() {
	l.dead = true
	close(l.killed)
}

func crossed[T any](l *life, op string, do func() (T, error)) (out T, err error) {
	err = l.cross(op, func() (err error) { out, err = do(); return err })
	return out, err
}

type lifeStore struct {
	*cloudtest.Store
	l *life
}

func (s lifeStore) CommitPool(ctx context.Context, site federation.SiteName, put []records.PoolRecord) error {
	time.Sleep(50 * time.Millisecond) // long enough for others to see what is not durable yet
	err := s.l.cross("CommitPool", func() error { return s.Store.CommitPool(ctx, site, put) })
	time.Sleep(50 * time.Millisecond)
	return err
}

func (s lifeStore) NextPoolNumber(ctx context.Context, site federation.SiteName, kind records.PoolKind) (int64, error) {
	return s.Store.NextPoolNumber(ctx, site, kind) // a number that is lost is no matter
}

type lifeProvider struct {
	p *cloudtest.Provider
	l *life
}

func (p lifeProvider) Offerings(ctx context.Context) ([]provider.Offering, error) {
	return p.p.Offerings(ctx)
}
func (p lifeProvider) Create(ctx context.Context, r provider.Request) ([]provider.Instance, error) {
	return crossed(p.l, "Create", func() ([]provider.Instance, error) { return p.p.Create(ctx, r) })
}
func (p lifeProvider) List(ctx context.Context) ([]provider.Instance, error) {
	return crossed(p.l, "List", func() ([]provider.Instance, error) { return p.p.List(ctx) })
}

func (p lifeProvider) Withdraw(ctx context.Context, token string) error {
	return p.l.cross("Withdraw", func() error { return p.p.Withdraw(ctx, token) })
}

func (p lifeProvider) Delete(ctx context.Context, ids []provider.InstanceID) error {
	return p.l.cross("Delete", func() error { return p.p.Delete(ctx, ids) })
}

type lifeServer struct {
	*cloudtest.AgentServer
	l *life
}

func (d lifeServer) Add(site federation.SiteName, a cloud.Agents) {
	d.AgentServer.Add(site, lifeAgents{a, d.l})
}

type lifeAgents struct {
	a cloud.Agents
	l *life
}

func (a lifeAgents) Hello(ctx context.Context, gang string, h agentapi.Hello) (cloud.Let, error) {
	return crossed(a.l, "Hello", func() (cloud.Let, error) { return a.a.Hello(ctx, gang, h) })
}
func (a lifeAgents) Poll(ctx context.Context, m cloud.MachineID, p agentapi.Poll) (agentapi.Orders, error) {
	return crossed(a.l, "Poll", func() (agentapi.Orders, error) { return a.a.Poll(ctx, m, p) })
}
func (a lifeAgents) Report(ctx context.Context, m cloud.MachineID, r agentapi.Report) error {
	return a.l.cross("Report", func() error { return a.a.Report(ctx, m, r) })
}
func (a lifeAgents) Log(ctx context.Context, m cloud.MachineID, run, stream string, offset int64, body io.Reader) (int64, error) {
	return a.a.Log(ctx, m, run, stream, offset, body)
}
func (a lifeAgents) Owner(ctx context.Context, m cloud.MachineID, run string) (string, error) {
	return a.a.Owner(ctx, m, run)
}

func (a lifeAgents) Stream(m cloud.MachineID, id string, accept func() (tunnel.End, error)) error {
	return a.a.Stream(m, id, accept)
}

func (a lifeAgents) Asking(run string) func() { return a.a.Asking(run) }

// born starts a driver in a life of its own.
func (w *world) born(dieAt int, after bool) *life {
	w.Helper()
	l := &life{dieAt: dieAt, after: after, killed: make(chan struct{})}
	cfg := w.cfg
	w.cfg.Store, w.cfg.Provider, w.cfg.AgentServer = lifeStore{w.store, l}, lifeProvider{w.cloud, l}, lifeServer{w.server, l}
	w.start()
	w.cfg = cfg
	return l
}

// story is what happens in the enumeration: jobs that a controller hands over and follows, through the death of the daemon.
type story struct {
	*world
	life   *life
	subs   []federation.Submission
	taken  []bool
	cancel map[federation.JobID]bool
	ended  map[federation.JobID]federation.SiteJob
	again  func() (dieAt int, after bool) // when the next life ends; nil: it does not
	deaths int
}

func newStory(t *testing.T, dieAt int, after bool) *story {
	s := &story{world: newWorld(t), cancel: map[federation.JobID]bool{}, ended: map[federation.JobID]federation.SiteJob{}}
	s.cloud.Offers = append(s.cloud.Offers, offer("big", 2))
	nodes := func(n int) func(*federation.Submission) {
		return func(sub *federation.Submission) { sub.Job.Spec.MinNodes, sub.Job.Spec.MaxNodes = n, n }
	}
	s.subs = append(s.subs, s.job("sleep 5", nil), s.job("sleep 5", nodes(2)), s.job("sleep 300", nil), s.job("exit 3", func(sub *federation.Submission) {
		sub.Job.Spec.Het = []sbatch.Spec{*sub.Job.Spec}
		sub.Offer.Parts = []decision.Offer{{Partition: "main", Offering: "small"}, {Partition: "main", Offering: "big"}}
	}))
	s.cancel[s.subs[2].Job.ID] = true
	s.taken = make([]bool, len(s.subs))
	s.life = s.born(dieAt, after)
	return s
}

// play follows the jobs until all have ended and no machine is left.
func (s *story) play() {
	deadline := time.Now().Add(2 * time.Hour)
	for !s.over() {
		if time.Now().After(deadline) {
			s.Errorf("not over after two hours: %d of %d jobs ended, machines %+v", len(s.ended), len(s.subs), s.cloud.Living())
			return
		}
		select {
		case <-s.life.killed:
			s.stop()
			time.Sleep(2 * time.Second)
			dieAt, after := 0, false
			if s.again != nil {
				dieAt, after = s.again()
			}
			s.life = s.born(dieAt, after)
		case <-time.After(500 * time.Millisecond):
		}
		for i := range s.subs {
			s.follow(i)
		}
	}
}

func (s *story) over() bool {
	return len(s.ended) == len(s.subs) && len(s.cloud.Living()) == 0 && s.booksClosed()
}

func (s *story) booksClosed() bool {
	for _, kind := range []records.PoolKind{records.PoolGang, records.PoolMachine} {
		for _, r := range s.records(kind) {
			if r.Closed.IsZero() {
				return false
			}
		}
	}
	return true
}

// follow does for one job what a controller would: hand it over until that is certain, cancel it, see it end.
func (s *story) follow(i int) {
	ctx, sub := context.Background(), s.subs[i]
	id := sub.Job.ID
	if _, ok := s.ended[id]; ok {
		return
	}
	if !s.taken[i] {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, err := s.driver.Submit(ctx, sub)
		s.taken[i] = err == nil
		if err != nil {
			s.subs[i].First = false
		}
		return
	}
	j, err := s.driver.Lookup(ctx, federation.JobRef{ID: id, Key: sub.Key})
	switch {
	case errors.Is(err, federation.ErrNotFound):
		s.Errorf("job %d was acknowledged and is not known", id)
	case err != nil:
	case j.State.Ended():
		s.ended[id] = j
	case s.cancel[id] && j.State == federation.Running:
		_ = s.driver.Cancel(ctx, federation.JobRef{ID: id}, nil)
	}
}

// check says what must be true however often the daemon died.
func (s *story) check(machines int) {
	s.sound()
	for i, want := range []federation.State{federation.Completed, federation.Completed, federation.Cancelled, federation.Failed} {
		id := s.subs[i].Job.ID
		if j, ran := s.ended[id], s.cloud.Job(id); j.State != want || ran.Starts != 1 {
			s.Errorf("job %d ended %s (%s %s) and was started %d times, want %s and once", id, j.State, j.Reason, j.Detail, ran.Starts, want)
		}
	}
	if n := len(s.cloud.Machines()); machines > 0 && n != machines {
		s.Errorf("%d machines were created, want %d", n, machines)
	}
	for _, m := range s.cloud.Machines() {
		s.recorded(m)
	}
}

// recorded fails unless a machine is in the records, with what it cost.
func (s *story) recorded(m provider.Instance) {
	for _, r := range s.records(records.PoolMachine) {
		if text := string(r.Data); strings.Contains(text, `"instance":"`+string(m.ID)+`"`) && strings.Contains(text, `"cost":`) {
			return
		}
	}
	s.Errorf("machine %s is not in the records with its cost", m.ID)
}

// TestKilledAtEveryCall kills the daemon before and after each call that crosses its border, one by one.
func TestKilledAtEveryCall(t *testing.T) {
	calls, machines := 0, 0
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, 0, false)
		s.play()
		s.check(0)
		s.stop()
		calls, machines = s.life.calls, len(s.cloud.Machines())
		t.Logf("%d calls, %d machines: %v", calls, machines, s.life.ops)
	})
	if calls < 40 {
		t.Fatalf("only %d calls", calls)
	}
	for at := 1; at <= calls; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/after=%t", at, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStory(t, at, after)
					s.play()
					s.check(machines)
					s.stop()
				})
			})
		}
	}
}

// TestKilledOverAndOver kills the daemon again and again, in every life at a random call.
func TestKilledOverAndOver(t *testing.T) {
	for seed := range uint64(full(60, 20_000)) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 7))
				s := newStory(t, 1+rng.IntN(20), rng.IntN(2) == 0)
				s.again = func() (int, bool) {
					if s.deaths++; s.deaths > 12 {
						return 0, false
					}
					// Not at the first call, which enters the start in the records: lives that serve nobody, one after the other, outlast the machines' lease.
					return 2 + rng.IntN(25), rng.IntN(2) == 0
				}
				s.play()
				s.check(0)
				s.stop()
			})
		})
	}
}
