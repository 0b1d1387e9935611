package web

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/action"
	"fsub/federation/api"
	"fsub/federation/audit"
	"fsub/federation/journal"
	"fsub/federation/quota"
	"fsub/sbatch"
)

// furnished is a daemon with something for each page: sites, nodes that are out, budgets, what was spent, operations, jobs in each state, an array and its tasks.
func furnished(t *testing.T) *house {
	p := &house{t: t, clock: new(clock), people: new(people)}
	now := time.Now().UTC().Truncate(time.Second)
	p.serve(api.Config{Books: spentBooks{}, Coordinators: coordinators{"carol": "physics"}, Budgets: func() []quota.Standing {
		return []quota.Standing{{Key: accounts.AccountKey("physics"), Period: "month", Limit: 1000, Used: 412.5}, {Key: accounts.UserKey("physics", "bob"), Period: "month", Limit: 77, Used: 71.25}}
	}})
	p.Controller.SetSites(furnishedSites(now)...)
	whole := jobOf(20, alice, "sweep", federation.Running)
	whole.Whole, whole.Spec.Array = &federation.ArrayWhole{Count: 12, Max: 11, Step: 1, Spread: true}, "8-11"
	p.Put(t, whole)
	states := []federation.State{federation.Completed, federation.Failed, federation.Timeout, federation.Running, federation.Completed, federation.Failed, federation.NodeFail, federation.Completed}
	for i, st := range states {
		task := jobOf(federation.JobID(21+i), alice, "sweep", st)
		task.Part = &federation.ArrayPart{Array: 20, Index: i, Count: 12, Max: 11, Step: 1}
		if task.Start = now.Add(-50 * time.Second); st.Ended() {
			task.End = now.Add(-time.Duration(10+i*3%8) * time.Second)
		}
		if st == federation.Failed {
			task.ExitStatus = 3 << 8
		}
		task.Site, task.Nodes = "alpha", "n2"
		p.Put(t, task)
	}
	running := jobOf(1, alice, "train", federation.Running)
	running.Site, running.Nodes, running.Start = "alpha", "n2", now.Add(-20*time.Second)
	done := jobOf(4, alice, "done", federation.Completed)
	done.Site, done.Nodes, done.Start, done.End = "alpha", "n1", now.Add(-50*time.Second), now.Add(-5*time.Second)
	p.commit(&running)
	p.commit(&done)
	held := jobOf(5, alice, "held", federation.Pending)
	held.Held, held.Reason = federation.HeldAdmin, "JobHeldAdmin"
	mine := jobOf(6, bob, "private-name-of-bob", federation.Running)
	mine.TreeAccount, mine.Site, mine.Nodes, mine.Start = "physics", "alpha", "n2", now.Add(-time.Minute)
	grouped, broken := jobOf(7, alice, "grouped", federation.Pending), jobOf(8, alice, "broken", federation.Failed)
	grouped.Spec.Fed, broken.Spec.Fed = &sbatch.Fed{Group: "sweep/a"}, &sbatch.Fed{Group: "sweep/b"}
	grouped.Reason, broken.End = "Priority", now.Add(-time.Second)
	p.Put(t, held, mine, grouped, broken)
	first := federation.Attempt{Job: 1, Number: 1, Key: "k1", Site: "beta", Partition: "main", State: federation.AttemptEnded, Created: now.Add(-time.Minute), Started: now.Add(-50 * time.Second), Ended: now.Add(-30 * time.Second), Final: federation.NodeFail, Nodes: "b2", Note: "its node failed"}
	second := federation.Attempt{Job: 1, Number: 2, Key: "k2", Site: "alpha", Partition: "main", State: federation.AttemptStarted, Created: now.Add(-29 * time.Second), Started: now.Add(-20 * time.Second), Nodes: "n2"}
	err := p.Store.Commit(t.Context(), &journal.Batch{Attempts: []*federation.Attempt{&first, &second}})
	if err != nil {
		t.Fatal(err)
	}
	for i, command := range []string{"hold --where name=night", "cancel --where name=secret-of-bob"} {
		uid := uint32(alice + i) // and bob
		op := &action.Operation{At: now, By: audit.Actor{User: names[uid], UID: uid}, Verb: action.Hold, Command: command}
		if err := p.Store.AddOperation(t.Context(), op, []action.OperationItem{{N: 1, Job: 2, Settled: 1}, {N: 2, Job: 3}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Store.AddAudit(t.Context(), audit.Entry{Who: audit.Actor{User: "root"}, Verb: "drain", Kind: audit.Node, Object: "alpha/n3", Why: "told to operators alone"}); err != nil {
		t.Fatal(err)
	}
	return p
}

// commit writes a job.
func (p *house) commit(j *federation.Job) {
	p.t.Helper()
	if err := p.Store.Commit(p.t.Context(), &journal.Batch{Jobs: []*federation.Job{j}}); err != nil {
		p.t.Fatal(err)
	}
}

func furnishedSites(now time.Time) []*federation.Site {
	gpu := func(name string, used int, state ...string) federation.Node {
		return federation.Node{Name: name, State: state, CPUs: 16, Mem: 64000, CPUsUsed: used, MemUsed: sbatch.MemMiB(1000 * used), Partitions: []string{"main"},
			GRES: []federation.GRES{{Name: "gpu", Type: "h100", Total: 4, Used: used}}, Sockets: 2, Cores: 8, Threads: 1}
	}
	out := gpu("n3", 0, "IDLE", "DRAIN")
	out.Reason = "fans"
	alpha := &federation.Site{Name: "alpha", State: federation.FedActive, Answering: true, Seen: &federation.Observation{At: now, Cluster: "alpha", Version: "24.11.5", Mode: federation.Pinned,
		Partitions: []federation.Partition{{Name: "main", Default: true, Up: true, State: "UP", MaxTime: sbatch.Unlimited, Nodes: []string{"n1", "n2", "n3"}}},
		Nodes:      []federation.Node{gpu("n1", 0, "IDLE"), gpu("n2", 2, "MIXED"), out}}}
	beta := &federation.Site{Name: "beta", State: federation.FedDrain, Answering: true, Seen: &federation.Observation{At: now, Cluster: "beta", Version: "24.11.5", Mode: federation.Pinned,
		Partitions: []federation.Partition{{Name: "main", Default: true, Up: true, State: "UP", MaxTime: time.Hour, Nodes: []string{"b2"}}},
		Nodes:      []federation.Node{{Name: "b2", State: []string{"IDLE"}, CPUs: 8, Mem: 32000, Partitions: []string{"main"}}}}}
	gamma := &federation.Site{Name: "gamma", State: federation.FedActive, Error: "token refused", ErrorSince: now.Add(-time.Hour)}
	return []*federation.Site{alpha, beta, gamma}
}

// leads are coordinators, each of one account.
type coordinators map[string]string

func (l coordinators) CoordinatesAny(user string) bool       { return l[user] != "" }
func (l coordinators) Coordinates(user, account string) bool { return l[user] == account }

// spentBooks is a ledger in which alice and bob have spent, of which each caller sees what is within what the query allows.
type spentBooks struct{ ledger.Books }

func (spentBooks) EachSum(_ context.Context, q ledger.SumQuery, take func(*ledger.SumRow) error) error {
	for i, who := range []string{"alice", "bob"} {
		if q.Within != nil && q.Within.User != who && len(q.Within.Accounts) == 0 {
			continue
		}
		for day := q.From; day < min(q.Until, q.From+20); day++ {
			row := ledger.SumRow{Period: day, Sums: ledger.Sums{Runs: int64(3 + i), GPU: 3600, CPU: 7200, Amount: accounting.Money(day%7+1) * accounting.Dollar}}
			for _, by := range q.By {
				row.Values = append(row.Values, map[ledger.Dimension]string{ledger.ByUser: who, ledger.ByAccount: "physics"}[by])
			}
			if err := take(&row); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b spentBooks) BookedSums(ctx context.Context, q ledger.SumQuery) (all []ledger.SumRow, err error) {
	err = b.EachSum(ctx, q, func(r *ledger.SumRow) error { all = append(all, *r); return nil })
	return all, err
}

// watched passes requests of the page on to the API, and keeps them with their answers if it is told to.
type watched struct {
	next http.Handler
	away atomic.Bool // it does not answer
	mu   sync.Mutex
	keep bool
	all  []request
}

// request is one that the page has sent to the API, with the answer.
type request struct {
	method, path string
	in, out      []byte
	status       int
}

// ServeHTTP implements http.Handler.
func (a *watched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.away.Load() {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	a.mu.Lock()
	keep := a.keep
	a.mu.Unlock()
	if !keep {
		a.next.ServeHTTP(w, r)
		return
	}
	in, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(in))
	got := httptest.NewRecorder()
	a.next.ServeHTTP(got, r)
	a.mu.Lock()
	a.all = append(a.all, request{r.Method, r.URL.RequestURI(), in, got.Body.Bytes(), got.Code})
	a.mu.Unlock()
	for name, values := range got.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(got.Code)
	_, _ = w.Write(got.Body.Bytes())
}

// during returns what the page asks for while f runs.
func (a *watched) during(f func()) []request {
	a.mu.Lock()
	a.keep, a.all = true, nil
	a.mu.Unlock()
	f()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keep = false
	return a.all
}
