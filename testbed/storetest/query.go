package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/journal"
	"fsub/sbatch"
)

var longAgo = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// end lets jobs end long ago.
func end(e *env, s Store, ids ...federation.JobID) {
	e.Helper()
	for _, id := range ids {
		j, err := s.Job(ctx, id)
		e.must(err)
		j.State, j.End = federation.Completed, longAgo
		e.must(s.Commit(ctx, &journal.Batch{Jobs: []*federation.Job{&j}}))
	}
}

func purge(e *env, p Store, want int) {
	e.Helper()
	n, err := p.Purge(ctx, longAgo.Add(time.Second))
	e.must(err)
	if n != want {
		e.Fatalf("%d jobs deleted, want %d", n, want)
	}
}

func testPurge(e *env) {
	s := e.open()
	var jobs []*federation.Job
	for range 6 {
		jobs = append(jobs, e.create(s, "alice", ""))
	}
	// 0 and 1 are old; 2 ended just now, 3 runs, 4 has ended but an attempt of it lives, 5 does not say when it ended.
	end(e, s, jobs[0].ID, jobs[1].ID, jobs[4].ID)
	jobs[2].State, jobs[2].End = federation.Failed, time.Now()
	jobs[3].State, jobs[3].Start = federation.Running, longAgo
	jobs[5].State = federation.Cancelled
	e.must(s.Commit(ctx, &journal.Batch{
		Jobs:     []*federation.Job{jobs[2], jobs[3], jobs[5]},
		Attempts: []*federation.Attempt{attempt(jobs[0], 1, federation.AttemptEnded), attempt(jobs[4], 1, federation.AttemptSubmitted)},
		Tasks:    []*federation.Task{{Job: jobs[0].ID, Index: 1, State: federation.Completed}},
		Events:   []federation.Event{{Job: jobs[0].ID, At: longAgo, Text: "ended"}},
	}))
	purge(e, s, 2)
	left, err := s.Jobs(ctx, federation.JobQuery{})
	e.must(err)
	e.same("jobs left", ids(left), []federation.JobID{jobs[2].ID, jobs[3].ID, jobs[4].ID, jobs[5].ID})
	_, err = s.Payload(ctx, jobs[0].ID)
	e.wants(err, federation.ErrNotFound)
	_, err = s.Attempts(ctx, jobs[0].ID)
	e.wants(err, federation.ErrNotFound)
	purge(e, s, 0)

	// More than fit in one transaction.
	var many []federation.JobID
	for range 450 {
		many = append(many, e.create(s, "bob", "").ID)
	}
	end(e, s, many...)
	purge(e, s, 450)
}

