// Package fairtree is Slurm's Fair Tree: who has used least of his share, level by level of the account tree, comes first. [Tree] holds shares and
// usage of all associations and ranks the users. It does what slurmctld's code does (fair_tree.c, assoc_mgr.c, from 22.05 to 26.05 the same), down to
// ties and the 64 bits of x86's long double; where the manual says otherwise, the code is followed. It is pure: usage comes from elsewhere.
package fairtree

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// ID names an association in a Tree.
type ID int32

// Root is the account that all others belong to. It is there from the beginning.
const Root ID = 0

// UseParent in place of shares is FairShare=parent: a user comes before all others of the account; the children of such an account stand in the level
// of the next account above that has shares of its own.
const UseParent uint32 = math.MaxInt32

// Tree is an account tree with what was used. The zero value is not ready; see [New].
type Tree struct {
	all   []node
	ranks []int32 // of users
	marks []mark
	users int32
}

type node struct {
	parent, fair ID // fair: the next account above with shares of its own; it has the node in below
	shares       uint32
	sum          uint32 // the shares of all in below
	usage        float64
	lf           extended
	below        []ID // after Rank in order
}

// mark is what a walk through the ranked tree needs to know of a node.
type mark uint8

const (
	isUser mark = 1 << iota
	isTied      // its level fair-share is that of the one before it
)

// New returns a Tree of the root account alone.
func New() *Tree {
	return &Tree{all: []node{{parent: -1, fair: -1, shares: 1}}, ranks: []int32{0}, marks: []mark{0}}
}

// Add adds an account or, with user, a user's association below an account. Siblings that nothing tells apart keep the order in which they were
// added, as slurmctld keeps slurmdbd's.
func (t *Tree) Add(parent ID, user bool, shares uint32) ID {
	id, fair := ID(len(t.all)), parent
	for fair != Root && t.all[fair].shares == UseParent {
		fair = t.all[fair].parent
	}
	t.all = append(t.all, node{parent: parent, fair: fair, shares: shares})
	f := &t.all[fair]
	f.below = append(f.below, id)
	if shares != UseParent {
		f.sum += shares
	}
	var m mark
	if user {
		m = isUser
		t.users++
	}
	t.marks, t.ranks = append(t.marks, m), append(t.ranks, 0)
	return id
}

// Len is how many associations there are, the root included.
func (t *Tree) Len() int { return len(t.all) }

// Use adds to what an association has used, and to all accounts above it. The unit is the caller's: seconds of a billing TRES, or money. Ranks are
// those of before until [Tree.Rank]. Usage of a user who is not there any more is his account's own.
func (t *Tree) Use(id ID, amount float64) {
	for ; id >= 0; id = t.all[id].parent {
		t.all[id].usage += amount
	}
}

// Decay multiplies all usage by a factor; see [DecayFactor].
func (t *Tree) Decay(factor float64) {
	for i := range t.all {
		t.all[i].usage *= factor
	}
}

// DecayFactor is what usage is multiplied with after a time, for a PriorityDecayHalfLife. Slurm takes d = 1 - 0.693/half-life for each second. A
// half-life of 0 is none.
func DecayFactor(halfLife, after time.Duration) float64 {
	if halfLife <= 0 {
		return 1
	}
	return math.Pow(1-0.693/halfLife.Seconds(), after.Seconds())
}

// LeftOfRun is the part of what a run has used that counts once it has lasted so long, from 1 for a short one towards 0. slurmctld adds what runs use to usage every
// PriorityCalcPeriod, and all of it decays: so the first day of a run that has lasted a week counts as an old day does, and a run that never ends counts for no more than 1.44 half-lives of it.
func LeftOfRun(halfLife, lasted time.Duration) float64 {
	if halfLife <= 0 || lasted <= 0 {
		return 1
	}
	decay := -math.Log1p(-0.693/halfLife.Seconds()) * lasted.Seconds()
	return -math.Expm1(-decay) / decay
}

// Rank works out all ranks anew.
func (t *Tree) Rank() {
	for i := range t.all {
		t.order(ID(i))
	}
	t.number()
}

