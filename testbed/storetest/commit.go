package storetest

import (
	"fmt"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/journal"
	"fsub/sbatch"
)

func testCommitFields(e *env) {
	s := e.open()
	j := e.create(s, "alice", "train")
	b := journal.Batch{Jobs: []*federation.Job{{}}}
	*b.Jobs[0] = filled[federation.Job](1)
	for i := range 3 {
		a, k, ev := filled[federation.Attempt](2+i), filled[federation.Task](10+i), filled[federation.Event](20+i)
		a.Job, a.Number, k.Job, k.Index, ev.Job = j.ID, i, j.ID, i, j.ID
		if i > 0 {
			a.State = federation.AttemptEnded
		}
		b.Attempts, b.Tasks, b.Events = append(b.Attempts, &a), append(b.Tasks, &k), append(b.Events, ev)
	}
	b.Jobs[0].ID = j.ID
	e.must(s.Commit(ctx, &b))
	want := *b.Jobs[0]
	want.User, want.UID, want.GID = j.User, j.UID, j.GID
	want.Spec = j.Spec
	want.EditSpec(func(s *sbatch.Spec) { s.Array = b.Jobs[0].Spec.Array })
	want.Part, want.Component = j.Part, j.Component

	got, err := s.Job(ctx, j.ID)
	e.must(err)
	want.SubmitHost = got.SubmitHost // a part of who submitted it: either is right
	e.same("job", got, want)
	checkRecords(e, s, j.ID, &b)

	// Once more over what is there, with other values.
	for i := range 3 {
		number, key := b.Attempts[i].Number, b.Attempts[i].Key
		*b.Attempts[i], *b.Tasks[i] = filled[federation.Attempt](30+i), filled[federation.Task](40+i)
		b.Attempts[i].Job, b.Attempts[i].Number, b.Attempts[i].Key = j.ID, number, key
		b.Attempts[i].State = federation.AttemptEnded
		b.Tasks[i].Job, b.Tasks[i].Index = j.ID, i
	}
	events := b.Events
	b.Events = nil
	e.must(s.Commit(ctx, &b))
	b.Events = events
	checkRecords(e, s, j.ID, &b)
}

// checkRecords compares all records of a job with those of b.
func checkRecords(e *env, s Store, id federation.JobID, b *journal.Batch) {
	e.Helper()
	attempts, err := s.Attempts(ctx, id)
	e.must(err)
	e.same("attempts", attempts, values(b.Attempts))
	tasks, err := s.Tasks(ctx, id)
	e.must(err)
	e.same("tasks", tasks, values(b.Tasks))
	events, err := s.Events(ctx, id)
	e.must(err)
	e.same("events", events, b.Events)
}

func values[T any](pointers []*T) []T {
	var all []T
	for _, p := range pointers {
		all = append(all, *p)
	}
	return all
}

func testCommitLeaves(e *env) {
	s := e.open()
	j := e.create(s, "alice", "train")
	want := *j
	j.User, j.UID, j.GID = "mallory", 0, 0
	j.EditSpec(func(s *sbatch.Spec) { s.Name, s.Account, s.MinNodes, s.Array = "other", "other", 9, "0-9" })
	e.must(s.Commit(ctx, &journal.Batch{Jobs: []*federation.Job{j}}))
	want.EditSpec(func(s *sbatch.Spec) { s.Array = "0-9" })
	want.Rev = j.Rev
	got, err := s.Job(ctx, j.ID)
	e.must(err)
	e.same("job", got, want)
}

func testAllOrNothing(e *env) {
	s := e.open()
	j := e.create(s, "alice", "")
	e.must(s.Commit(ctx, &journal.Batch{Attempts: []*federation.Attempt{attempt(j, 1, federation.AttemptSubmitted)}}))
	request, err := s.AddRequest(ctx, action.Request{Job: j.ID, Kind: action.Hold})
	e.must(err)
	const no = federation.JobID(40_000_000)
	for name, spoil := range map[string]func(*journal.Batch){
		"unknown job":                func(b *journal.Batch) { b.Jobs = append(b.Jobs, &federation.Job{ID: no}) },
		"attempt of unknown job":     func(b *journal.Batch) { b.Attempts[0].Job = no },
		"task of unknown job":        func(b *journal.Batch) { b.Tasks[0].Job = no },
		"event of unknown job":       func(b *journal.Batch) { b.Events[0].Job = no },
		"request about unknown job":  func(b *journal.Batch) { b.Requests[0].Job = no },
		"a second attempt that live": func(b *journal.Batch) { b.Attempts[0].State = federation.AttemptIntended },
	} {
		changed := *j
		changed.Priority = 99
		b := &journal.Batch{
			Jobs:     []*federation.Job{&changed},
			Attempts: []*federation.Attempt{attempt(j, 2, federation.AttemptRefused)},
			Tasks:    []*federation.Task{{Job: j.ID, Index: 1, State: federation.Running}},
			Events:   []federation.Event{{Job: j.ID, At: time.Unix(1, 0), Text: "happened"}},
			Requests: []action.Request{{Job: j.ID, Kind: action.Requeue}},
			Done:     []int64{request},
		}
		spoil(b)
		err := s.Commit(ctx, b)
		if err == nil {
			e.Fatalf("%s: the batch was accepted", name)
		}
		got, err := s.Job(ctx, j.ID)
		e.must(err)
		e.same(name+": job", got, *j)
		if changed.Rev != j.Rev {
			e.Fatalf("%s: the refused job has a new Rev", name)
		}
		checkRecords(e, s, j.ID, &journal.Batch{Attempts: []*federation.Attempt{attempt(j, 1, federation.AttemptSubmitted)}})
		requests, err := s.Requests(ctx, 0)
		e.must(err)
		if len(requests) != 1 {
			e.Fatalf("%s: requests are %v", name, requests)
		}
	}
}

