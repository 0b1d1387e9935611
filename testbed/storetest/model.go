package storetest

import (
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/journal"
	"fsub/sbatch"
)

// model is a store without a database: the simplest thing that keeps the promises of the interface.
type model struct {
	jobs     map[federation.JobID]*modelJob
	requests []action.Request
	sites    map[federation.SiteName]federation.SiteRecord
	rev, seq int64
}

type modelJob struct {
	federation.Job
	payload  sbatch.Payload
	attempts map[int]federation.Attempt
	tasks    map[int]federation.Task
	events   []federation.Event
}

// commit returns the error that b must meet; the caller then drops m. Otherwise m is what follows b.
func (m *model) commit(b *journal.Batch) error {
	for _, a := range b.Attempts {
		if m.jobs[a.Job] == nil {
			return federation.ErrNotFound
		}
		m.jobs[a.Job].attempts[a.Number] = *a
	}
	for _, k := range b.Tasks {
		if m.jobs[k.Job] == nil {
			return federation.ErrNotFound
		}
		m.jobs[k.Job].tasks[k.Index] = *k
	}
	for _, e := range b.Events {
		if m.jobs[e.Job] == nil {
			return federation.ErrNotFound
		}
		m.jobs[e.Job].events = append(m.jobs[e.Job].events, e)
	}
	for _, j := range b.Jobs {
		old := m.jobs[j.ID]
		if old == nil {
			return federation.ErrNotFound
		}
		next := *j
		next.User, next.UID, next.GID, next.SubmitHost = old.User, old.UID, old.GID, old.SubmitHost
		next.Spec, next.Part, next.Component = old.Spec, old.Part, old.Component
		next.EditSpec(func(s *sbatch.Spec) { s.Array = j.Spec.Array })
		old.Job = next
	}
	m.requests = slices.DeleteFunc(m.requests, func(r action.Request) bool { return slices.Contains(b.Done, r.Seq) })
	for _, r := range b.Requests {
		if m.jobs[r.Job] == nil {
			return federation.ErrNotFound
		}
		m.seq++
		r.Seq = m.seq
		m.requests = append(m.requests, r)
	}
	for _, j := range m.jobs {
		live := 0
		for _, a := range j.attempts {
			if !a.State.Final() {
				live++
			}
		}
		if live > 1 {
			return federation.ErrConflict
		}
	}
	return nil
}

func (m *model) clone() *model {
	c := *m
	c.jobs = make(map[federation.JobID]*modelJob)
	for id, j := range m.jobs {
		k := *j
		k.attempts, k.tasks, k.events = maps.Clone(j.attempts), maps.Clone(j.tasks), slices.Clone(j.events)
		c.jobs[id] = &k
	}
	c.requests = slices.Clone(m.requests)
	return &c
}

// ids in order.
func (m *model) ids() []federation.JobID { return slices.Sorted(maps.Keys(m.jobs)) }

func (m *model) query(q federation.JobQuery) []federation.Job {
	var found []federation.Job
	for _, id := range m.ids() {
		j := m.jobs[id].Job
		ended := j.State.Ended()
		if id <= q.AfterID || q.BeforeID > 0 && id >= q.BeforeID {
			continue
		}
		if len(q.IDs) > 0 && !slices.Contains(q.IDs, id) || q.User != "" && q.User != j.User || q.Site != "" && q.Site != j.Site ||
			q.Name != "" && q.Name != j.Spec.Name || len(q.States) > 0 && !slices.Contains(q.States, j.State) ||
			q.Live && ended || !q.EndedAfter.IsZero() && ended && j.End.Before(q.EndedAfter) {
			continue
		}
		found = append(found, j)
	}
	if q.Down {
		slices.Reverse(found)
	}
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found
}

// testModel does random things to a store and to the model. A failure prints the steps that lead to it, shortened.
func testModel(e *env) {
	rapid.Check(e.T, func(t *rapid.T) {
		dir, err := os.MkdirTemp(e.TempDir(), "")
		e.must(err)
		m := &machine{dir: dir, suite: e.suite, model: &model{
			jobs: make(map[federation.JobID]*modelJob), sites: make(map[federation.SiteName]federation.SiteRecord),
		}}
		m.reopen(t)
		defer func() { m.store.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"create": m.create, "commit": m.commit, "request": m.request, "site": m.site, "query": m.query, "reopen": m.reopen, "": m.check,
		})
		for id, j := range m.model.jobs {
			m.checkJob(t, id, j)
		}
	})
}

// machine is a store beside its model.
type machine struct {
	dir   string
	suite Suite
	store Store
	model *model
}

var (
	anyText = rapid.SampledFrom([]string{"", "a", "b", "ü\n\"'", "0-9%2"})
	anyJob  = rapid.SampledFrom([]federation.State{federation.Pending, federation.Running, federation.Completed, federation.Failed})
	anyTime = rapid.SampledFrom([]time.Time{{}, longAgo, longAgo.Add(time.Nanosecond), longAgo.Add(time.Hour)})
	anySite = rapid.SampledFrom([]federation.SiteName{"", "alpha", "beta"})
	anyTry  = rapid.SampledFrom([]federation.AttemptState{
		federation.AttemptIntended, federation.AttemptStarted, federation.AttemptEnded, federation.AttemptRefused,
	})
	anyNumber = rapid.IntRange(0, 3)
)

