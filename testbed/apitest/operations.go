package apitest

import (
	"context"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/audit"
)

// operations is what a Store keeps of operations. They are not worked off.
type operations struct {
	all   []action.Operation
	items map[action.OperationID][]action.OperationItem
}

// AddOperation implements action.OperationStore.
func (s *Store) AddOperation(_ context.Context, op *action.Operation, items []action.OperationItem, audit ...audit.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	op.ID, op.Jobs = action.OperationID(len(s.operations.all)+1), len(items)+len(op.Rest)
	for _, v := range items {
		if v.Settled > 0 {
			op.Settled++
		}
		if v.Failed {
			op.Failed++
		}
	}
	s.operations.all = append(s.operations.all, *op)
	if s.operations.items == nil {
		s.operations.items = map[action.OperationID][]action.OperationItem{}
	}
	s.operations.items[op.ID] = slices.Clone(items)
	s.audit.add(audit)
	return nil
}

// Operations implements action.OperationStore.
func (s *Store) Operations(context.Context, bool, int) ([]action.Operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.operations.all), s.fail
}

// OperationItems implements action.OperationStore.
func (s *Store) OperationItems(_ context.Context, id action.OperationID) ([]action.OperationItem, error) {
	return get(s, s.operations.items, id)
}

// AddItems implements action.OperationStore.
func (s *Store) AddItems(context.Context, action.OperationID, []action.OperationItem) error {
	return federation.ErrUnavailable
}

// SettledItems implements action.OperationStore.
func (s *Store) SettledItems(ctx context.Context, id action.OperationID, after, limit int) ([]action.OperationItem, error) {
	all, err := s.OperationItems(ctx, id)
	all = slices.DeleteFunc(slices.Clone(all), func(v action.OperationItem) bool { return v.Settled <= after })
	slices.SortFunc(all, func(a, b action.OperationItem) int { return a.Settled - b.Settled })
	return all[:min(limit, len(all))], err
}

// AskItems implements action.OperationStore.
func (s *Store) AskItems(context.Context, action.OperationID, []action.ItemRequest) ([]int64, error) {
	return nil, federation.ErrUnavailable
}

// SettleItems implements action.OperationStore.
func (s *Store) SettleItems(context.Context, action.OperationID, []action.OperationItem, time.Time) error {
	return federation.ErrUnavailable
}

// OperationTold implements action.OperationStore.
func (s *Store) OperationTold(_ context.Context, id action.OperationID, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id < 1 || int(id) > len(s.operations.all) {
		return federation.ErrNotFound
	}
	s.operations.all[id-1].Told = at
	return s.fail
}