func testJobs(e *env) {
	s := e.open()
	at := func(n int) time.Time { return longAgo.Add(time.Duration(n) * time.Hour) }
	jobs := make([]*federation.Job, 6)
	for i, c := range []struct {
		user, name string
		state      federation.State
		site       federation.SiteName
		end        time.Time
	}{
		{"alice", "train", federation.Pending, "", time.Time{}},
		{"alice", "eval", federation.Running, "alpha", time.Time{}},
		{"bob", "train", federation.Completed, "alpha", at(1)},
		{"bob", "eval", federation.Failed, "beta", at(2)},
		{"alice", "train", federation.Cancelled, "", at(3)},
		{"bob", "train", federation.Completing, "beta", time.Time{}},
	} {
		jobs[i] = e.create(s, c.user, c.name)
		jobs[i].State, jobs[i].Site, jobs[i].End = c.state, c.site, c.end
	}
	e.must(s.Commit(ctx, &journal.Batch{Jobs: jobs}))
	id := func(i int) federation.JobID { return jobs[i].ID }
	for _, c := range []struct {
		q    federation.JobQuery
		want []int
	}{
		{federation.JobQuery{}, []int{0, 1, 2, 3, 4, 5}},
		{federation.JobQuery{IDs: []federation.JobID{id(4), 1, id(0), id(4)}}, []int{0, 4}},
		{federation.JobQuery{IDs: []federation.JobID{1}}, nil},
		{federation.JobQuery{User: "alice"}, []int{0, 1, 4}},
		{federation.JobQuery{User: "nobody"}, nil},
		{federation.JobQuery{States: []federation.State{federation.Running, federation.Failed}}, []int{1, 3}},
		{federation.JobQuery{Live: true}, []int{0, 1, 5}},
		{federation.JobQuery{AfterID: id(3)}, []int{4, 5}},
		{federation.JobQuery{AfterID: id(3), Live: true}, []int{5}},
		{federation.JobQuery{BeforeID: id(2)}, []int{0, 1}},
		{federation.JobQuery{Down: true}, []int{5, 4, 3, 2, 1, 0}},
		{federation.JobQuery{Down: true, BeforeID: id(4), Limit: 2}, []int{3, 2}},
		{federation.JobQuery{Down: true, Limit: 1, IDs: []federation.JobID{id(1), id(5)}}, []int{5}},
		{federation.JobQuery{EndedAfter: at(2)}, []int{0, 1, 3, 4, 5}},
		{federation.JobQuery{EndedAfter: at(2), Live: true}, []int{0, 1, 5}},
		{federation.JobQuery{Site: "alpha"}, []int{1, 2}},
		{federation.JobQuery{Name: "train"}, []int{0, 2, 4, 5}},
		{federation.JobQuery{Limit: 2}, []int{0, 1}},
		{federation.JobQuery{Limit: 1, AfterID: id(3)}, []int{4}},
		{federation.JobQuery{Limit: 99, IDs: []federation.JobID{id(5)}}, []int{5}},
		{federation.JobQuery{User: "bob", Name: "train", Site: "beta", Live: true, States: []federation.State{federation.Completing}, AfterID: 1,
			EndedAfter: at(9), IDs: []federation.JobID{id(5), id(2)}, Limit: 7}, []int{5}},
	} {
		got, err := s.Jobs(ctx, c.q)
		e.must(err)
		var want []federation.Job
		for _, i := range c.want {
			want = append(want, *jobs[i])
		}
		e.same(fmt.Sprintf("jobs of %+v", c.q), got, want)
		listed, err := s.ListJobs(ctx, c.q)
		e.must(err)
		e.same(fmt.Sprintf("listed jobs of %+v", c.q), listed, listedOf(want))
	}
}

// testLiveJobs has more jobs than a store would give at once, with gaps, and some that have ended.
func testLiveJobs(e *env) {
	s := e.open()
	read := func() (got []federation.Job) {
		e.must(s.LiveJobs(ctx, func(jobs []federation.Job) error {
			got = append(got, jobs...)
			return nil
		}))
		return got
	}
	if got := read(); len(got) != 0 {
		e.Errorf("%d jobs live in an empty store", len(got))
	}
	ids, err := s.ReserveIDs(ctx, 20_000)
	e.must(err)
	b := &journal.Batch{}
	var live []federation.JobID
	for i, id := range ids {
		state := federation.Pending
		if i%7 == 3 {
			state = federation.Completed
		} else {
			live = append(live, id)
		}
		b.Create = append(b.Create, &federation.Job{ID: id, User: "alice", State: state, Spec: new(sbatch.Spec)})
	}
	e.must(s.Commit(ctx, b))
	var got []federation.JobID
	for _, j := range read() {
		got = append(got, j.ID)
	}
	if !slices.Equal(got, live) {
		e.Errorf("%d jobs live, in order: %v; want %d", len(got), slices.IsSorted(got), len(live))
	}
	whole, err := s.Job(ctx, live[0])
	e.must(err)
	e.same("a job that lives", read()[0], whole)
	enough, calls := errors.New("enough"), 0
	err = s.LiveJobs(ctx, func([]federation.Job) error { calls++; return enough })
	if !errors.Is(err, enough) || calls != 1 {
		e.Errorf("stopped after %d calls with %v", calls, err)
	}
}

func testManyIDs(e *env) {
	s := e.open()
	b := &journal.Batch{}
	all := make([]federation.JobID, 0, 40_000)
	for i := range 1200 {
		j := e.create(s, "alice", "")
		all = append(all, j.ID)
		for n := range i % 3 {
			b.Tasks = append(b.Tasks, &federation.Task{Job: j.ID, Index: n, State: federation.Running})
		}
	}
	e.must(s.Commit(ctx, b))
	known := slices.Clone(all)
	for i := range 38_800 { // more than SQL statements can have parameters
		all = append(all, federation.JobID(60_000_000+i))
	}
	slices.Reverse(all)
	jobs, err := s.Jobs(ctx, federation.JobQuery{IDs: all})
	e.must(err)
	e.same("jobs", ids(jobs), known)
	jobs, err = s.Jobs(ctx, federation.JobQuery{IDs: all, Limit: 777})
	e.must(err)
	e.same("first jobs", ids(jobs), known[:777])

	tasks, err := s.TasksOf(ctx, all)
	e.must(err)
	n := 0
	for i, id := range known {
		if len(tasks[id]) != i%3 {
			e.Fatalf("job %d has %d tasks, want %d", id, len(tasks[id]), i%3)
		}
		for index, k := range tasks[id] {
			n++
			if k.Job != id || k.Index != index {
				e.Fatalf("task %d of job %d is listed as task %d of job %d", k.Index, k.Job, index, id)
			}
		}
	}
	if n != len(b.Tasks) || len(tasks) != 800 {
		e.Fatalf("%d tasks of %d jobs, want %d of 800", n, len(tasks), len(b.Tasks))
	}
}

