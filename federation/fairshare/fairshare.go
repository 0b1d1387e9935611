// Package fairshare orders the federation's queue as Slurm's multifactor priority does: fair-share over all sites together, age, QOS, partition, size, nice. [Shares]
// collects what associations have used, from the charges of runs that have ended and from what runs now, lets it decay, and ranks the users
// with Fair Tree every [Policy.Period]. In between a job's priority is a look-up, so that no end of a job moves others in the queue.
//
// Points alone may keep a job waiting for ever. So the oldest jobs of associations are put before all others after [Policy.StarveAfter], one of each in that time: starve.go. The first of the queue
// starts when what runs where it is to run has reached its limit, since placement holds nodes in time for it. docs/accounts.md states the bound and its exceptions.
package fairshare

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fsub/accounting"
	"fsub/accounting/fairtree"
	"fsub/federation"
	"fsub/federation/accounts"
)

// Policy is how the queue is ordered. Weights are as in slurm.conf.
type Policy struct {
	HalfLife time.Duration // of usage: PriorityDecayHalfLife; 0: it does not decay
	Period   time.Duration // PriorityCalcPeriod
	MaxAge   time.Duration // a job that has waited so long gets all of Age
	Age      float64
	// Work has jobs come first that are expected to take little: a job counts as younger by so many times its [Work], by MaxAge at most. So it waits for
	// none that comes later than MaxAge after it, however short. 0: what a job takes does not matter.
	Work  float64
	Share float64 // PriorityWeightFairshare
	QOS   float64
	// Partition is PriorityWeightPartition: points of a job of the partition with the highest PriorityJobFactor.
	Partition float64
	Size      float64 // by the part of the largest job that waits
	// StarveAfter is how long a job waits at most until it is put before all others, if it is the oldest of its association. 0: it never is.
	StarveAfter time.Duration
	// CriticalPath has those of a user's jobs with a --group come first from which the longest path of dependencies goes on. Jobs of others keep their places.
	CriticalPath bool
	// Dollars: usage is what runs cost. Else it is seconds of Billing, Slurm's TRESBillingWeights; without any, of the billing TRES that the
	// site counts, or of CPUs.
	Dollars bool
	Billing map[string]float64
}

// Default is the policy of a federation that says nothing else.
func Default() Policy {
	return Policy{HalfLife: 7 * 24 * time.Hour, Period: time.Minute, MaxAge: 7 * 24 * time.Hour, Age: 1000, Share: 100_000, QOS: 10_000, StarveAfter: 7 * 24 * time.Hour}
}

// ShortFirst is the policy of a federation whose users are all alike to it: who is expected to take little comes first. It is measured in docs/planner.md.
func ShortFirst() Policy {
	const longest = 365 * 24 * time.Hour
	return Policy{Period: time.Hour, MaxAge: longest, Age: longest.Seconds(), Work: 4} // a point a second
}

// ByWork reports whether the order depends on how long jobs are expected to run.
func (s *Shares) ByWork() bool { return s.policy.Work > 0 }

// Running is a run that has not ended.
type Running struct {
	User, Account string
	federation.Held
	Start time.Time
	Price federation.Money // by the hour
}

// Shares are who has used how much, and what follows from it. But for Points, Parts and Standing it is for one goroutine.
type Shares struct {
	policy Policy
	books  interface{ Tree() *accounts.Tree }

	used       map[accounts.Key]float64 // by runs that have ended, as of at
	at         time.Time
	tree       *fairtree.Tree
	ids        map[accounts.Key]fairtree.ID
	of         *accounts.Tree // that tree was made of
	places     places
	critical   *critical // nil: paths do not matter
	hungry     starving
	partitions map[string]float64 // PriorityJobFactor by partition, of the highest one
	// Late reports whether an association has come to a soft limit: then its jobs go last. nil: none does. It is asked at each pass.
	Late func(now time.Time, association accounts.Key) bool

	now    atomic.Pointer[standing]
	direct atomic.Pointer[directUse]
}