func (m *machine) reopen(t *rapid.T) {
	if m.store != nil {
		if err := m.store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := m.suite.Open(m.dir, 1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	m.store = s
}

func (m *machine) create(t *rapid.T) {
	j := federation.Job{User: anyText.Draw(t, "user"), UID: 7, Spec: &sbatch.Spec{Name: anyText.Draw(t, "name")}, Submit: longAgo}
	p := sbatch.Payload{Script: anyText.Draw(t, "script"), Argv: rapid.SliceOfN(anyText, 0, 3).Draw(t, "argv")}
	if err := m.store.CreateJob(ctx, &j, &p); err != nil {
		t.Fatal(err)
	}
	if want := federation.JobID(len(m.model.jobs) + 1); j.ID != want {
		t.Fatalf("job ID %d, want %d", j.ID, want)
	}
	m.newRev(t, j.Rev)
	m.model.jobs[j.ID] = &modelJob{Job: j, payload: p, attempts: make(map[int]federation.Attempt), tasks: make(map[int]federation.Task)}
}

func (m *machine) newRev(t *rapid.T, rev int64) {
	if rev <= m.model.rev {
		t.Fatalf("Rev %d after Rev %d", rev, m.model.rev)
	}
	m.model.rev = rev
}

// job draws an ID; the highest is of no job.
func (m *machine) job(t *rapid.T) federation.JobID {
	return federation.JobID(rapid.IntRange(1, len(m.model.jobs)+1).Draw(t, "job"))
}

func (m *machine) commit(t *rapid.T) {
	b := &journal.Batch{}
	for range anyNumber.Draw(t, "jobs") {
		b.Jobs = append(b.Jobs, &federation.Job{
			ID: m.job(t), State: anyJob.Draw(t, "state"), Site: anySite.Draw(t, "site"), End: anyTime.Draw(t, "end"), Submit: longAgo,
			Spec: &sbatch.Spec{Name: "changed", Array: anyText.Draw(t, "array")}, User: "changed",
		})
	}
	for range anyNumber.Draw(t, "attempts") {
		j := &federation.Job{ID: m.job(t)}
		a := attempt(j, anyNumber.Draw(t, "number"), anyTry.Draw(t, "state"))
		a.Note, a.Acked = anyText.Draw(t, "note"), anyTime.Draw(t, "acked")
		b.Attempts = append(b.Attempts, a)
	}
	for range anyNumber.Draw(t, "tasks") {
		b.Tasks = append(b.Tasks, &federation.Task{
			Job: m.job(t), Index: anyNumber.Draw(t, "index"), State: anyJob.Draw(t, "state"), Nodes: anyText.Draw(t, "nodes"),
		})
	}
	for range anyNumber.Draw(t, "events") {
		b.Events = append(b.Events, federation.Event{Job: m.job(t), At: anyTime.Draw(t, "at"), Text: anyText.Draw(t, "text")})
	}
	for range anyNumber.Draw(t, "done") {
		b.Done = append(b.Done, rapid.Int64Range(1, m.model.seq+1).Draw(t, "seq"))
	}
	for range anyNumber.Draw(t, "requests") {
		b.Requests = append(b.Requests, action.Request{Job: m.job(t), Kind: action.Requeue, At: longAgo})
	}
	after := m.model.clone()
	want := after.commit(b)
	err := m.store.Commit(ctx, b)
	if (err == nil) != (want == nil) {
		t.Fatalf("error is %v, want %v", err, want)
	}
	if err != nil {
		// A batch may break two rules at once.
		if !errors.Is(err, federation.ErrNotFound) && !errors.Is(err, federation.ErrConflict) {
			t.Fatalf("error is %v, want %v", err, want)
		}
		return
	}
	before := m.model.seq
	m.model = after
	m.newSeqs(t, before, len(b.Requests))
	for _, j := range b.Jobs {
		m.newRev(t, j.Rev)
		m.model.jobs[j.ID].Rev = j.Rev
	}
}

func (m *machine) request(t *rapid.T) {
	r := action.Request{Job: m.job(t), Kind: action.Cancel, Tasks: federation.Tasks(rapid.SliceOfN(anyNumber, 0, 2).Draw(t, "tasks")...), At: longAgo}
	seq, err := m.store.AddRequest(ctx, r)
	if m.model.jobs[r.Job] == nil {
		if !errors.Is(err, federation.ErrNotFound) {
			t.Fatalf("error is %v, want ErrNotFound", err)
		}
		return
	}
	for _, old := range m.model.requests { // the same, and not done yet
		same := r
		same.Seq = old.Seq
		if cmp.Equal(same, old, cmpopts.EquateEmpty(), sets) {
			if err != nil || seq != old.Seq {
				t.Fatalf("request %d, the same as %d: %v", seq, old.Seq, err)
			}
			return
		}
	}
	if err != nil || seq <= m.model.seq {
		t.Fatalf("request %d after request %d: %v", seq, m.model.seq, err)
	}
	r.Seq, m.model.seq = seq, seq
	m.model.requests = append(m.model.requests, r)
}

// newSeqs takes over the numbers that the store has given to the last n requests: any that go up from those before.
func (m *machine) newSeqs(t *rapid.T, before int64, n int) {
	got, err := m.store.Requests(ctx, 0)
	if err != nil || len(got) < n {
		t.Fatalf("%d requests, of which %d are new: %v", len(got), n, err)
	}
	m.model.seq = before
	for i, r := range got[len(got)-n:] {
		if r.Seq <= m.model.seq {
			t.Fatalf("request %d after request %d", r.Seq, m.model.seq)
		}
		m.model.seq = r.Seq
		m.model.requests[len(m.model.requests)-n+i].Seq = r.Seq
	}
}

func (m *machine) site(t *rapid.T) {
	r := federation.SiteRecord{Name: anySite.Draw(t, "site"), State: federation.FedDrain, Reason: anyText.Draw(t, "reason"), At: anyTime.Draw(t, "at")}
	if err := m.store.SetSiteState(ctx, r); err != nil {
		t.Fatal(err)
	}
	m.model.sites[r.Name] = r
}

func (m *machine) query(t *rapid.T) {
	q := federation.JobQuery{
		User: anyText.Draw(t, "user"), States: rapid.SliceOfN(anyJob, 0, 2).Draw(t, "states"), Live: rapid.Bool().Draw(t, "live"),
		EndedAfter: anyTime.Draw(t, "ended after"),
		Site:       anySite.Draw(t, "site"), Name: anyText.Draw(t, "name"), Limit: anyNumber.Draw(t, "limit"),
		Alone: rapid.Bool().Draw(t, "alone"), AfterID: federation.JobID(anyNumber.Draw(t, "after ID")),
		Down: rapid.Bool().Draw(t, "down"),
	}
	for range anyNumber.Draw(t, "ids") {
		q.IDs = append(q.IDs, m.job(t))
	}
	got, err := m.store.Jobs(ctx, q)
	m.same(t, "jobs", got, m.model.query(q), err)
	listed, err := m.store.ListJobs(ctx, q)
	m.same(t, "listed jobs", listed, listedOf(got), err)
}

// listedOf is what ListJobs tells of jobs.
func listedOf(jobs []federation.Job) (listed []federation.ListedJob) {
	for i := range jobs {
		l := federation.ListedJob{ID: jobs[i].ID}
		if p := jobs[i].Part; p != nil {
			l.Array = p.Array
		}
		listed = append(listed, l)
	}
	return listed
}

// check compares the lists, and all that there is of one job, with the model.
func (m *machine) check(t *rapid.T) {
	all, err := m.store.Jobs(ctx, federation.JobQuery{})
	m.same(t, "all jobs", all, m.model.query(federation.JobQuery{}), err)
	requests, err := m.store.Requests(ctx, 0)
	m.same(t, "requests", requests, m.model.requests, err)
	sites, err := m.store.SiteState(ctx)
	m.same(t, "sites", sites, m.model.sites, err)
	taskLists, err := m.store.TasksOf(ctx, m.model.ids())
	var live []federation.Attempt
	for _, id := range m.model.ids() {
		j := m.model.jobs[id]
		m.same(t, "tasks of several", taskLists[id], byKey(j.tasks), err)
		for _, a := range byKey(j.attempts) {
			if !a.State.Final() {
				live = append(live, a)
			}
		}
	}
	if len(m.model.jobs) > 0 {
		id := federation.JobID(rapid.IntRange(1, len(m.model.jobs)).Draw(t, "look at job"))
		m.checkJob(t, id, m.model.jobs[id])
	}
	attempts, err := m.store.LiveAttempts(ctx)
	slices.SortFunc(attempts, func(a, b federation.Attempt) int { return int(a.Job) - int(b.Job) })
	m.same(t, "live attempts", attempts, live, err)
}

func (m *machine) checkJob(t *rapid.T, id federation.JobID, want *modelJob) {
	j, err := m.store.Job(ctx, id)
	m.same(t, "job", j, want.Job, err)
	p, err := m.store.Payload(ctx, id)
	m.same(t, "payload", p, want.payload, err)
	attempts, err := m.store.Attempts(ctx, id)
	m.same(t, "attempts", attempts, byKey(want.attempts), err)
	tasks, err := m.store.Tasks(ctx, id)
	m.same(t, "tasks", tasks, byKey(want.tasks), err)
	slices.SortStableFunc(want.events, func(a, b federation.Event) int { return a.At.Compare(b.At) })
	events, err := m.store.Events(ctx, id)
	m.same(t, "events", events, want.events, err)
}

func (m *machine) same(t *rapid.T, what string, got, want any, err error) {
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), derived, sets); d != "" {
		t.Fatalf("%s (- model, + store):\n%s", what, d)
	}
}

func byKey[V any](m map[int]V) []V {
	var all []V
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, m[k])
	}
	return all
}
