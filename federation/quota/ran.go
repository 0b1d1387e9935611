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
	seconds float64 // which they will not use any more
	counts  float64 // of these, what counts as used still
}

// Ran tells how long each of the jobs that run has run, without the time that it was suspended. As in slurmctld (apply_new_usage), what a job has run counts as used from then on, and decays while
// the job goes on; only the rest of its time limit is reserved. Until it is told again it stays so.
func (b *Book) Ran(jobs iter.Seq2[federation.JobID, time.Duration]) {
	b.ran = map[accounts.Key]map[string]*ran{}
	for _, r := range b.books.Tree().Records() {
		for _, option := range []string{"GrpTRESMins", "GrpTRESRunMins", "GrpWall"} {
			if r.Set[option] != "" {
				b.ran[r.Key] = map[string]*ran{}
			}
		}
	}
	if len(b.ran) == 0 {
		return
	}
	for id, h := range b.holds {
		if h.ran != 0 {
			h.ran = 0
			b.holds[id] = h
		}
	}
	for id, lasted := range jobs {
		h, ok := b.holds[id]
		if h.ran = min(lasted, h.want.Longest); ok && h.ran > 0 { // without a limit it has reserved nothing
			b.holds[id] = h
			b.count(&h, 1)
		}
	}
}

// count adds what a job has used while it runs, or takes it away.
func (b *Book) count(h *hold, sign float64) {
	if h.ran == 0 || len(b.ran) == 0 {
		return
	}
	seconds := sign * math.Floor(h.ran.Seconds())
	left := fairtree.LeftOfRun(b.halfLife, h.ran)
	for _, k := range h.keys {
		of, counted := b.ran[k]
		if !counted {
			continue
		}
		add := func(name string, n float64) {
			if of[name] == nil {
				of[name] = &ran{}
			}
			of[name].seconds += n * seconds
			of[name].counts += n * seconds * left
		}
		add(wall, 1)
		for name, n := range h.want.TRES {
			add(name, float64(n))
		}
	}
}

// usage is how many seconds of a TRES count as used, and how many of those that jobs have reserved they have run already.
func (b *Book) usage(k accounts.Key, name string) (used, ranAlready int64) {
	sum := b.slow[k][name]
	if r := b.ran[k][name]; r != nil {
		sum, ranAlready = sum+r.counts, int64(math.Round(r.seconds))
	}
	return int64(sum), ranAlready
}
