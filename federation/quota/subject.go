package quota

import (
	"cmp"
	"slices"
	"strings"

	"fsub/federation/accounts"
)

// A limit counts where it is first set, as in Slurm: in the job's QOS, else in the association. What an account may have as a group holds beside what
// the accounts above it may; what one job of it may have holds for those below that set nothing else.

// subject is a job in the account tree: the records whose limits hold for it.
type subject struct {
	once  []bound            // see bounds; nil: not worked out yet
	keys  []accounts.Key     // the association, the accounts above it, the QOS, what its user and its account have of the QOS
	chain []*accounts.Record // the association and the accounts above it that the tree has
	qos   *accounts.Record   // nil: none that the tree has
}

// bound is a bound that holds for a job.
type bound struct {
	*accounts.Bound
	set *accounts.Record // sets it
	key accounts.Key     // whose jobs count
}

func subjectOf(t *accounts.Tree, keys []accounts.Key) *subject {
	s := &subject{keys: keys}
	for _, k := range keys {
		switch r := t.Get(k); {
		case r == nil:
		case k.Kind != accounts.QOS:
			s.chain = append(s.chain, r)
		case k.Account == "":
			s.qos = r
		}
	}
	return s
}

// add adds to a list the bounds of a scope that records set for the jobs of a key: each limit as the first of them has it.
func (s *subject) add(list []bound, scope accounts.Scope, k accounts.Key, records ...*accounts.Record) []bound {
	first := len(list)
	for _, r := range records {
		if r == nil {
			continue
		}
		all := r.Bounds()
		for i := range all {
			b := &all[i]
			set := func(o bound) bool { return o.Option == b.Option && o.TRES == b.TRES }
			if b.Limit.Scope == scope && (r == s.qos || !s.replaced(b)) && !slices.ContainsFunc(list[first:], set) {
				list = append(list, bound{b, r, k})
			}
		}
	}
	if len(records) > 1 {
		slices.SortStableFunc(list[first:], func(a, b bound) int { return cmp.Compare(a.Limit.Measure, b.Limit.Measure) })
	}
	return list
}

// replaced reports whether a bound of an association does not count, since the QOS sets another.
func (s *subject) replaced(b *accounts.Bound) bool {
	return s.qos != nil && slices.ContainsFunc(s.qos.Bounds(), func(q accounts.Bound) bool {
		return b.Period == "" && q.Option == b.Option && q.TRES == b.TRES || q.Limit.Replaces == b.Name
	})
}

// groups adds the bounds of records for all jobs that they stand for.
func (s *subject) groups(list []bound, records ...*accounts.Record) []bound {
	for _, r := range records {
		if r != nil {
			list = s.add(list, accounts.PerGroup, r.Key, r)
		}
	}
	return list
}

// shares adds the bounds of what the job's user, and its account, may have of its QOS.
func (s *subject) shares(list []bound) []bound {
	for _, k := range s.keys {
		switch {
		case k.Kind != accounts.QOS || k.Account == "":
		case strings.HasPrefix(k.Account, inAccount):
			list = s.add(list, accounts.PerAccount, k, s.qos)
		default:
			list = s.add(list, accounts.PerUser, k, s.qos)
		}
	}
	return list
}

// bounds are those that hold once the job is bound, in the order in which they are looked at: those that no time will change come first.
func (s *subject) bounds() []bound {
	if s.once != nil {
		return s.once
	}
	list := s.add(make([]bound, 0, 4), accounts.PerJob, s.keys[0], append([]*accounts.Record{s.qos}, s.chain...)...)
	list = s.groups(s.groups(list, s.chain...), s.qos)
	s.once = s.add(s.shares(list), accounts.PerAssociation, s.keys[0], s.chain...)
	return s.once
}

// who is what a job names that decides which records hold for it.
type who struct{ user, account, qos, payer string }

// subjects are those that were looked up in one account tree. A million jobs name a few hundred.
type subjects struct {
	tree *accounts.Tree
	of   map[who]*subject
}

// mostSubjects bounds what is kept: after so many it begins again.
const mostSubjects = 100_000

func (ss *subjects) in(t *accounts.Tree, w *Want) *subject {
	if ss.tree != t || len(ss.of) >= mostSubjects {
		ss.tree, ss.of = t, map[who]*subject{}
	}
	k := who{w.User, w.Account, w.QOS, w.Payer}
	s := ss.of[k]
	if s == nil {
		s = subjectOf(t, w.keysIn(t))
		ss.of[k] = s
	}
	return s
}

// submits are those of its submission, in the order in which slurmctld looks: the QOS, then the association, then the accounts above it.
func (s *subject) submits() []bound {
	list := s.shares(s.groups(nil, s.qos))
	for i, r := range s.chain {
		if list = s.groups(list, r); i == 0 {
			list = s.add(list, accounts.PerAssociation, s.keys[0], s.chain...)
		}
	}
	return slices.DeleteFunc(list, func(b bound) bool { return b.Limit.Measure != accounts.Submitted })
}
