package api

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/queue"
	v1 "fsub/federation/api/v1"
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
	counts, err := s.queue.Count(ctx, by, looks, func(f *queue.Facts) bool {
		chosen, _ := choice.Class(f, nil)
		return chosen && !(live && f.State.Ended())
	})
	if err != nil {
		return nil, err
	}
	out := make([]v1.JobCount, 0, len(counts))
	for _, n := range counts[:min(len(counts), cmp.Or(q.Limit, usualCounts))] {
		out = append(out, v1.JobCount{State: n.State, Site: n.Site, Reason: n.Reason, User: n.User, Account: n.Account, Group: n.Group, Jobs: n.Jobs, Tasks: n.Tasks})
	}
	return out, nil
}
