package fairtree

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// plain is Fair Tree as its definition reads, with nothing remembered: an account with its children, each with a big.Float of long double's precision.
type plain struct {
	id       ID
	user     bool
	shares   uint32
	used     float64 // by itself
	up       *plain
	children []*plain
}

func (p *plain) usage() float64 {
	sum := p.used
	for _, c := range p.children {
		sum += c.usage()
	}
	return sum
}

// level are those that share out what p has: an account without shares of its own stands there beside its children.
func (p *plain) level() (all []*plain) {
	for _, c := range p.children {
		all = append(all, c)
		if c.shares == UseParent && !c.user {
			all = append(all, c.level()...)
		}
	}
	return all
}

func long(f float64) *big.Float { return new(big.Float).SetPrec(64).SetFloat64(f) }

func (p *plain) share(of []*plain, total float64) *big.Float {
	var sum uint32
	for _, c := range of {
		if c.shares != UseParent {
			sum += c.shares
		}
	}
	switch {
	case p.shares == UseParent && p.user:
		return new(big.Float).SetInf(false)
	case p.shares == UseParent:
		return long(0xfffffffe)
	case p.shares == 0:
		return long(0)
	case p.usage() == 0 || total == 0:
		return new(big.Float).SetInf(false)
	}
	u := long(0).Quo(long(p.usage()), long(total))
	return long(0).Quo(long(float64(p.shares)/float64(sum)), u)
}

type ranking struct {
	rank, free int
	of         map[ID]int
}

func (r *ranking) walk(p *plain, tied bool) {
	rest := p.level()
	total := p.usage()
	shares := map[*plain]*big.Float{}
	for _, c := range rest {
		shares[c] = c.share(rest, total)
	}
	before := long(0xfffffffe)
	for first := true; len(rest) > 0; first = false {
		best := 0
		for i, c := range rest {
			b := rest[best]
			switch d := shares[c].Cmp(shares[b]); {
			case d > 0, d == 0 && c.user && !b.user, d == 0 && c.user == b.user && c.id < b.id:
				best = i
			}
		}
		c := rest[best]
		rest = append(rest[:best:best], rest[best+1:]...)
		same := shares[c].Cmp(before) == 0
		if first && tied {
			same = true
		}
		switch {
		case !c.user && c.shares != UseParent:
			r.walk(c, same)
		case c.user:
			if !same {
				r.rank = r.free
			}
			r.of[c.id] = r.rank
			r.free--
		}
		before = shares[c]
	}
}

func drawShares(t *rapid.T) uint32 {
	if rapid.IntRange(0, 7).Draw(t, "parent") == 0 {
		return UseParent
	}
	return rapid.SampledFrom([]uint32{0, 1, 1, 1, 2, 3, 5, 7, 10, 100}).Draw(t, "shares")
}

// drawTree makes the same tree twice.
func drawTree(t *rapid.T) (*Tree, *plain, []*plain) {
	tree, root := New(), &plain{}
	all := []*plain{root}
	accounts := []*plain{root}
	for range rapid.IntRange(1, 40).Draw(t, "associations") {
		up := accounts[rapid.IntRange(0, len(accounts)-1).Draw(t, "below")]
		p := &plain{user: rapid.IntRange(0, 2).Draw(t, "kind") > 0, shares: drawShares(t), up: up}
		p.id = tree.Add(up.id, p.user, p.shares)
		up.children = append(up.children, p)
		all = append(all, p)
		if !p.user {
			accounts = append(accounts, p)
		}
	}
	return tree, root, all
}

// Usage is in whole numbers here, so that sums do not depend on their order.
func drawUsage(t *rapid.T) float64 {
	return float64(rapid.SampledFrom([]int{0, 0, 100, 100, 200, 300, 500, 700, 12345, 1 << 40}).Draw(t, "usage"))
}

func check(t *rapid.T, tree *Tree, root *plain, all []*plain) {
	r := ranking{rank: tree.Users(), free: tree.Users(), of: map[ID]int{}}
	r.walk(root, false)
	for _, p := range all {
		if !p.user {
			continue
		}
		if got, want := tree.Factor(p.id), float64(r.of[p.id])/float64(tree.Users()); got != want {
			t.Fatalf("association %d has factor %v, want %v", p.id, got, want)
		}
	}
	for _, p := range all {
		if p.up == nil {
			continue
		}
		up := p.up
		for up.shares == UseParent && up.up != nil {
			up = up.up
		}
		want, _ := p.share(up.level(), up.usage()).Float64()
		if got := tree.LevelFS(p.id); got != want {
			t.Fatalf("association %d has level fair-share %v, want %v", p.id, got, want)
		}
	}
}

func TestRanksAreThoseOfTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree, root, all := drawTree(t)
		for _, p := range all {
			p.used = drawUsage(t)
			tree.Use(p.id, p.used)
		}
		tree.Rank()
		check(t, tree, root, all)
		for range rapid.IntRange(0, 5).Draw(t, "more") { // one after the other
			p := all[rapid.IntRange(0, len(all)-1).Draw(t, "who")]
			more := drawUsage(t)
			p.used += more
			tree.Used(p.id, more)
			check(t, tree, root, all)
		}
	})
}