// Used is Use followed by Rank, for less: only the levels that the association and its accounts stand in are looked at. Before it Rank was called.
func (t *Tree) Used(id ID, amount float64) {
	t.Use(id, amount)
	for at := id; at >= 0; at = t.all[at].parent {
		t.order(at)
	}
	t.number()
}

// order works out the level fair-share of all below an account, and their order.
func (t *Tree) order(id ID) {
	up := &t.all[id]
	if len(up.below) == 0 {
		return
	}
	used := extendedOf(up.usage)
	for _, c := range up.below {
		t.all[c].lf = t.levelShare(c, used)
	}
	slices.SortFunc(up.below, func(a, b ID) int {
		x, y := &t.all[a], &t.all[b]
		if c := y.lf.compare(x.lf); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(t.marks[b]&isUser, t.marks[a]&isUser), cmp.Compare(a, b))
	})
	before := noVal
	for _, c := range up.below {
		t.marks[c] &^= isTied
		if t.all[c].lf == before {
			t.marks[c] |= isTied
		}
		before = t.all[c].lf
	}
}

// levelShare is S/U: the part of the level's shares by the part of the level's usage. It is infinite for who has used nothing, and 0 for who has no shares.
func (t *Tree) levelShare(id ID, used extended) extended {
	n := &t.all[id]
	switch {
	case n.shares == UseParent && t.marks[id]&isUser != 0:
		return infinite
	case n.shares == UseParent:
		return noVal
	case n.shares == 0:
		return extended{}
	case n.usage == 0 || used.zero():
		return infinite
	}
	return extendedOf(float64(n.shares) / float64(t.all[n.fair].sum)).by(extendedOf(n.usage).by(used))
}

// number gives each user a rank, in order through the tree, the highest first.
func (t *Tree) number() {
	n := numbering{t: t, last: t.users, next: t.users}
	n.level(Root, false)
}

type numbering struct {
	t          *Tree
	last, next int32 // the rank that was given last; the one that comes next if nobody is tied
}

// level numbers all below an account. first: the account is tied with the one before it. Slurm's manual says that tied accounts are merged; its code never
// does that: the first below the second account takes the rank that was given last.
func (n *numbering) level(id ID, first bool) {
	for i, c := range n.t.all[id].below {
		m := n.t.marks[c]
		tied := m&isTied != 0 || i == 0 && first
		if m&isUser == 0 {
			n.level(c, tied)
			continue
		}
		if !tied {
			n.last = n.next
		}
		n.t.ranks[c] = n.last
		n.next--
	}
}

// Factor is a user's fair-share factor, from 1 down to 1/N of N users: what sshare calls FairShare. An account has none: 0.
func (t *Tree) Factor(id ID) float64 {
	if t.users == 0 {
		return 0
	}
	return float64(t.ranks[id]) / float64(t.users)
}

// Users is the number of users' associations: N.
func (t *Tree) Users() int { return int(t.users) }

// LevelFS is an association's level fair-share, +Inf where it has used nothing. Of the root, and of accounts with [UseParent], it is Slurm's NO_VAL.
func (t *Tree) LevelFS(id ID) float64 {
	if id == Root {
		return noVal.float()
	}
	return t.all[id].lf.float()
}

// NormShares is the part that an association has of its level's shares; with UseParent, what its fair-share parent has. Of the
// root it is 0, as sshare shows it.
func (t *Tree) NormShares(id ID) float64 {
	n := &t.all[id]
	if n.shares == UseParent && n.fair >= 0 {
		n = &t.all[n.fair]
	}
	if n.fair < 0 || t.all[n.fair].sum == 0 {
		return 0
	}
	return float64(n.shares) / float64(t.all[n.fair].sum)
}

// Usage is what an association has used, with all below it.
func (t *Tree) Usage(id ID) float64 { return t.all[id].usage }

// NormUsage is the part of all usage that is the association's.
func (t *Tree) NormUsage(id ID) float64 { return part(t.all[id].usage, t.all[Root].usage) }

// EffectiveUsage is the part of its level's usage that is the association's; 1 for the root, used or not.
func (t *Tree) EffectiveUsage(id ID) float64 {
	if id == Root {
		return 1
	}
	return part(t.all[id].usage, t.all[t.all[id].fair].usage)
}

func part(of, all float64) float64 {
	if all == 0 {
		return 0
	}
	return of / all
}