func testRev(e *env) {
	s := e.open()
	var all []*federation.Job
	for range 5 {
		all = append(all, e.create(s, "alice", ""))
	}
	last := all[4].Rev
	for i := range all[:4] {
		if all[i].Rev >= all[i+1].Rev {
			e.Fatalf("Rev %d of job %d, then %d", all[i].Rev, all[i].ID, all[i+1].Rev)
		}
	}
	e.must(s.Commit(ctx, &journal.Batch{Jobs: []*federation.Job{all[3], all[1]}}))
	if all[3].Rev <= last || all[1].Rev <= all[3].Rev {
		e.Fatalf("last Rev was %d, the batch gave %d and then %d", last, all[3].Rev, all[1].Rev)
	}
}

func testOneLive(e *env) {
	s := e.open()
	j := e.create(s, "alice", "")
	commit := func(attempts ...*federation.Attempt) error {
		return s.Commit(ctx, &journal.Batch{Attempts: attempts})
	}
	first := attempt(j, 1, federation.AttemptIntended)
	e.must(commit(first))
	e.wants(commit(attempt(j, 2, federation.AttemptIntended)), federation.ErrConflict)
	live, err := s.LiveAttempts(ctx)
	e.must(err)
	e.same("live attempts", live, []federation.Attempt{*first})

	// The new one and the end of the old one together, in the awkward order.
	first.State = federation.AttemptRefused
	second := attempt(j, 2, federation.AttemptIntended)
	e.must(commit(second, first))
	live, err = s.LiveAttempts(ctx)
	e.must(err)
	e.same("live attempts", live, []federation.Attempt{*second})

	for _, final := range []federation.AttemptState{
		federation.AttemptEnded, federation.AttemptRefused, federation.AttemptWithdrawn, federation.AttemptForgotten,
	} {
		second.State = final
		e.must(commit(second))
		live, err = s.LiveAttempts(ctx)
		e.must(err)
		e.same("live attempts", live, []federation.Attempt{})
	}
}

func testKeys(e *env) {
	s := e.open()
	a, b := e.create(s, "alice", ""), e.create(s, "alice", "")
	e.must(s.Commit(ctx, &journal.Batch{Attempts: []*federation.Attempt{attempt(a, 1, federation.AttemptEnded)}}))
	thief := attempt(b, 1, federation.AttemptIntended)
	thief.Key = attempt(a, 1, "").Key
	e.wants(s.Commit(ctx, &journal.Batch{Attempts: []*federation.Attempt{thief}}), federation.ErrConflict)
}

func testOrder(e *env) {
	s := e.open()
	j := e.create(s, "alice", "")
	at := func(n int) time.Time { return time.Unix(int64(1000+n), 0).UTC() }
	b := &journal.Batch{}
	for _, n := range []int{12, 3, 7, 1, 100} {
		b.Attempts = append(b.Attempts, attempt(j, n, federation.AttemptEnded))
		b.Tasks = append(b.Tasks, &federation.Task{Job: j.ID, Index: n, State: federation.Running})
		b.Events = append(b.Events, federation.Event{Job: j.ID, At: at(n), Text: fmt.Sprint("first at ", n)})
	}
	b.Events = append(b.Events, federation.Event{Job: j.ID, At: at(3), Text: "second at 3"}, federation.Event{Job: j.ID, At: at(3), Text: "Also at 3"})
	e.must(s.Commit(ctx, b))
	slices.SortFunc(b.Attempts, func(x, y *federation.Attempt) int { return x.Number - y.Number })
	slices.SortFunc(b.Tasks, func(x, y *federation.Task) int { return x.Index - y.Index })
	slices.SortStableFunc(b.Events, func(x, y federation.Event) int { return x.At.Compare(y.At) })
	checkRecords(e, s, j.ID, b)
}
