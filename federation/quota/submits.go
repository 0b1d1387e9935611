package quota

import (
	"strings"
	"sync/atomic"

	"fsub/federation/accounts"
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

func (s *Submitter) keys(t *accounts.Tree) []accounts.Key {
	return keysOf(t, s.User, t.Account(s.User, s.Account), s.QOS)
}

// Submitted is what counts of one submitter.
type Submitted struct {
	Submitter
	n    int64
	keys []accounts.Key
}

var submitLimits = []string{"GrpSubmitJobs", "MaxSubmitJobs", "MaxSubmitJobsPerUser", "MaxSubmitJobsPerAccount"}

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
			x.keys = who.keys(s.tree)
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
		for _, option := range submitLimits {
			s.limited = s.limited || r.Set[option] != ""
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
		x.keys = who.keys(t)
		for _, k := range x.keys {
			s.counts[k] += x.n
		}
	}
	return s.limited, true
}

// Check says why n jobs more must not be submitted, in the order in which slurmctld looks: the QOS, then the association, then the accounts above it. Nil if
// they may. Limited was asked before.
func (s *Submits) Check(x *Submitted, n int64) *Refusal {
	var qos *accounts.Record
	over := func(r *accounts.Record, option string, counted accounts.Key) (most int64, is bool) {
		most, ok := r.Count(option)
		return most, ok && s.counts[counted]+n > most
	}
	for _, k := range x.keys {
		if k.Kind == accounts.QOS && k.Account == "" {
			qos = s.tree.Get(k)
		}
	}
	if qos != nil {
		if most, is := over(qos, "GrpSubmitJobs", qos.Key); is {
			return refuse("QOSGrpSubmitJobsLimit", "%s may have %d jobs that have not ended, and has %d", qos.Key, most, s.counts[qos.Key])
		}
		for _, k := range x.keys {
			switch {
			case k.Kind != accounts.QOS || k.Account == "":
			case strings.HasPrefix(k.Account, inAccount):
				if most, is := over(qos, "MaxSubmitJobsPerAccount", k); is {
					return refuse("MaxSubmitJobsPerAccount", "an account may have %d jobs of %s that have not ended, and has %d", most, qos.Key, s.counts[k])
				}
			default:
				if most, is := over(qos, "MaxSubmitJobsPerUser", k); is {
					return refuse("QOSMaxSubmitJobPerUserLimit", "a user may have %d jobs of %s that have not ended, and has %d", most, qos.Key, s.counts[k])
				}
			}
		}
	}
	set := func(options ...string) bool {
		for _, option := range options {
			if qos != nil && qos.Set[option] != "" {
				return true
			}
		}
		return false
	}
	group, own := !set("GrpSubmitJobs"), !set("MaxSubmitJobsPerUser", "MaxSubmitJobsPerAccount")
	for i, k := range x.keys {
		r := s.tree.Get(k)
		if k.Kind == accounts.QOS {
			continue
		}
		if r != nil && group {
			if most, is := over(r, "GrpSubmitJobs", k); is {
				return refuse("AssocGrpSubmitJobsLimit", "%s may have %d jobs that have not ended, and has %d", k, most, s.counts[k])
			}
		}
		if i > 0 || !own {
			continue
		}
		for _, above := range x.keys { // a user's association has what the next account above it has, where it sets none
			r := s.tree.Get(above)
			if r == nil || above.Kind == accounts.QOS || r.Set["MaxSubmitJobs"] == "" {
				continue
			}
			if most, is := over(r, "MaxSubmitJobs", k); is {
				return refuse("AssocMaxSubmitJobLimit", "%s may have %d jobs that have not ended, and has %d", k, most, s.counts[k])
			}
			break
		}
	}
	return nil
}
