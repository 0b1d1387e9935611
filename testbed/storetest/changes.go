package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/audit"
	"fsub/federation/health"
	"fsub/federation/journal"
	"fsub/federation/predict"
	"fsub/sbatch"
)

// newest is the mark at which a follower begins.
func (e *env) newest(s Store) journal.Mark {
	e.Helper()
	log, err := s.Changes(ctx, 0, 0)
	e.must(err)
	if len(log.Commits) > 0 || log.Mark <= 0 {
		e.Fatalf("a follower that begins is given %d commits and the mark %d", len(log.Commits), log.Mark)
	}
	return log.Mark
}

// after are all changes after a mark, read so many commits at a time.
func (e *env) after(s Store, mark journal.Mark, limit int) (all []journal.Change, end journal.Mark) {
	e.Helper()
	at := time.Time{}
	for {
		log, err := s.Changes(ctx, mark, limit)
		e.must(err)
		if limit > 0 && len(log.Commits) > limit {
			e.Fatalf("%d commits, at most %d were asked for", len(log.Commits), limit)
		}
		for _, c := range log.Commits {
			if mark >= 0 && c.Mark <= mark || c.Mark > log.Mark || c.At.Before(at) || len(c.Changes) == 0 && mark >= 0 {
				e.Fatalf("after %d of %v: commit %d of %v with %d changes, and the mark to go on from is %d", mark, at, c.Mark, c.At, len(c.Changes), log.Mark)
			}
			mark, at = c.Mark, c.At
			all = append(all, c.Changes...)
		}
		if len(log.Commits) == 0 {
			if log.Mark != mark {
				e.Fatalf("nothing after %d, and the mark is %d", mark, log.Mark)
			}
			return all, mark
		}
	}
}

