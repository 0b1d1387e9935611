package apitest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api"
	"fsub/federation/audit"
	"fsub/federation/ended"
	"fsub/federation/health"
	"fsub/federation/journal"
	"fsub/federation/records"
	"fsub/sbatch"
)

// Store is an api.Store in memory. While Fail is set, every method returns it.
type Store struct {
	mu         sync.Mutex
	fail       error
	next       federation.JobID
	rev        int64
	seq        int64
	jobs       map[federation.JobID]federation.Job
	payloads   map[federation.JobID]sbatch.Payload
	tasks      map[federation.JobID]map[int]federation.Task
	attempts   map[federation.JobID][]federation.Attempt
	events     map[federation.JobID][]federation.Event
	requests   map[int64]action.Request
	keys       map[string]federation.JobID // of submissions
	log        []journal.Commit
	follows    int
	sites      map[federation.SiteName]federation.SiteRecord
	nodes      nodes
	audit      auditLog
	places     places
	operations operations
	records    []records.Record
}

var _ api.Store = (*Store)(nil)

// NewStore returns an empty store whose first job is federation.FirstJobID.
func NewStore() *Store {
	return &Store{
		next:     federation.FirstJobID,
		jobs:     map[federation.JobID]federation.Job{},
		payloads: map[federation.JobID]sbatch.Payload{},
		tasks:    map[federation.JobID]map[int]federation.Task{},
		attempts: map[federation.JobID][]federation.Attempt{},
		events:   map[federation.JobID][]federation.Event{},
		requests: map[int64]action.Request{},
		keys:     map[string]federation.JobID{},
		sites:    map[federation.SiteName]federation.SiteRecord{},
	}
}

// SetFail makes every method return err; nil ends that.
func (s *Store) SetFail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// CreateJob implements federation.JobStore. A job that comes with an ID keeps it.
func (s *Store) CreateJob(_ context.Context, j *federation.Job, p *sbatch.Payload) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	if j.ID == 0 {
		j.ID = s.next
	}
	if j.Spec == nil {
		j.Spec = new(sbatch.Spec)
	}
	s.next = max(s.next, j.ID+1)
	s.rev++
	j.Rev = s.rev
	s.jobs[j.ID], s.payloads[j.ID] = *j, *p
	s.note(journal.Change{Kind: journal.ChangeJob, How: journal.Created, Job: j.ID, State: string(j.State)})
	for i := range j.Spec.Het {
		c := *j
		c.ID, c.Spec, c.Component = j.ID+federation.JobID(i+1), &j.Spec.Het[i], &federation.HetComponent{Leader: j.ID, Offset: i + 1}
		s.next = max(s.next, c.ID+1)
		s.jobs[c.ID] = c
		s.note(journal.Change{Kind: journal.ChangeJob, How: journal.Created, Job: c.ID, State: string(c.State)})
	}
	return nil
}

// note makes a commit of changes of its own: but for the moves of a batch, each has one.
func (s *Store) note(c ...journal.Change) {
	if len(c) > 0 {
		s.log = append(s.log, journal.Commit{Mark: journal.Mark(len(s.log) + 2), At: time.Now().UTC(), Changes: c})
	}
}

// Followers is how often somebody has begun to follow the log.
func (s *Store) Followers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.follows
}

// Changes implements journal.Follower. Nothing is trimmed.
func (s *Store) Changes(_ context.Context, after journal.Mark, limit int) (journal.Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := journal.Mark(len(s.log) + 1)
	switch {
	case s.fail != nil:
		return journal.Log{}, s.fail
	case after > newest:
		return journal.Log{}, federation.ErrTrimmed
	case after == 0:
		s.follows++
		return journal.Log{Mark: newest}, nil
	}
	rest := s.log[max(after-1, 0):]
	if limit > 0 && len(rest) > limit {
		rest = rest[:limit]
	}
	return journal.Log{Commits: slices.Clone(rest), Mark: max(after, 1) + journal.Mark(len(rest))}, nil
}

// ReserveIDs implements federation.JobStore.
func (s *Store) ReserveIDs(_ context.Context, n int) ([]federation.JobID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []federation.JobID
	for range n {
		ids = append(ids, s.next)
		s.next++
	}
	return ids, s.fail
}

// Job implements federation.JobStore.
func (s *Store) Job(_ context.Context, id federation.JobID) (federation.Job, error) {
	return get(s, s.jobs, id)
}

