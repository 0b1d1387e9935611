package quota

import (
	"iter"
	"math"
	"time"

	"fsub/accounting/fairtree"
	"fsub/federation"
	"fsub/federation/accounts"
)

// ran is what jobs that run have used of a TRES.
type ran struct {
	seconds float64 // of those that they have reserved
	counts  float64 // what counts as used
}

// Lasted is how long a job has run so far. The zero value: it does not run.
type Lasted struct {
	Since time.Time     // when it started
	Held  time.Duration // the time since then, in which it has held its nodes
	Ran   time.Duration // of that, when it was not suspended: what its time limit is about
}

// Ran tells how long each of the jobs that run has run. As in slurmctld (_apply_new_usage), what a job has run counts as used from then on, also while it is suspended, and decays while
// the job goes on; only the rest of its time limit is reserved. Until it is told again it stays so.
func (b *Book) Ran(jobs iter.Seq2[federation.JobID, Lasted]) {
	for id, h := range b.holds {
		if h.lasted != (Lasted{}) {
			h.lasted = Lasted{}
			b.holds[id] = h
		}
	}
	for id, lasted := range jobs {
		if h, ok := b.holds[id]; ok {
			h.lasted = lasted
			b.holds[id] = h
		}
	}
	b.countAll()
}

// countAll works out what the jobs that run have used of what is limited.
func (b *Book) countAll() {
	t := b.books.Tree()
	b.ran = map[accounts.Key]map[string]*ran{}
	for _, r := range t.Records() {
		for _, of := range r.Bounds() {
			if m := of.Limit.Measure; of.Limit.Scope != accounts.PerJob && (m == accounts.Minutes || m == accounts.RunMinutes) {
				b.ran[r.Key] = map[string]*ran{}
			}
		}
	}
	if len(b.ran) == 0 {
		return
	}
	for _, h := range b.holds {
		b.count(t, &h, 1)
	}
}

// count adds what a job has used while it runs, or takes it away.
func (b *Book) count(t *accounts.Tree, h *hold, sign float64) {
	if h.lasted == (Lasted{}) || len(b.ran) == 0 {
		return
	}
	// Without a time limit it has reserved nothing, and past it no more than that.
	seconds := sign * h.factor * math.Floor(min(h.lasted.Ran, h.want.Longest).Seconds())
	all := sign * h.factor * math.Floor(h.lasted.Held.Seconds())
	decayed := all * fairtree.LeftOfRun(b.halfLife, h.lasted.Held)
	for _, k := range h.keys {
		of, counted := b.ran[k]
		if !counted {
			continue
		}
		counts := decayed
		if k.Kind == accounts.QOS && noDecay(t.Get(k)) {
			counts = all
		}
		add := func(name string, n float64) {
			if of[name] == nil {
				of[name] = &ran{}
			}
			of[name].seconds += n * seconds
			of[name].counts += n * counts
		}
		add(accounts.Wall, 1)
		for name, n := range h.want.TRES {
			add(name, float64(n))
		}
	}
}

// usage is how many seconds of a TRES count as used, and how many are reserved beside those that jobs have run already.
func (b *Book) usage(k accounts.Key, name string) (used, reserved int64) {
	sum, s := b.slow[k][name], b.heldBy(k)
	reserved = s.seconds[name] - s.less[name]
	if r := b.ran[k][name]; r != nil {
		sum, reserved = sum+r.counts, reserved-int64(math.Round(r.seconds))
	}
	return int64(sum), max(reserved, 0)
}

// usage is what counts for the job of a record's usage, and its time limit, by the UsageFactor of its QOS: with 0 a job may start whatever the others have used. As in slurmctld, the
// factor counts for what the job itself may come to only with the flag UsageFactorSafe.
func (c *check) usage(k accounts.Key, name string) (used, reserved, longest int64) {
	used, reserved = c.Book.usage(k, name)
	longest = int64(c.want.Longest / time.Second)
	if c.qos != nil {
		f := c.qos.UsageFactor()
		if f == 0 {
			used, reserved = 0, 0
		}
		if c.qos.Flag("UsageFactorSafe") {
			longest = int64(float64(longest) * f)
		}
	}
	return used, reserved, longest
}