// directUse is what jobs have used that were submitted at sites themselves, as of a time.
type directUse struct {
	used map[accounts.Key]float64
	at   time.Time
}

// Direct tells what jobs have used that were submitted at sites themselves, in place of what was told before. It may be called from any goroutine.
func (s *Shares) Direct(all []federation.ChargeSum, now time.Time) {
	d := &directUse{used: map[accounts.Key]float64{}, at: now}
	t := s.books.Tree()
	for i := range all {
		k := &all[i]
		d.used[Key(t, k.User, k.Account)] += s.sum(t, k) * fairtree.DecayFactor(s.policy.HalfLife, now.Sub(k.End))
	}
	s.direct.Store(d)
}

// standing is what a pass has found. It is not changed.
type standing struct {
	at         time.Time
	ordered    time.Time // when jobs' ages were taken last
	tree       *accounts.Tree
	factors    map[accounts.Key]float64
	late       map[accounts.Key]bool
	qos        map[string]float64
	partitions map[string]float64 // by partition; "": the default ones
	rows       []Row
	ranks      []rank                     // by the number of the association
	first      map[federation.JobID]int64 // what jobs count that are put before all others
}

// rank is what an association's jobs stand by.
type rank struct {
	factor float64
	late   bool
}

// orderAgain is how old the ages may be that jobs are ordered by: they grow for all alike, but for those that have come to the highest one.
const orderAgain = time.Hour

// Row is how an association stands, as sshare shows it.
type Row struct {
	accounts.Key
	NormShares, Usage, NormUsage, EffectiveUsage float64
	FairShare                                    float64 // of users
	LevelFS                                      float64 // +Inf: nothing used
}

// New returns Shares of a tree without usage.
func New(p Policy, books interface{ Tree() *accounts.Tree }) *Shares {
	s := &Shares{policy: p, books: books, used: map[accounts.Key]float64{}, places: newPlaces(), hungry: newStarving()}
	if p.CriticalPath {
		s.critical = newCritical()
	}
	s.now.Store(&standing{tree: books.Tree()})
	return s
}

// KeyOf is the association that a job is charged to: see [accounts.Tree.Account].
func KeyOf(t *accounts.Tree, j *federation.Job) accounts.Key {
	return Key(t, j.User, t.Account(j.User, j.Spec.Account))
}

// Key is the association that what was charged to an account counts for: that account's, if the tree has it, whether the user is in it still or not, else that of
// the user's default one. In an empty tree all users stand below root.
func Key(t *accounts.Tree, user, account string) accounts.Key {
	user, account = strings.ToLower(user), strings.ToLower(account)
	switch {
	case t.Empty():
		account = accounts.Root
	case account == "" || t.Get(accounts.AccountKey(account)) == nil:
		account = t.AccountOf(user)
	}
	return accounts.UserKey(account, user)
}

// amount is what runs count when they end that lasted for d in all.
func (s *Shares) amount(t *accounts.Tree, h *federation.Held, d time.Duration, cost federation.Money, runs int) float64 {
	n := cost.Dollars()
	if !s.policy.Dollars {
		n = s.billing(h.TRES) * max(d.Seconds(), 0)
	}
	n *= fairtree.LeftOfRun(s.policy.HalfLife, d/time.Duration(max(runs, 1)))
	if q := t.Get(accounts.QOSKey(h.QOS)); q != nil {
		n *= q.UsageFactor()
	}
	return n
}

// sum is what those runs count. They are alike: as if each had lasted as long as they did on average.
func (s *Shares) sum(t *accounts.Tree, k *federation.ChargeSum) float64 {
	return s.amount(t, &federation.Held{Account: k.Account, QOS: k.QOS, TRES: k.TRES}, k.Elapsed, k.Amount, k.Runs)
}

