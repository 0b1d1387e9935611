package quota

import (
	"fmt"
	"sync/atomic"

	"fsub/federation/accounts"
	"fsub/federation/reasons"
)

// Submits counts the jobs that have been submitted and have not ended, for the limits of how many there may be: of an array every task counts, as in
// slurmctld. It is for one goroutine at a time.
type Submits struct {
	free atomic.Pointer[accounts.Tree] // one without limits

	books   interface{ Tree() *accounts.Tree }
	tree    *accounts.Tree // that counts and keys are of
	limited bool           // it sets such a limit
	all     map[Submitter]*Submitted
	counts  map[accounts.Key]int64
}

// Submitter is on whose behalf a job is submitted, as the job names it.
type Submitter struct{ User, Account, QOS string }

// Submitted is what counts of one submitter.
type Submitted struct {
	Submitter
	n      int64
	keys   []accounts.Key
	bounds []bound // of how many jobs may be submitted
}

// under looks up what counts for the submitter in a tree.
func (x *Submitted) under(t *accounts.Tree) {
	x.keys = keysOf(t, x.User, t.Account(x.User, x.Account), x.QOS)
	x.bounds = subjectOf(t, x.keys).submits()
}

// NewSubmits returns Submits of no jobs.
func NewSubmits(books interface{ Tree() *accounts.Tree }) *Submits {
	s := &Submits{books: books}
	s.Clear()
	return s
}

// Clear forgets all jobs.
func (s *Submits) Clear() { s.tree, s.all, s.counts = nil, map[Submitter]*Submitted{}, nil }

// Of is what counts of one submitter. It stays the same one until Clear.
func (s *Submits) Of(who Submitter) *Submitted {
	x := s.all[who]
	if x == nil {
		x = &Submitted{Submitter: who}
		s.all[who] = x
		if s.tree != nil {
			x.under(s.tree)
		}
	}
	return x
}

// Add counts n jobs more, or less.
func (s *Submits) Add(x *Submitted, n int64) {
	x.n += n
	if s.tree == nil {
		return
	}
	for _, k := range x.keys {
		s.counts[k] += n
	}
}

// Free reports whether no limit is set, as far as that is known already. Unlike the other methods it may be called at any time.
func (s *Submits) Free() bool {
	t := s.free.Load()
	return t != nil && t == s.books.Tree()
}

// Limited reports whether any limit is set, and whether the tree is another one than when it was asked before.
func (s *Submits) Limited() (is, changed bool) {
	t := s.books.Tree()
	if s.tree == t {
		return s.limited, false
	}
	s.tree, s.limited, s.counts = t, false, map[accounts.Key]int64{}
	for _, r := range t.Records() {
		for _, b := range r.Bounds() {
			s.limited = s.limited || b.Limit.Measure == accounts.Submitted
		}
	}
	if s.free.Store(nil); !s.limited {
		s.free.Store(t)
	}
	for who, x := range s.all {
		if x.n == 0 {
			delete(s.all, who)
			continue
		}
		x.under(t)
		for _, k := range x.keys {
			s.counts[k] += x.n
		}
	}
	return s.limited, true
}

// Check says why n jobs more must not be submitted; nil if they may. Limited was asked before.
func (s *Submits) Check(x *Submitted, n int64) *Refusal {
	for i := range x.bounds {
		b := &x.bounds[i]
		if has := s.counts[b.key]; has+n > b.Most {
			return &Refusal{Reason: reasons.Reason(b.Reason(b.set.Kind)), Text: fmt.Sprintf("%s %s, and has %d", b.who(false), b.may(), has)}
		}
	}
	return nil
}
