package quota

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/accounting"
	"fsub/accounting/fairtree"
	"fsub/federation"
	"fsub/federation/accounts"
)

// Whatever jobs do, and whenever the daemon starts anew, what counts as used is what slurmctld counts, which adds every few minutes what runs have held since, and what is
// reserved is the rest of their time limits.
func TestUsageIsSlurmctlds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &ctld{t: t, halfLife: rapid.SampledFrom([]time.Duration{0, 24 * time.Hour, 7 * 24 * time.Hour}).Draw(t, "half-life"), now: start.Add(7 * time.Hour),
			used: map[accounts.Key]map[string]float64{}, jobs: map[federation.JobID]*ctldJob{}}
		var edits []accounts.Edit
		limited := func(k accounts.Key, more ...string) {
			edits = append(edits, add(k, append(more, "GrpTRESMins", "gres/gpu=1000000", "GrpTRESRunMins", "gres/gpu=1000000", "GrpWall", "1000000")...))
			m.used[k] = map[string]float64{}
		}
		limited(accounts.AccountKey("physics"))
		limited(accounts.UserKey("physics", "alice"))
		limited(accounts.QOSKey("free"), "UsageFactor", "0")
		limited(accounts.QOSKey("double"), "UsageFactor", "2")
		limited(accounts.QOSKey("kept"), "Flags", "NoDecay", "UsageFactor", "0.5")
		edits = append(edits, add(accounts.UserKey("physics", "bob")))
		m.tree = tree(t, edits...)
		m.book = New(m.tree, m.halfLife)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			m.step()
			m.check()
		}
	})
}

// ctld is a simple slurmctld, and the charges that its jobs come to.
type ctld struct {
	t        *rapid.T
	tree     books
	book     *Book
	halfLife time.Duration
	now      time.Time
	told     time.Time // when the book was told last how long jobs have run
	used     map[accounts.Key]map[string]float64
	jobs     map[federation.JobID]*ctldJob
	charges  []federation.Charge
	last     federation.JobID
}

type ctldJob struct {
	want      Want
	keys      []accounts.Key
	factor    float64
	started   time.Time
	ran       time.Duration
	suspended bool
}

func (m *ctld) some(what string, of func(*ctldJob) bool) (federation.JobID, *ctldJob) {
	var ids []federation.JobID
	for _, id := range slices.Sorted(maps.Keys(m.jobs)) {
		if of(m.jobs[id]) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	id := rapid.SampledFrom(ids).Draw(m.t, what)
	return id, m.jobs[id]
}

func (m *ctld) step() {
	t := m.t
	running := func(j *ctldJob) bool { return !j.started.IsZero() }
	switch what := rapid.SampledFrom([]string{"bind", "bind", "start", "start", "pass", "pass", "pass", "suspend", "resume", "requeue", "end", "cancel", "restart"}).Draw(t, "step"); what {
	case "bind":
		m.last++
		qos := rapid.SampledFrom([]string{"", "free", "double", "kept"}).Draw(t, "qos")
		j := &ctldJob{factor: map[string]float64{"": 1, "free": 0, "double": 2, "kept": 0.5}[qos]}
		j.want = Want{User: rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "user"), Account: "physics", QOS: qos, TRES: accounting.TRES{"gres/gpu": int64(rapid.IntRange(1, 8).Draw(t, "gpus"))},
			Longest: time.Duration(rapid.IntRange(0, 100).Draw(t, "limit")) * time.Hour, Since: m.now}
		j.keys = []accounts.Key{accounts.AccountKey("physics"), accounts.UserKey("physics", j.want.User), accounts.QOSKey(qos)}
		m.jobs[m.last] = j
		m.book.Take(m.last, j.want)
	case "start":
		if _, j := m.some("starts", func(j *ctldJob) bool { return !running(j) }); j != nil {
			j.started, j.ran = m.now, 0
		}
	case "pass":
		m.pass(time.Duration(rapid.SampledFrom([]int{1, 10, 60, 600, 3000}).Draw(t, "minutes")) * time.Minute)
	case "suspend", "resume":
		if _, j := m.some(what, func(j *ctldJob) bool { return running(j) && j.suspended == (what == "resume") }); j != nil {
			j.suspended = !j.suspended
		}
	case "requeue":
		if id, j := m.some(what, running); j != nil {
			m.charge(id, j)
		}
	case "end":
		if id, j := m.some(what, running); j != nil {
			m.charge(id, j)
			m.book.Release(id)
			delete(m.jobs, id)
		}
	case "cancel":
		if id, _ := m.some(what, func(j *ctldJob) bool { return !running(j) }); id != 0 {
			m.book.Release(id)
			delete(m.jobs, id)
		}
	case "restart":
		book, err := Open(context.Background(), m.tree, m.halfLife, chargeBook(m.charges), m.now)
		if err != nil {
			t.Fatal(err)
		}
		for id, j := range m.jobs {
			book.Take(id, j.want)
		}
		m.book, m.told = book, time.Time{}
	}
	if rapid.Bool().Draw(t, "is told") {
		m.tell()
	}
}