// billing is what a run's TRES count each second.
func (s *Shares) billing(text string) float64 {
	tres, err := accounting.ParseTRES(text)
	switch {
	case err != nil:
		return 0
	case len(s.policy.Billing) > 0:
		return accounting.PerHour(s.policy.Billing, tres)
	case tres["billing"] > 0:
		return float64(tres["billing"])
	}
	return float64(tres["cpu"])
}

// Charge adds a run that has ended.
func (s *Shares) Charge(k *federation.Charge) {
	if k.From == federation.PriceNone {
		return // its end was not seen
	}
	s.Add(k.User, k.Held, k.End.Sub(k.Start), k.Amount, k.End)
}

// Add adds a run that has ended at some time.
func (s *Shares) Add(user string, h federation.Held, d time.Duration, cost federation.Money, end time.Time) {
	t := s.books.Tree()
	s.add(Key(t, user, h.Account), s.amount(t, &h, d, cost, 1), end)
}

// AddSum adds runs that have ended at about the same time.
func (s *Shares) AddSum(k *federation.ChargeSum) {
	t := s.books.Tree()
	s.add(Key(t, k.User, k.Account), s.sum(t, k), k.End)
}

func (s *Shares) add(k accounts.Key, amount float64, end time.Time) {
	if s.at.IsZero() {
		s.at = end
	}
	// Usage of all is as of s.at: what ended before has decayed since then, what ended after will not have by as much.
	s.used[k] += amount * fairtree.DecayFactor(s.policy.HalfLife, s.at.Sub(end))
}

// editedWithin is how soon a pass follows when the tree has changed: an edit is to be seen, but not each of a thousand edits by a pass of its own.
const editedWithin = 2 * time.Second

// Due is when the next pass is.
func (s *Shares) Due() time.Time {
	last, period := s.now.Load(), s.policy.Period
	if last.tree != s.books.Tree() {
		period = min(period, editedWithin)
	}
	return last.at.Add(period)
}

// Change is what a pass has found to be other than before.
type Change int

const (
	Same  Change = iota
	Ranks        // what associations count: see Group
	All          // what jobs count, too: see Of
)

// Pass works out how all stand now. It reports what has changed for jobs that it has been asked of: Fair Tree's ranks
// stay the same most of the time.
func (s *Shares) Pass(now time.Time, running []Running) Change {
	t := s.books.Tree()
	if !s.at.IsZero() && now.After(s.at) {
		factor := fairtree.DecayFactor(s.policy.HalfLife, now.Sub(s.at))
		for k := range s.used {
			s.used[k] *= factor
		}
	}
	s.at = now
	used := maps.Clone(s.used)
	for i := range running {
		r := &running[i]
		d := now.Sub(r.Start)
		used[Key(t, r.User, r.Account)] += s.amount(t, &r.Held, d, r.Price.For(d), 1)
	}
	if d := s.direct.Load(); d != nil {
		factor := fairtree.DecayFactor(s.policy.HalfLife, now.Sub(d.at))
		for k, n := range d.used {
			used[k] += n * factor
		}
	}
	s.rank(t, used)
	last, st := s.now.Load(), s.standing(t, now)
	st.ranks = make([]rank, len(s.places.who))
	for k, i := range s.places.who {
		st.ranks[i] = st.rank(k)
	}
	ranks := len(last.ranks) > len(st.ranks) || !slices.Equal(last.ranks, st.ranks[:len(last.ranks)])
	for k, i := range s.places.who { // new since then
		ranks = ranks || int(i) >= len(last.ranks) && last.rank(k) != st.ranks[i]
	}
	all := last.tree != t || !maps.Equal(last.qos, st.qos) || !maps.Equal(last.partitions, st.partitions) || now.Sub(last.ordered) >= orderAgain
	late := func(who int32) bool { return st.ranks[who].late }
	all = s.hungry.look(now, s.policy.StarveAfter, &s.places, late) || all
	st.first = s.hungry.points
	if st.ordered = last.ordered; all {
		st.ordered = now
	}
	s.now.Store(st)
	switch {
	case all:
		return All
	case ranks:
		return Ranks
	}
	return Same
}

