package apitest

import (
	"context"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/audit"
)

// operations is what a Store keeps of operations. They are not worked off.
type operations struct {
	all   []federation.Operation
	items map[federation.OperationID][]federation.OperationItem
}

// AddOperation implements federation.OperationStore.
func (s *Store) AddOperation(_ context.Context, op *federation.Operation, items []federation.OperationItem, audit ...audit.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	op.ID, op.Jobs = federation.OperationID(len(s.operations.all)+1), len(items)
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
		s.operations.items = map[federation.OperationID][]federation.OperationItem{}
	}
	s.operations.items[op.ID] = slices.Clone(items)
	s.audit.add(audit)
	return nil
}

// Operations implements federation.OperationStore.
func (s *Store) Operations(context.Context, bool, int) ([]federation.Operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.operations.all), s.fail
}

// OperationItems implements federation.OperationStore.
func (s *Store) OperationItems(_ context.Context, id federation.OperationID) ([]federation.OperationItem, error) {
	return get(s, s.operations.items, id)
}

// AskItems implements federation.OperationStore.
func (s *Store) AskItems(context.Context, federation.OperationID, []federation.ItemRequest) ([]int64, error) {
	return nil, federation.ErrUnavailable
}

// SettleItems implements federation.OperationStore.
func (s *Store) SettleItems(context.Context, federation.OperationID, []federation.OperationItem, time.Time) error {
	return federation.ErrUnavailable
}

// OperationTold implements federation.OperationStore.
func (s *Store) OperationTold(_ context.Context, id federation.OperationID, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id < 1 || int(id) > len(s.operations.all) {
		return federation.ErrNotFound
	}
	s.operations.all[id-1].Told = at
	return s.fail
}
