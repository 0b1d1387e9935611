// Package records keeps the small things that users own: saved reports, and whatever else a user adds, lists and removes by name. [Record] is one as a
// store has it, [Set] has all of one kind with their values as Go types. Things of a new kind need no table and no migration.
package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"fsub/federation"
	"fsub/federation/audit"
)

// Record is a small thing that a user owns, as a [Store] keeps it.
type Record struct {
	Kind  string // what sort of thing it is, "report"; stored, so never renamed
	Owner string // user name
	Name  string // an owner has one of a kind and name
	Value json.RawMessage
	Rev   int64 // differs from that of every other write of any record; never 0
}

// Store keeps records.
type Store interface {
	// Records lists the records of a kind by owner and name: those of one owner, or all if owner is "".
	Records(ctx context.Context, kind, owner string) ([]Record, error)
	// PutRecord writes r together with audit, and sets its Rev. If r.Rev is 0, r replaces the record of the same kind, owner and name. Otherwise r must
	// have been read with that Rev: it is ErrConflict if the record was written or removed since.
	PutRecord(ctx context.Context, r *Record, audit ...audit.Entry) error
	// RemoveRecord is ErrNotFound if there is no such record.
	RemoveRecord(ctx context.Context, kind, owner, name string, audit ...audit.Entry) error
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

// CheckName says what is wrong with a name that a user gives to a thing.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("invalid name %q: want at most 63 letters, digits, '.', '_' and '-', the first a letter or digit", name)
	}
	return nil
}

// Set has the records of one kind, whose values are T as JSON.
type Set[T any] struct {
	Store Store // nil: nothing is kept
	Kind  string
	Key   func(*T) (owner, name *string) // where a value has its owner and its name
}

// List lists the values of one owner, or of all if owner is "", by owner and name.
func (s Set[T]) List(ctx context.Context, owner string) ([]T, error) {
	found, err := s.Store.Records(ctx, s.Kind, owner)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(found))
	for i := range found {
		if err := s.read(&found[i], &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (s Set[T]) read(r *Record, into *T) error {
	if err := json.Unmarshal(r.Value, into); err != nil {
		return fmt.Errorf("%w: the store is damaged: %s %s of %s: %w", federation.ErrUnavailable, s.Kind, r.Name, r.Owner, err)
	}
	return nil
}

// find reads one value, and the record that it is of. ErrNotFound: there is none of that name.
func (s Set[T]) find(ctx context.Context, owner, name string) (v T, r Record, err error) {
	found, err := s.Store.Records(ctx, s.Kind, owner)
	if err != nil {
		return v, r, err
	}
	for i := range found {
		if found[i].Name == name {
			return v, found[i], s.read(&found[i], &v)
		}
	}
	return v, r, federation.ErrNotFound
}

// Find returns one value, or ErrNotFound.
func (s Set[T]) Find(ctx context.Context, owner, name string) (T, error) {
	v, _, err := s.find(ctx, owner, name)
	return v, err
}

// Put writes v, in place of what its owner has under its name.
func (s Set[T]) Put(ctx context.Context, v *T, audit ...audit.Entry) error {
	return s.put(ctx, v, 0, audit...)
}

func (s Set[T]) put(ctx context.Context, v *T, rev int64, audit ...audit.Entry) error {
	owner, name := s.Key(v)
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%w: %s %s of %s: %w", federation.ErrInvalid, s.Kind, *name, *owner, err)
	}
	return s.Store.PutRecord(ctx, &Record{Kind: s.Kind, Owner: *owner, Name: *name, Value: text, Rev: rev}, audit...)
}

// Update writes what change makes of a value, unless it returns false. If the record was written meanwhile, change is called again with the new value.
// ErrNotFound: there is no such value.
func (s Set[T]) Update(ctx context.Context, owner, name string, change func(*T) bool) error {
	for {
		v, r, err := s.find(ctx, owner, name)
		if err != nil || !change(&v) {
			return err
		}
		if err = s.put(ctx, &v, r.Rev); !errors.Is(err, federation.ErrConflict) {
			return err
		}
	}
}

// Remove removes a value. ErrNotFound: there is no such value.
func (s Set[T]) Remove(ctx context.Context, owner, name string, audit ...audit.Entry) error {
	return s.Store.RemoveRecord(ctx, s.Kind, owner, name, audit...)
}
