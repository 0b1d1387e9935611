package api

import (
	"context"
	"fmt"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/identity"
	"fsub/federation/api/queue"
	v1 "fsub/federation/api/v1"
)

// An operation on very many jobs is answered once their numbers are found and written down. Their items are made a piece at a time, while the first are worked off already.
const (
	itemsAdded       = 1000 // at a time
	maxOperationJobs = 1_000_000
	idsAtOnce        = 10_000 // that the queue is asked for
)

// chooseMany returns the numbers of the jobs that an operation is to be done to, in rising order, where they may be very many and the queue finds them. nil: they are for
// [operations.chooseOf] to find.
func (s *operations) chooseMany(ctx context.Context, c identity.Caller, q *v1.NewOperation) (ids []federation.JobID, err error) {
	conditions, err := readConditions(q.Where)
	if err != nil {
		return nil, invalidOperation(err.Error())
	}
	if !conditionQuery(conditions).Live || idsOf(conditions) != nil || q.Jobs != nil || s.Queue == nil || c.Claim != nil || q.Verb == action.Move {
		return nil, nil
	}
	lists := queue.Lists{Queue: s.Queue}
	if _, err := lists.Mark(ctx); err != nil {
		return nil, err
	}
	ask := queue.PageQuery{Limit: idsAtOnce, Choice: s.choice(conditions)}
	for {
		p, err := lists.Page(&ask)
		if err != nil {
			return nil, err
		}
		for _, id := range p.IDs {
			if q.Last == 0 || id <= q.Last {
				ids = append(ids, id)
			}
		}
		if len(ids) > maxOperationJobs {
			return nil, invalidOperation(fmt.Sprintf("more than %d jobs are too many for one operation", maxOperationJobs))
		}
		if ask.After = p.Next; p.Next == "" {
			return ids, nil
		}
	}
}

// grow makes the items of the next jobs of an operation that have none yet.
func (w *operationWorker) grow(ctx context.Context, p *operationProgress) error {
	if len(p.op.Rest) == 0 {
		return nil
	}
	ids := p.op.Rest[:min(itemsAdded, len(p.op.Rest))]
	found, err := w.jobsOf(ctx, ids)
	if err != nil {
		return err
	}
	var jobs []federation.Job
	for _, id := range ids {
		if j := found[id]; j != nil {
			jobs = append(jobs, *j)
		}
	}
	made := w.items(ctx, w.caller(&p.op), &p.op, jobs, nil)
	items := make([]action.OperationItem, len(ids))
	settled := p.settled
	for i, id := range ids {
		if found[id] != nil {
			items[i], made = made[0], made[1:]
		} else { // it ended long ago
			items[i] = action.OperationItem{Job: id, Settled: 1, Failed: p.op.Verb != action.Cancel, Note: notKnown}
		}
		if items[i].Settled > 0 {
			settled++
			items[i].Settled = settled
		}
	}
	if err := w.Store.AddItems(ctx, p.op.ID, items); err != nil {
		return err
	}
	n := len(p.items)
	p.op.Rest, p.items = p.op.Rest[len(ids):], append(p.items, items...)
	p.sort(n)
	return nil
}

// caller is who asked for an operation, with the rights of then as far as there still are.
func (s *operations) caller(op *action.Operation) identity.Caller {
	c := identity.Caller{Name: op.By.User, UID: op.By.UID}
	if known, err := s.Who(op.By.UID); err == nil && op.Coordinates {
		c = known
	}
	switch c.Role = identity.RoleNone; {
	case op.By.Role == identity.RoleAdministrator.String():
		c.Role = identity.RoleAdministrator
	case op.Operator:
		c.Role = identity.RoleOperator
	}
	return c
}