func testRequests(e *env) {
	s := e.open()
	j := e.create(s, "alice", "")
	var want []action.Request
	for i := range 4 {
		r := filled[action.Request](i)
		r.Job = j.ID
		var err error
		r.Seq, err = s.AddRequest(ctx, r)
		e.must(err)
		want = append(want, r)
	}
	r := action.Request{Job: j.ID, Kind: action.Cancel, At: longAgo}
	seq, err := s.AddRequest(ctx, r)
	e.must(err)
	r.Seq = seq
	want = append(want, r)
	check := func() {
		e.Helper()
		got, err := s.Requests(ctx, 0)
		e.must(err)
		e.same("requests", got, want)
	}
	check()
	later, err := s.Requests(ctx, want[1].Seq)
	e.must(err)
	e.same("requests after the second", later, want[2:])
	e.must(s.Commit(ctx, &journal.Batch{Done: []int64{want[2].Seq, want[0].Seq}}))
	want = append(want[1:2:2], want[3:]...)
	check()
	e.must(s.Commit(ctx, &journal.Batch{Done: []int64{want[0].Seq, 12345}})) // one that is not there is done
	want = want[1:]
	check()
	e.must(s.Commit(ctx, &journal.Batch{Done: []int64{want[0].Seq, want[1].Seq}}))
	want = nil
	check()
	seq, err = s.AddRequest(ctx, r)
	e.must(err)
	handed := filled[action.Request](5)
	handed.Job = j.ID
	e.must(s.Commit(ctx, &journal.Batch{Done: []int64{seq}, Requests: []action.Request{handed}}))
	got, err := s.Requests(ctx, 0)
	e.must(err)
	if len(got) != 1 || got[0].Seq <= seq {
		e.Fatalf("in place of request %d there are %+v", seq, got)
	}
	seq, handed.Seq = got[0].Seq, got[0].Seq
	e.same("handed on", got[0], handed)
	again, err := s.AddRequest(ctx, action.Request{Job: j.ID, Kind: action.Cancel})
	e.must(err)
	if again <= seq {
		e.Fatalf("request %d follows request %d", again, seq)
	}
}

func testSites(e *env) {
	s := e.open()
	a, b := filled[federation.SiteRecord](1), filled[federation.SiteRecord](2)
	e.must(s.SetSiteState(ctx, a))
	e.must(s.SetSiteState(ctx, b))
	name := a.Name
	a = filled[federation.SiteRecord](3)
	a.Name = name
	e.must(s.SetSiteState(ctx, a))
	got, err := s.SiteState(ctx)
	e.must(err)
	e.same("states", got, map[federation.SiteName]federation.SiteRecord{a.Name: a, b.Name: b})
}

func testCancelled(e *env) {
	s := e.open()
	j := e.create(s, "alice", "")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	refused := &federation.Job{User: "bob"}
	for what, err := range map[string]error{
		"CreateJob":    s.CreateJob(gone, refused, &sbatch.Payload{}),
		"Commit":       s.Commit(gone, &journal.Batch{Events: []federation.Event{{Job: j.ID}}}),
		"SetSiteState": s.SetSiteState(gone, federation.SiteRecord{Name: "alpha"}),
	} {
		if !errors.Is(err, context.Canceled) {
			e.Errorf("%s with a cancelled context returned %v", what, err)
		}
	}
	if refused.ID != 0 {
		e.Errorf("the refused job was given ID %d", refused.ID)
	}
	jobs, err := s.Jobs(ctx, federation.JobQuery{})
	e.must(err)
	events, err := s.Events(ctx, j.ID)
	e.must(err)
	sites, err := s.SiteState(ctx)
	e.must(err)
	if len(jobs) != 1 || len(events) != 0 || len(sites) != 0 {
		e.Fatalf("left behind: %v %v %v", ids(jobs), events, sites)
	}
}
