package api

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/queue"
	v1 "fsub/federation/api/v1"
	"fsub/federation/ended"
	"fsub/federation/share"
)

// countKeys are what jobs are counted by.
var countKeys = map[string]queue.By{"state": queue.ByState, "site": queue.BySite, "reason": queue.ByReason, "user": queue.ByUser, "account": queue.ByAccount, "group": queue.ByGroup}

const usualCounts = 1000

// Summary is GET /fed/v1/summary.
func (s *jobPages) Summary(ctx context.Context, _ identity.Caller, q v1.SummaryQuery) ([]v1.JobCount, error) {
	const keys = "state, site, reason, user, account, group"
	var by queue.By
	for word := range strings.SplitSeq(cmp.Or(q.By, "state"), ",") {
		if countKeys[word] == 0 {
			return nil, answer.BadBody(fmt.Sprintf("invalid by %q: want some of %s, with commas", word, keys))
		}
		by |= countKeys[word]
	}
	conditions, err := readConditions(q.Where)
	if err != nil {
		return nil, invalidOperation(err.Error())
	}
	looks := queue.ByState
	for i := range conditions {
		key := countKeys[conditions[i].key]
		if key == 0 {
			return nil, answer.BadBody(fmt.Sprintf("invalid condition on %s: jobs are counted by %s only; GET /fed/v1/jobs lists those that others choose", conditions[i].key, keys))
		}
		looks |= key
	}
	choice, live := jobChoice{conditions: conditions}, conditionQuery(conditions).Live
	all := q.All && !live
	counts, err := s.queue.Count(ctx, by, looks, func(f *queue.Facts) bool {
		chosen, _ := choice.Class(f, nil)
		return chosen && !((live || all) && f.State.Ended())
	})
	if err == nil && all {
		counts, err = s.countEnded(ctx, counts, by, &choice)
	}
	if err != nil {
		return nil, err
	}
	out := make([]v1.JobCount, 0, len(counts))
	for _, n := range counts[:min(len(counts), cmp.Or(q.Limit, usualCounts))] {
		out = append(out, v1.JobCount{State: n.State, Site: n.Site, Reason: n.Reason, User: n.User, Account: n.Account, Group: n.Group, Jobs: n.Jobs, Tasks: n.Tasks})
	}
	return out, nil
}

// arraysAtOnce is how many arrays are read at a time with all of their tasks, of which each may have many thousand.
const arraysAtOnce = 50

// countEnded adds to counts the jobs of the store that have ended. What an array still had of its tasks when it ended, and those that were cancelled before, are no jobs, but tasks.
func (s *jobPages) countEnded(ctx context.Context, counts []queue.Count, by queue.By, choice *jobChoice) ([]queue.Count, error) {
	sum := queue.SumOf(counts, by)
	add := func(f queue.Facts, jobs, tasks int64) {
		if chosen, _ := choice.Class(&f, nil); chosen {
			sum.Add(&f, jobs, tasks)
		}
	}
	user := oneUser(choice.conditions)
	err := s.jobs.Store.CountEnded(ctx, user, func(some []ended.Count) error {
		for _, n := range some {
			add(queue.Facts{User: n.User, Account: n.Account, Group: n.Group, State: n.State, Reason: n.Reason, Site: n.Site}, n.Jobs, n.Jobs)
		}
		share.Idle(ctx)()
		return nil
	})
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	for ask := (federation.JobQuery{Arrays: true, States: federation.EndStates, User: user, Limit: arraysAtOnce}); ; {
		arrays, err := s.jobs.Store.Jobs(ctx, ask)
		if err != nil {
			return nil, answer.OfStore(err, answer.NoContact)
		}
		tasks, err := s.jobs.Store.TasksOf(ctx, idsOfJobs(arrays))
		if err != nil {
			return nil, answer.OfStore(err, answer.NoContact)
		}
		for i := range arrays {
			j := &arrays[i]
			l, listed := queue.ListedOf(j)
			fates := map[int]fate{}
			for _, t := range tasks[j.ID] {
				fates[t.Index] = fate{t.State, t.ExitStatus}
			}
			for _, t := range foldTasks(j, fates) {
				set, err := federation.ReadTasks(t.Tasks)
				if err != nil || !t.State.Ended() {
					continue
				}
				l.State = t.State
				add(l.Facts, 0, int64(set.Len()))
			}
			if l.State = j.State; listed {
				add(l.Facts, 1, 0)
			}
		}
		if len(arrays) < arraysAtOnce {
			return sum.List(), nil
		}
		ask.AfterID = arrays[len(arrays)-1].ID
		share.Idle(ctx)()
	}
}

func idsOfJobs(jobs []federation.Job) []federation.JobID {
	ids := make([]federation.JobID, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
	}
	return ids
}

// oneUser is the user whose jobs are meant by conditions, "" if it may be several.
func oneUser(conditions []condition) string {
	for i := range conditions {
		if c := &conditions[i]; c.key == "user" && c.op == '=' && len(c.values) == 1 && !strings.ContainsAny(c.values[0], `*?[\\`) {
			return c.values[0]
		}
	}
	return ""
}
