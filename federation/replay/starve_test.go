package replay_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/fairshare"
	"fsub/federation/place"
	"fsub/federation/replay"
	"fsub/sbatch"
)

// hostile is a stream of jobs that all go before one job: their users have used nothing yet, they are shorter and of a better QOS, and come faster than the site can run them.
type hostile struct {
	nodes   int
	gang    int           // nodes of the victim
	limit   time.Duration // of the victim
	longest time.Duration // limit of the others
	before  int           // jobs of others that come before the victim
	users   int           // of the others; 0: a new one for each job
	load    float64       // what they ask for, of what there is
	late    bool          // a job's run ends at its limit
	policy  fairshare.Policy
	seed    uint64
}

// starts is when the victim starts after its submission, if it does while the others come.
func (h *hostile) starts(t *testing.T, lasts time.Duration) (after time.Duration, ok bool) {
	r := rand.New(rand.NewPCG(h.seed, 1))
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	begin := now
	var all []replay.Job
	add := func(user string, spec sbatch.Spec, run time.Duration) {
		j := &federation.Job{ID: federation.JobID(len(all) + 1), User: user, Submit: now, State: federation.Pending}
		j.SetSpec(spec)
		all = append(all, replay.Job{Job: j, Run: run})
	}
	add("victim", sbatch.Spec{MinNodes: h.nodes, GRES: "gpu:8", TimeLimit: time.Hour}, time.Hour) // it has used something
	now = now.Add(time.Minute)
	var victim federation.JobID
	submitted := now
	for i := 0; now.Sub(begin) < lasts; i++ {
		if i == h.before {
			add("victim", sbatch.Spec{MinNodes: h.gang, GRES: "gpu:8", TimeLimit: h.limit}, h.limit)
			victim, submitted = federation.JobID(len(all)), now
		}
		gpus, limit := 4+r.IntN(5), time.Duration(1+r.Int64N(int64(h.longest/time.Minute)))*time.Minute
		run := limit
		if !h.late {
			run = max(time.Minute, time.Duration(r.Int64N(int64(limit))))
		}
		user := fmt.Sprint("user", i)
		if h.users > 0 {
			user = fmt.Sprint("user", i%h.users)
		}
		add(user, sbatch.Spec{GRES: fmt.Sprintf("gpu:%d", gpus), TimeLimit: limit}, run)
		now = now.Add(time.Duration(float64(gpus) * float64(run) / (float64(8*h.nodes) * h.load)))
	}
	res, err := replay.Run(replay.Config{Sites: sites(t, fmt.Sprintf("rhein=%dx8:h100,price=2", h.nodes)), Jobs: all, Policy: place.DefaultPolicy(), Order: replay.FairShare, Priority: &h.policy, Until: now})
	if err != nil {
		t.Fatal(err)
	}
	o := &res.Jobs[victim-1]
	return o.Start.Sub(submitted), !o.Start.IsZero()
}

// bound is what docs/accounts.md says: StarveAfter, up to an hour until that is noticed, and for each job that may stand before it, and what runs, as long as one may run.
func (h *hostile) bound() time.Duration {
	return h.policy.StarveAfter + time.Hour + time.Duration(h.before+2)*max(h.limit, h.longest)
}

// Whoever comes after a job, and however much better they stand by their shares and their length, it starts within the stated bound.
func TestNobodyStarves(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		p := fairshare.Default()
		p.StarveAfter = time.Duration(1+r.IntN(6)) * time.Hour
		if r.IntN(2) == 0 { // short first
			p.Work, p.Age = 4, float64(r.IntN(1_000_000))
		}
		h := hostile{nodes: 1 + r.IntN(2), longest: time.Duration(60+r.IntN(180)) * time.Minute, limit: time.Duration(10+r.IntN(290)) * time.Minute, before: r.IntN(3), users: r.IntN(20),
			load: 1 + r.Float64()/2, late: r.IntN(2) == 0, policy: p, seed: seed}
		h.gang = 1 + r.IntN(h.nodes)
		if after, ok := h.starts(t, h.bound()+2*time.Hour); !ok || after > h.bound() {
			t.Errorf("%+v: it starts after %v (%t), later than %v", h, after, ok, h.bound())
		}
	}
}

// Without the rule it does not: so the streams are hostile enough.
func TestWithoutTheRuleAJobStarves(t *testing.T) {
	for _, work := range []float64{0, 4} {
		p := fairshare.Default()
		p.StarveAfter, p.Work = 3*time.Hour, work
		h := hostile{nodes: 2, gang: 2, limit: 4 * time.Hour, longest: time.Hour, load: 1.3, policy: p, seed: 1}
		const lasts = 24 * time.Hour
		if after, ok := h.starts(t, lasts); !ok || after > h.bound() {
			t.Errorf("expected_work %v: it starts after %v (%t)", work, after, ok)
		}
		h.policy.StarveAfter = 0
		if after, ok := h.starts(t, lasts); ok {
			t.Errorf("expected_work %v: without the rule it starts after %v", work, after)
		}
	}
}