// testChanges makes one change of each kind.
func testChanges(e *env) {
	s := e.open()
	mark := e.newest(s)
	told := func(what string, want ...journal.Change) {
		e.Helper()
		var got []journal.Change
		before := mark
		if got, mark = e.after(s, mark, 0); mark <= before {
			e.Fatalf("%s: the mark is %d, as before", what, mark)
		}
		e.same(what, got, want)
	}
	j := e.create(s, "alice", "train")
	told("submission", journal.Change{Kind: journal.ChangeJob, How: journal.Created, Job: j.ID, State: "PENDING"})

	het := &federation.Job{User: "alice", Spec: &sbatch.Spec{Het: []sbatch.Spec{{Name: "second"}}}}
	e.must(s.CreateJob(ctx, het, &sbatch.Payload{}))
	told("submission of components", journal.Change{Kind: journal.ChangeJob, How: journal.Created, Job: het.ID, State: "PENDING"},
		journal.Change{Kind: journal.ChangeJob, How: journal.Created, Job: het.ID + 1, State: "PENDING"})

	seq, err := s.AddRequest(ctx, action.Request{Job: j.ID, Kind: action.Hold, UID: 7})
	e.must(err)
	told("request", journal.Change{Kind: journal.ChangeRequest, How: journal.Created, Job: j.ID, Number: seq, State: "hold", Who: "7"})

	e.must(s.SetSiteState(ctx, federation.SiteRecord{Name: "alpha", State: federation.FedDrain, By: "olga", Reason: "cooling"}))
	told("site", journal.Change{Kind: journal.ChangeSite, Site: "alpha", State: "DRAIN", Who: "olga", Why: "cooling"})
	e.must(s.SetSiteState(ctx, federation.SiteRecord{Name: "alpha", State: federation.FedDrain, Lost: longAgo}))
	told("lost site", journal.Change{Kind: journal.ChangeSite, Site: "alpha", State: "LOST"})
	m := federation.Maintenance{Site: "alpha", To: longAgo}
	e.must(s.AddMaintenance(ctx, &m))
	told("maintenance", journal.Change{Kind: journal.ChangeMaintenance, How: journal.Created, Site: "alpha", Number: m.ID})
	e.must(s.RemoveMaintenance(ctx, m.ID, "root", longAgo))
	told("end of maintenance", journal.Change{Kind: journal.ChangeMaintenance, How: journal.Gone, Site: "alpha", Number: m.ID})

	ids, err := s.ReserveIDs(ctx, 1)
	e.must(err)
	if _, end := e.after(s, mark, 0); end != mark {
		e.Fatalf("reserved IDs are no change, and the mark went from %d to %d", mark, end)
	}

	j.State, j.Site, j.Attempt = federation.Running, "alpha", 1
	move := journal.Move{Job: j.ID, Task: -1, What: journal.MoveStart, State: federation.Running, From: federation.Pending, Reason: "None", Site: "alpha", Exit: 3, Tasks: federation.Tasks(3, 4)}
	event, finding := filled[federation.NodeEvent](1), filled[health.PastFinding](1)
	condition := filled[federation.SiteEvent](1)
	charge := federation.Charge{Job: j.ID, Key: "k", Attempt: 1, Run: 1, Site: "alpha", State: federation.Requeued}
	b := &journal.Batch{
		Create:     []*federation.Job{{ID: ids[0], User: "alice", State: federation.Pending}},
		Jobs:       []*federation.Job{j},
		Specs:      []*federation.Job{j},
		Attempts:   []*federation.Attempt{attempt(j, 1, federation.AttemptStarted)},
		Tasks:      []*federation.Task{{Job: j.ID, Index: 7, State: federation.Running}},
		Events:     []federation.Event{{Job: j.ID, At: longAgo, Text: "happened"}},
		Charges:    []federation.Charge{charge, charge}, // the second is there already
		Requests:   []action.Request{{Job: j.ID, Kind: action.Top}},
		Done:       []int64{seq},
		Moves:      []journal.Move{move},
		Nodes:      []federation.NodeRecord{{Node: federation.NodeID{Site: "alpha", Name: "n1"}, Wish: federation.WishDrain}},
		NodeEvents: []federation.NodeEvent{event},
		SiteEvents: []federation.SiteEvent{condition},
		Audit:      []audit.Entry{{Verb: "drain"}},
		Health:     []health.Record{{Kind: health.RecordCheck, Name: "alpha/n1", Data: []byte("[]")}},
		Findings:   []health.PastFinding{finding},
		Lengths:    []predict.RunLength{{Start: longAgo, Seconds: 1}}, // of which it tells nothing
		Waits:      []predict.PastWait{{Site: "alpha", Since: longAgo, Seconds: 1}},
	}
	b.Attempts[0].Site = "alpha"
	for i, v := 0, reflect.ValueOf(b).Elem(); i < v.NumField(); i++ {
		if v.Field(i).Len() == 0 {
			e.Errorf("%s of a batch is not tried here: what does the log tell of it?", v.Type().Field(i).Name)
		}
	}
	e.must(s.Commit(ctx, b))
	requests, err := s.Requests(ctx, 0)
	e.must(err)
	got, end := e.after(s, mark, 0)
	mark = end
	want := []journal.Change{
		{Kind: journal.ChangeJob, How: journal.Created, Job: ids[0], State: "PENDING"},
		{Kind: journal.ChangeJob, Job: j.ID, Number: 1, Site: "alpha", State: "RUNNING"},
		{Kind: journal.ChangeAttempt, Job: j.ID, Number: 1, Site: "alpha", State: "STARTED"},
		{Kind: journal.ChangeTask, Job: j.ID, Number: 7, State: "RUNNING"},
		{Kind: journal.ChangeEvent, How: journal.Created, Job: j.ID},
		{Kind: journal.ChangeCharge, How: journal.Created, Job: j.ID, Number: 1, Site: "alpha", State: "REQUEUED"},
		{Kind: journal.ChangeRequest, How: journal.Gone, Number: seq},
		{Kind: journal.ChangeRequest, How: journal.Created, Job: j.ID, Number: requests[0].Seq, State: "top", Who: "0"},
		{Kind: journal.ChangeNode, Site: "alpha", State: "DRAIN"},
		{Kind: journal.ChangeNodeEvent, Node: &event},
		{Kind: journal.ChangeSiteEvent, Of: &condition},
		{Kind: journal.ChangeHealth, State: "check"},
		{Kind: journal.ChangeFinding, Job: finding.Job, Finding: &finding},
		{Kind: journal.ChangeAudit, How: journal.Created, State: "drain"},
		{Kind: journal.ChangeMove, Job: j.ID, Move: &move},
	}
	e.same("batch", got, want)

	e.must(s.PutUsage(ctx, j.ID, nil))
	told("usage", journal.Change{Kind: journal.ChangeUsage, Job: j.ID})
	e.must(s.CommitPool(ctx, "sky", []records.PoolRecord{{Kind: records.PoolMachine, ID: "m1", Job: 5}}))
	told("pool", journal.Change{Kind: journal.ChangePool, Job: 5, Site: "sky", State: "machine m1"})
	het.State, het.End = federation.Completed, longAgo
	e.must(s.Commit(ctx, &journal.Batch{Jobs: []*federation.Job{het}}))
	_, mark = e.after(s, mark, 0)
	_, err = s.Purge(ctx, longAgo.Add(time.Hour))
	e.must(err)
	told("deletion", journal.Change{Kind: journal.ChangeJob, How: journal.Gone, Job: het.ID})
}

