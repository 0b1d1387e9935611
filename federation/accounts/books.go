package accounts

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Store keeps the tree.
type Store interface {
	// AccountRecords are all records.
	AccountRecords(ctx context.Context) ([]Record, error)
	// WriteAccounts writes changes of records, each with its entry of the audit log: all or nothing.
	WriteAccounts(ctx context.Context, changes []Change, by Editor, at time.Time, why string) error
	// MadeAt are the records that [Store.SetMadeAt] was told of: the federation has made them at a site.
	MadeAt(ctx context.Context, site string) (map[Key]bool, error)
	SetMadeAt(ctx context.Context, site string, k Key, made bool) error
}

// Books keep the newest tree and its store. They are for several goroutines.
type Books struct {
	Store
	now  func() time.Time
	mu   sync.Mutex // of edits
	tree atomic.Pointer[Tree]
}

// Open reads the tree.
func Open(ctx context.Context, s Store, now func() time.Time) (*Books, error) {
	b := &Books{Store: s, now: now}
	if err := b.Reload(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// Reload reads the tree again, where another daemon edits it.
func (b *Books) Reload(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	records, err := b.AccountRecords(ctx)
	if err != nil {
		return err
	}
	t, err := New(records)
	if err == nil {
		b.tree.Store(t)
	}
	return err
}

// Tree is the newest tree.
func (b *Books) Tree() *Tree { return b.tree.Load() }

// CoordinatesAny reports whether a user is a coordinator of any account.
func (b *Books) CoordinatesAny(user string) bool { return b.Tree().CoordinatesAny(user) }

// Coordinates reports whether a user is a coordinator of an account or of one above it.
func (b *Books) Coordinates(user, account string) bool { return b.Tree().Coordinates(user, account) }

// CoordinatorsOf are the coordinators of an account, or of the first one above it that has any.
func (b *Books) CoordinatorsOf(account string) []string { return b.Tree().CoordinatorsOf(account) }

// Edit makes edits, all or none, and writes each change down with who made it and why. dry: it only tells what they would change.
func (b *Books) Edit(ctx context.Context, who Editor, edits []Edit, why string, dry bool) ([]Change, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next, changes, err := b.Tree().Apply(edits, who)
	if err != nil || dry || len(changes) == 0 {
		return changes, err
	}
	if err := b.WriteAccounts(ctx, changes, who, b.now().UTC(), why); err != nil {
		return nil, err
	}
	b.tree.Store(next)
	return changes, nil
}
