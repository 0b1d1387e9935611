package pools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/federation"
)

// What follows says before and after each call of the driver that changes something, and of an agent that has it do so, that it is there.

type tollProvider struct {
	provider.Provider
	toll func(string)
}

func (p tollProvider) Create(ctx context.Context, r provider.Request) ([]provider.Instance, error) {
	p.toll("before Create")
	defer p.toll("after Create")
	return p.Provider.Create(ctx, r)
}

func (p tollProvider) Delete(ctx context.Context, ids []provider.InstanceID) error {
	p.toll("before Delete")
	defer p.toll("after Delete")
	return p.Provider.Delete(ctx, ids)
}

type tollStore struct {
	records.PoolStore
	toll func(string)
}

func (s tollStore) CommitPool(ctx context.Context, site federation.SiteName, put []records.PoolRecord) error {
	s.toll("before CommitPool")
	defer s.toll("after CommitPool")
	return s.PoolStore.CommitPool(ctx, site, put)
}

type tollServer struct {
	cloud.AgentServer
	toll func(string)
}

func (d tollServer) Add(site federation.SiteName, a cloud.Agents) {
	d.AgentServer.Add(site, tollAgents{a, d.toll})
}

type tollAgents struct {
	cloud.Agents
	toll func(string)
}

func (a tollAgents) Hello(ctx context.Context, gang string, h agentapi.Hello) (cloud.Let, error) {
	a.toll("before Hello")
	defer a.toll("after Hello")
	return a.Agents.Hello(ctx, gang, h)
}

func (a tollAgents) Poll(ctx context.Context, m cloud.MachineID, p agentapi.Poll) (agentapi.Orders, error) {
	o, err := a.Agents.Poll(ctx, m, p)
	if len(o.Runs) > 0 || o.End != "" {
		a.toll("after Poll")
	}
	return o, err
}

func (a tollAgents) Report(ctx context.Context, m cloud.MachineID, r agentapi.Report) error {
	a.toll("before Report")
	defer a.toll("after Report")
	return a.Agents.Report(ctx, m, r)
}

// reaper kills the daemon at the n-th toll, counted from 0.
type reaper struct {
	n    int
	died chan struct{} // closed when the toll has come
	end  chan struct{} // the call that it came in goes on never, or when the test is over

	mu    sync.Mutex
	count int
	where string
}

func newReaper(n int) *reaper {
	return &reaper{n: n, died: make(chan struct{}), end: make(chan struct{})}
}

func (r *reaper) toll(what string) {
	r.mu.Lock()
	mine := r.count == r.n
	if r.count++; mine {
		r.where = what
	}
	r.mu.Unlock()
	if mine {
		close(r.died)
		<-r.end
	}
}

// TestKilledAtEveryCall: the daemon is killed before and after every call that creates, runs or deletes something, and started again. The job of two nodes runs
// once, on one gang, and no machine is left.
func TestKilledAtEveryCall(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves out the enumeration of crashes")
	}
	whole := newReaper(-1)
	t.Run("without", func(t *testing.T) { liveThrough(t, whole) })
	if whole.count < 20 {
		t.Fatalf("only %d calls: what is to be killed?", whole.count)
	}
	for n := range whole.count {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			liveThrough(t, newReaper(n))
		})
	}
}

func liveThrough(t *testing.T, r *reaper) {
	timing := quick
	timing.Idle = 700 * time.Millisecond
	again := make(chan struct{})
	over := make(chan struct{})
	restart := func(w *world) {
		t.Cleanup(func() { close(r.end) }) // before the world is closed
		go func() {
			defer close(again)
			select {
			case <-r.died:
				w.die()
				w.start()
			case <-over:
			}
		}()
	}
	w := newWorld(t, options{toll: r.toll, timing: timing, pools: []cloud.PoolConfig{{Name: "main", Default: true, Max: 4, Idle: timing.Idle}}, made: restart})
	ref := w.run(`echo "ran $SLURM_JOB_NODELIST" >> ran-$SLURM_JOB_ID; sleep 0.2`, ofNodes(2))
	w.until(ref, federation.Completed)
	eventually(t, "no machine is left", func() string {
		for _, i := range w.list() {
			if i.State != provider.InstanceEnded {
				return fmt.Sprintf("%+v", i)
			}
		}
		return ""
	})
	close(over)
	<-again
	if r.where != "" {
		t.Logf("killed at toll %d: %s", r.n, r.where)
	}
	text, err := os.ReadFile(filepath.Join(w.home, fmt.Sprintf("ran-%d", ref.ID)))
	if err != nil || strings.Count(string(text), "ran") != 1 {
		t.Errorf("the job ran: %q (%v)", text, err)
	}
	if gangs, _ := filepath.Glob(filepath.Join(w.dir, "pool", "gangs", "*.json")); len(gangs) != 1 {
		t.Errorf("gangs: %v", gangs)
	}
}