func TestExtended(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Float64Range(1e-30, 1e30)
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x := extendedOf(a).by(extendedOf(b))
		want := long(0).Quo(long(a), long(b))
		got := new(big.Float).SetPrec(64).SetMantExp(new(big.Float).SetPrec(64).SetUint64(x.mant), int(x.exp))
		if got.Cmp(want) != 0 {
			t.Fatalf("%v / %v is %s, want %s", a, b, got.Text('g', 25), want.Text('g', 25))
		}
		if f, _ := want.Float64(); x.float() != f {
			t.Fatalf("as float64: %v, want %v", x.float(), f)
		}
		if c := extendedOf(a).compare(extendedOf(b)); c != big.NewFloat(a).Cmp(big.NewFloat(b)) {
			t.Fatalf("%v against %v: %d", a, b, c)
		}
	})
}

// What the manual and the code say of the corners, by name.
func TestCorners(t *testing.T) {
	tree := New()
	a, b := tree.Add(Root, false, 1), tree.Add(Root, false, 1)
	a1, a2 := tree.Add(a, true, 1), tree.Add(a, true, 1)
	b1, b2 := tree.Add(b, true, 1), tree.Add(b, true, 3)
	factors := func() string {
		tree.Rank()
		return fmt.Sprint(tree.Factor(a1), tree.Factor(a2), tree.Factor(b1), tree.Factor(b2))
	}
	if got := factors(); got != "1 1 1 1" { // unused siblings tie, and so do the accounts: the second's first takes the last rank
		t.Error("unused:", got)
	}
	tree.Use(a1, 100)
	if got := factors(); got != "0.25 0.5 1 1" {
		t.Error("one has used something:", got)
	}
	tree.Use(b1, 50)
	tree.Use(b2, 50)
	if got := factors(); got != "0.75 1 0.25 0.75" {
		t.Error("tied accounts:", got)
	}
	if f := tree.NormShares(b2); f != 0.75 {
		t.Error("shares of the level:", f)
	}
	if tree.LevelFS(a) != 1 || tree.EffectiveUsage(b1) != 0.5 || tree.NormUsage(b1) != 0.25 {
		t.Error(tree.LevelFS(a), tree.EffectiveUsage(b1), tree.NormUsage(b1))
	}
}

func TestDecay(t *testing.T) {
	tree := New()
	u := tree.Add(Root, true, 1)
	tree.Use(u, 1000)
	tree.Decay(DecayFactor(7*24*time.Hour, 7*24*time.Hour))
	if got := tree.Usage(Root); math.Abs(got-500) > 0.2 { // 0.693 is not quite ln 2
		t.Error("after a half-life:", got)
	}
	if DecayFactor(0, time.Hour) != 1 {
		t.Error("no half-life, and it decays")
	}
}

// A run counts as if each minute of it had been added when it had passed, and had decayed since.
func TestLeftOfRun(t *testing.T) {
	const halfLife = 24 * time.Hour
	added := 0.0
	for minute := 1; minute <= 20*24*60; minute++ {
		added = added*DecayFactor(halfLife, time.Minute) + 60
		lasted := time.Duration(minute) * time.Minute
		if got := lasted.Seconds() * LeftOfRun(halfLife, lasted); math.Abs(got-added) > 60 {
			t.Fatalf("after %v: %v, want %v", lasted, got, added)
		}
	}
	if added > 1.45*halfLife.Seconds() {
		t.Error("of twenty half-lives counts:", added)
	}
	for _, c := range []struct{ halfLife, lasted time.Duration }{{0, time.Hour}, {halfLife, 0}, {halfLife, -time.Second}} {
		if got := LeftOfRun(c.halfLife, c.lasted); got != 1 {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if got := LeftOfRun(365*24*time.Hour, time.Nanosecond); math.Abs(got-1) > 1e-9 {
		t.Error("of a nanosecond counts:", got)
	}
}

// large is a tree of n associations: accounts three levels deep, 50 users each.
func large(n int) (*Tree, []ID) {
	r := rand.New(rand.NewPCG(1, 2))
	tree := New()
	accounts, users := []ID{Root}, []ID(nil)
	for tree.Len() < n {
		up := accounts[r.IntN(min(len(accounts), 200))]
		a := tree.Add(up, false, uint32(1+r.IntN(100)))
		accounts = append(accounts, a)
		for range 50 {
			users = append(users, tree.Add(a, true, uint32(1+r.IntN(10))))
		}
	}
	for _, u := range users {
		if r.IntN(5) > 0 {
			tree.Use(u, r.ExpFloat64()*1e6)
		}
	}
	tree.Rank()
	return tree, users
}

func BenchmarkRank100k(b *testing.B) {
	tree, users := large(100_000)
	for i := 0; b.Loop(); i++ {
		tree.Use(users[i%len(users)], 1e5)
		tree.Decay(0.9999)
		tree.Rank()
	}
}

func BenchmarkUsed100k(b *testing.B) {
	tree, users := large(100_000)
	for i := 0; b.Loop(); i++ {
		tree.Used(users[(i*7919)%len(users)], 1e5)
	}
}