// Payload implements federation.JobStore.
func (s *Store) Payload(_ context.Context, id federation.JobID) (sbatch.Payload, error) {
	return get(s, s.payloads, id)
}

func get[K comparable, T any](s *Store, m map[K]T, id K) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := m[id]
	if s.fail != nil {
		return v, s.fail
	}
	if !ok {
		return v, federation.ErrNotFound
	}
	return v, nil
}

// Tasks implements federation.JobStore.
func (s *Store) Tasks(_ context.Context, id federation.JobID) ([]federation.Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tasksOf(id), s.fail
}

func (s *Store) tasksOf(id federation.JobID) []federation.Task {
	return slices.SortedFunc(maps.Values(s.tasks[id]), func(a, b federation.Task) int { return a.Index - b.Index })
}

// TasksOf implements federation.JobStore.
func (s *Store) TasksOf(_ context.Context, ids []federation.JobID) (map[federation.JobID][]federation.Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[federation.JobID][]federation.Task{}
	for _, id := range ids {
		if len(s.tasks[id]) > 0 {
			out[id] = s.tasksOf(id)
		}
	}
	return out, s.fail
}

// Attempts implements federation.JobStore.
func (s *Store) Attempts(_ context.Context, id federation.JobID) ([]federation.Attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.attempts[id]), s.fail
}

// Events implements federation.JobStore.
func (s *Store) Events(_ context.Context, id federation.JobID) ([]federation.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events[id]), s.fail
}

// Jobs implements federation.JobStore.
func (s *Store) Jobs(_ context.Context, q federation.JobQuery) ([]federation.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return nil, s.fail
	}
	var out []federation.Job
	among := q.IDs
	if len(q.IDs) == 0 || !q.Alone {
		among = slices.Collect(maps.Keys(s.jobs))
	}
	ids := slices.Compact(slices.Sorted(slices.Values(among)))
	if q.Down {
		slices.Reverse(ids)
	}
	for _, id := range ids {
		if _, known := s.jobs[id]; !known {
			continue
		}
		if j := s.jobs[id]; matches(&j, q) {
			out = append(out, j)
		}
		if q.Limit > 0 && len(out) == q.Limit {
			break
		}
	}
	return out, nil
}

// CountEnded implements ended.Counter.
func (s *Store) CountEnded(ctx context.Context, user string, take func([]ended.Count) error) error {
	jobs, err := s.Jobs(ctx, federation.JobQuery{User: user, States: federation.EndStates})
	if err != nil {
		return err
	}
	counts := map[ended.Count]int64{}
	for i := range jobs {
		if j := &jobs[i]; j.Component == nil && j.Whole == nil {
			counts[ended.Count{User: j.User, Account: cmp.Or(j.Account, j.Spec.Account), Group: j.Spec.GroupName(), State: j.State, Reason: j.Reason, Site: j.Site}]++
		}
	}
	list := make([]ended.Count, 0, len(counts))
	for c, n := range counts {
		c.Jobs = n
		list = append(list, c)
	}
	return take(list)
}

// ListJobs implements federation.JobStore.
func (s *Store) ListJobs(ctx context.Context, q federation.JobQuery) ([]federation.ListedJob, error) {
	jobs, err := s.Jobs(ctx, q)
	var out []federation.ListedJob
	for i := range jobs {
		l := federation.ListedJob{ID: jobs[i].ID}
		if p := jobs[i].Part; p != nil {
			l.Array = p.Array
		}
		out = append(out, l)
	}
	return out, err
}

func matches(j *federation.Job, q federation.JobQuery) bool {
	return (len(q.IDs) == 0 || slices.Contains(q.IDs, j.ID) || !q.Alone && (j.Part != nil && slices.Contains(q.IDs, j.Part.Array) ||
		j.Component != nil && slices.Contains(q.IDs, j.Component.Leader))) &&
		(!q.Arrays || j.Whole != nil) &&
		(q.User == "" || q.User == j.User) &&
		(len(q.States) == 0 || slices.Contains(q.States, j.State)) &&
		(!q.Live || !j.State.Ended()) &&
		j.ID > q.AfterID && (q.BeforeID == 0 || j.ID < q.BeforeID) &&
		(q.EndedAfter.IsZero() || !j.State.Ended() || !j.End.Before(q.EndedAfter)) &&
		(q.Site == "" || q.Site == j.Site) &&
		(q.Name == "" || q.Name == j.Spec.Name)
}