// testChangesPages reads the log in pages of any size, from any mark in it, before and after the store was opened anew.
func testChangesPages(e *env) {
	s := e.open()
	begin := e.newest(s)
	marks := []journal.Mark{begin}
	for range 7 {
		e.create(s, "alice", "")
		marks = append(marks, e.newest(s))
	}
	check := func() {
		e.Helper()
		for i, mark := range marks {
			for limit := range 4 {
				if got, end := e.after(s, mark, limit); len(got) != len(marks)-1-i || end != marks[len(marks)-1] {
					e.Fatalf("%d changes up to %d after the mark %d (%d of %v)", len(got), end, mark, i, marks)
				}
			}
		}
		if all, _ := e.after(s, journal.OldestMark, 3); len(all) != len(marks)-1 {
			e.Fatalf("%d changes from the oldest on, want %d", len(all), len(marks)-1)
		}
	}
	check()
	e.must(s.Close())
	s = e.open()
	check()
	e.create(s, "alice", "")
	if marks = append(marks, e.newest(s)); marks[8] <= marks[7] {
		e.Fatalf("the mark %d after the mark %d", marks[8], marks[7])
	}
	check()
	_, err := s.Changes(ctx, marks[8]+1, 0)
	e.wants(err, federation.ErrTrimmed)
}

// testChangesRefused: what was not written is not told, whoever shares its commit.
func testChangesRefused(e *env) {
	s := e.open()
	j := e.create(s, "alice", "")
	mark := e.newest(s)
	e.wants(s.Commit(ctx, &journal.Batch{
		Jobs: []*federation.Job{j}, Events: []federation.Event{{Job: 40_000_000, Text: "no"}},
	}), federation.ErrNotFound)
	if got, end := e.after(s, mark, 0); end != mark {
		e.Fatalf("a refused batch is in the log: %v", got)
	}
}

// testChangesSafe follows the log while many callers write, some of them in vain: each write is told once, none below a mark that was
// given before, none after it was acknowledged, and what is read after a mark is as new as it.
func testChangesSafe(e *env) {
	s := e.open()
	e.create(s, "alice", "") // the first mark of a new store is as old as the log may be, and trimmed after 64 commits
	mark := e.newest(s)
	const writers, each = 16, 40
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				if w%4 == 0 {
					err := s.Commit(ctx, &journal.Batch{Events: []federation.Event{{Job: 40_000_000, Text: "no"}}})
					if !errors.Is(err, federation.ErrNotFound) {
						e.Error(err)
					}
					continue
				}
				j := &federation.Job{User: fmt.Sprint(w), UID: uint32(i)}
				if err := s.CreateJob(ctx, j, &sbatch.Payload{}); err != nil {
					e.Error(err)
					continue
				}
				if log, err := s.Changes(ctx, 0, 0); err != nil {
					e.Error(err)
				} else if back, err := s.Changes(ctx, log.Mark, 0); err != nil || slices.ContainsFunc(back.Commits, func(c journal.Commit) bool {
					return slices.ContainsFunc(c.Changes, func(x journal.Change) bool { return x.Job == j.ID })
				}) {
					e.Errorf("job %d was acknowledged before the mark %d was given, and is told after it: %v", j.ID, log.Mark, err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { all.Wait(); close(written) }()
	told := map[federation.JobID]bool{}
	for over := false; ; {
		log, err := s.Changes(ctx, mark, 3)
		e.must(err)
		var ids []federation.JobID
		for _, c := range log.Commits {
			if c.Mark <= mark {
				e.Fatalf("commit %d after the mark %d", c.Mark, mark)
			}
			mark = c.Mark
			for _, x := range c.Changes {
				if told[x.Job] || x.Kind != journal.ChangeJob {
					e.Fatalf("told again: %+v", x)
				}
				told[x.Job] = true
				ids = append(ids, x.Job)
			}
		}
		if jobs, err := s.Jobs(ctx, federation.JobQuery{IDs: ids}); err != nil || len(ids) > 0 && len(jobs) != len(ids) {
			e.Fatalf("%d jobs are there of %d that were told: %v", len(jobs), len(ids), err)
		}
		if over && len(log.Commits) == 0 {
			break
		}
		select {
		case <-written:
			over = true
		default:
		}
	}
	jobs, err := s.Jobs(ctx, federation.JobQuery{})
	e.must(err)
	if len(told) != len(jobs)-1 || len(told) != writers*3/4*each {
		e.Fatalf("%d jobs were told, %d are there", len(told), len(jobs))
	}
}

// testAlone reads an array without its parts.
func testAlone(e *env) {
	s := e.open()
	array, other := e.create(s, "alice", "array"), e.create(s, "alice", "other")
	part := *array
	id, err := s.ReserveIDs(ctx, 1)
	e.must(err)
	part.ID, part.Part = id[0], &federation.ArrayPart{Array: array.ID, Index: 1}
	e.must(s.Commit(ctx, &journal.Batch{Create: []*federation.Job{&part}}))
	for _, q := range []struct {
		alone bool
		want  []federation.JobID
	}{{true, []federation.JobID{array.ID, other.ID}}, {false, []federation.JobID{array.ID, other.ID, part.ID}}} {
		jobs, err := s.Jobs(ctx, federation.JobQuery{IDs: []federation.JobID{other.ID, array.ID}, Alone: q.alone})
		e.must(err)
		slices.SortFunc(jobs, func(a, b federation.Job) int { return cmp.Compare(a.ID, b.ID) })
		e.same("jobs", ids(jobs), q.want)
	}
}