// rank is what the jobs of an association stand by.
func (st *standing) rank(k accounts.Key) rank {
	factor, known := st.factors[k]
	if !known && st.tree.Get(accounts.AccountKey(k.Account)) != nil {
		factor = 1 // new: nothing used
	}
	return rank{factor, st.late[k]}
}

// rank puts usage into the tree. The tree is made anew only if it has other members.
func (s *Shares) rank(t *accounts.Tree, used map[accounts.Key]float64) {
	anew := s.of != t
	for k := range used {
		anew = anew || !s.has(k) && t.Get(accounts.AccountKey(k.Account)) != nil
	}
	for k := range s.places.last {
		anew = anew || !s.has(k) && t.Get(accounts.AccountKey(k.Account)) != nil
	}
	if anew {
		s.of = t
		s.tree, s.ids = t.FairTree()
		add := func(k accounts.Key) { // of users who have no association of their own
			up, ok := s.ids[accounts.AccountKey(k.Account)]
			if _, there := s.ids[k]; ok && !there {
				s.ids[k] = s.tree.Add(up, true, 1)
			}
		}
		for k := range used {
			add(k)
		}
		for k := range s.places.last {
			add(k)
		}
	}
	s.tree.Decay(0)
	for k, amount := range used {
		id, ok := s.ids[k]
		if !ok {
			if id, ok = s.ids[accounts.AccountKey(k.Account)]; !ok {
				id = fairtree.Root // of nobody who is known; it counts as used all the same
			}
		}
		s.tree.Use(id, amount)
	}
	s.tree.Rank()
}

func (s *Shares) has(k accounts.Key) bool { _, ok := s.ids[k]; return ok }

func (s *Shares) standing(t *accounts.Tree, now time.Time) *standing {
	st := &standing{at: now, tree: t, factors: make(map[accounts.Key]float64, len(s.ids)), late: map[accounts.Key]bool{}, qos: map[string]float64{}, partitions: s.partitions, rows: make([]Row, 0, len(s.ids))}
	for k, id := range s.ids {
		if k.Kind == accounts.User {
			st.factors[k] = s.tree.Factor(id)
			if s.Late != nil && s.Late(now, k) {
				st.late[k] = true
			}
		}
		st.rows = append(st.rows, Row{Key: k, NormShares: s.tree.NormShares(id), Usage: s.tree.Usage(id), NormUsage: s.tree.NormUsage(id),
			EffectiveUsage: s.tree.EffectiveUsage(id), FairShare: s.tree.Factor(id), LevelFS: s.tree.LevelFS(id)})
	}
	most := 0.0
	for _, q := range t.QOS() {
		n, _ := q.Count("Priority")
		st.qos[q.Name] = float64(n)
		most = max(most, float64(n))
	}
	for name := range st.qos {
		st.qos[name] /= max(most, 1)
	}
	return st
}

// Partitions tells of the PriorityJobFactor of partitions before the next pass; that of "" is the default partitions'.
func (s *Shares) Partitions(factors map[string]int) {
	most := 1
	for _, n := range factors {
		most = max(most, n)
	}
	s.partitions = make(map[string]float64, len(factors))
	for name, n := range factors {
		s.partitions[name] = float64(n) / float64(most)
	}
}

// Standing are the rows of the last pass, in no order.
func (s *Shares) Standing() []Row { return s.now.Load().rows }

// Bound tells that a job has left the queue for a site, Left that it has left it for another reason.
func (s *Shares) Bound(id federation.JobID) { s.places.bound(id); s.critical.leave(id) }
func (s *Shares) Left(id federation.JobID)  { s.places.left(id); s.critical.leave(id) }