// pass lets time pass, a minute at a time: slurmctld's own step is five, and LeftOfRun is about none.
func (m *ctld) pass(d time.Duration) {
	const step = time.Minute
	factor := fairtree.DecayFactor(m.halfLife, step)
	for ; d > 0; d -= step {
		m.now = m.now.Add(step)
		for k, of := range m.used {
			for name := range of {
				if k != accounts.QOSKey("kept") {
					of[name] *= factor
				}
			}
		}
		for _, j := range m.jobs {
			if j.started.IsZero() {
				continue
			}
			if !j.suspended {
				j.ran += step
			}
			for _, k := range j.keys {
				if of := m.used[k]; of != nil {
					of["gres/gpu"] += float64(j.want.TRES["gres/gpu"]) * step.Seconds() * j.factor
					of[accounts.Wall] += step.Seconds() * j.factor
				}
			}
		}
	}
}

// charge ends a run.
func (m *ctld) charge(id federation.JobID, j *ctldJob) {
	k := federation.Charge{Job: id, User: j.want.User, Held: federation.Held{Account: "physics", QOS: j.want.QOS, TRES: fmt.Sprintf("gres/gpu=%d", j.want.TRES["gres/gpu"])}, Start: j.started, End: m.now,
		From: federation.PriceTable}
	m.book.Charge(&k)
	m.charges = append(m.charges, k)
	j.started, j.ran, j.suspended = time.Time{}, 0, false
}

func (m *ctld) tell() {
	m.told = m.now
	m.book.Ran(func(yield func(federation.JobID, Lasted) bool) {
		for id, j := range m.jobs {
			if !j.started.IsZero() && !yield(id, Lasted{Since: j.started, Held: m.now.Sub(j.started), Ran: j.ran}) {
				return
			}
		}
	})
}

func (m *ctld) check() {
	if !m.told.Equal(m.now) {
		m.tell()
	}
	m.book.Check(m.now, &Want{User: "bob", Account: "physics"}) // brings it up to now
	for k, of := range m.used {
		for _, name := range []string{"gres/gpu", accounts.Wall} {
			used, reserved := m.book.usage(k, name)
			if want := of[name]; math.Abs(float64(used)-want) > 120+want/50 {
				m.t.Fatalf("%s: %d seconds of %s are used, in slurmctld %.0f", k, used, name, want)
			}
			want := 0.0
			for _, j := range m.jobs {
				if slices.Contains(j.keys, k) {
					n := 1.0
					if name != accounts.Wall {
						n = float64(j.want.TRES[name])
					}
					want += n * max(j.want.Longest-j.ran, 0).Seconds() * j.factor
				}
			}
			if math.Abs(float64(reserved)-want) > 60 {
				m.t.Fatalf("%s: %d seconds of %s are reserved, of the time limits are left %.0f", k, reserved, name, want)
			}
		}
	}
}

// chargeBook adds charges up as the store does.
type chargeBook []federation.Charge

func (b chargeBook) ChargeSums(_ context.Context, since time.Time, step time.Duration) ([]federation.ChargeSum, error) {
	type alike struct {
		user, qos, tres string
		end, lasted     int64
	}
	all := map[alike]federation.ChargeSum{}
	for i := range b {
		k := &b[i]
		if k.End.Before(since) {
			continue
		}
		of := alike{k.User, k.QOS, k.TRES, k.End.UnixNano() / int64(step), int64(k.End.Sub(k.Start)) / int64(step)}
		s := all[of]
		all[of] = federation.ChargeSum{User: k.User, Account: k.Account, QOS: k.QOS, TRES: k.TRES, End: time.Unix(0, of.end*int64(step)+int64(step)/2).UTC(), Elapsed: s.Elapsed + k.End.Sub(k.Start), Runs: s.Runs + 1}
	}
	return slices.Collect(maps.Values(all)), nil
}