// LiveJobs implements federation.JobStore.
func (s *Store) LiveJobs(ctx context.Context, take func([]federation.Job) error) error {
	jobs, err := s.Jobs(ctx, federation.JobQuery{Live: true})
	if err != nil {
		return err
	}
	return take(jobs)
}

// HealthFindings implements api.Store. It keeps none.
func (s *Store) HealthFindings(context.Context, health.FindingQuery) ([]health.KeptFinding, error) {
	return nil, nil
}

// LiveAttempts implements federation.JobStore.
func (s *Store) LiveAttempts(context.Context) ([]federation.Attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []federation.Attempt
	for _, list := range s.attempts {
		for _, a := range list {
			if !a.State.Final() {
				out = append(out, a)
			}
		}
	}
	return out, s.fail
}

// AddRequest implements action.Store.
func (s *Store) AddRequest(_ context.Context, r action.Request, audit ...audit.Entry) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return 0, s.fail
	}
	s.seq++
	r.Seq = s.seq
	s.requests[r.Seq] = r
	s.audit.add(audit)
	s.note(journal.Change{Kind: journal.ChangeRequest, How: journal.Created, Job: r.Job, Number: r.Seq, State: string(r.Kind), Who: fmt.Sprint(r.UID)})
	return r.Seq, nil
}

// Requests implements action.Store.
func (s *Store) Requests(_ context.Context, after int64) ([]action.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []action.Request
	for _, seq := range slices.Sorted(maps.Keys(s.requests)) {
		if seq > after {
			out = append(out, s.requests[seq])
		}
	}
	return out, s.fail
}

// Commit implements journal.Committer.
func (s *Store) Commit(_ context.Context, b *journal.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	for _, j := range slices.Concat(b.Create, b.Jobs) {
		s.rev++
		j.Rev = s.rev
		how := journal.Changed
		if _, known := s.jobs[j.ID]; !known {
			how = journal.Created
		}
		s.jobs[j.ID] = *j
		s.note(journal.Change{Kind: journal.ChangeJob, How: how, Job: j.ID, Site: j.Site, State: string(j.State)})
	}
	var moves []journal.Change
	for i := range b.Moves {
		moves = append(moves, journal.Change{Kind: journal.ChangeMove, Job: b.Moves[i].Job, Move: &b.Moves[i]})
	}
	s.note(moves...)
	for _, a := range b.Attempts {
		s.putAttempt(*a)
	}
	for _, t := range b.Tasks {
		if s.tasks[t.Job] == nil {
			s.tasks[t.Job] = map[int]federation.Task{}
		}
		s.tasks[t.Job][t.Index] = *t
		s.note(journal.Change{Kind: journal.ChangeTask, Job: t.Job, Number: int64(t.Index), State: string(t.State)})
	}
	for _, e := range b.Events {
		s.events[e.Job] = append(s.events[e.Job], e)
	}
	for _, seq := range b.Done {
		delete(s.requests, seq)
	}
	one := func(c journal.Change) { s.note(c) }
	s.nodes.commit(b, one)
	s.audit.add(b.Audit)
	s.places.commit(b, one)
	return nil
}

func (s *Store) putAttempt(a federation.Attempt) {
	list := s.attempts[a.Job]
	i := slices.IndexFunc(list, func(x federation.Attempt) bool { return x.Number == a.Number })
	if i < 0 {
		s.attempts[a.Job] = append(list, a)
		return
	}
	list[i] = a
}

// SiteState implements federation.SiteStore.
func (s *Store) SiteState(context.Context) (map[federation.SiteName]federation.SiteRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.sites), s.fail
}

// SetSiteState implements federation.SiteStore.
func (s *Store) SetSiteState(_ context.Context, r federation.SiteRecord, audit ...audit.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail == nil {
		was := federation.SiteRecord{State: federation.FedActive}
		if old, ok := s.sites[r.Name]; ok {
			was = old
		}
		s.places.events = append(s.places.events, federation.SiteEvent{Site: r.Name, At: r.At, Who: r.By, From: was.Word(), To: r.Word(), Why: r.Reason})
		s.sites[r.Name] = r
		s.audit.add(audit)
		s.note(journal.Change{Kind: journal.ChangeSite, Site: r.Name, State: r.Word(), Who: r.By, Why: r.Reason})
	}
	return s.fail
}

// Close does nothing.
func (s *Store) Close() error { return nil }
