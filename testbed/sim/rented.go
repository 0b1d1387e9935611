package sim

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/reasons"
)

// Rented makes a site of machines that are rented out of one that is there: it takes tasks only, its idle nodes must start first, not all of them
// may at one time, and now and then it has none left and gives a job back.
type Rented struct {
	federation.Driver
	Price    decision.Dollars // of a node by the hour
	StockOut float64          // chance that a job is given back
	Now      func() time.Time
	RNG      *rand.Rand

	Returned int // jobs that were given back
	back     map[string]federation.SiteJob
	order    []string // keys, in the order in which they were given back
}

// Observe implements [federation.Driver].
func (r *Rented) Observe(ctx context.Context) (*federation.Observation, error) {
	seen, err := r.Driver.Observe(ctx)
	if err != nil {
		return nil, err
	}
	o := *seen
	o.Nodes, o.Partitions = slices.Clone(o.Nodes), slices.Clone(o.Partitions)
	idle := 0
	for i := range o.Nodes {
		n := &o.Nodes[i]
		n.Rented = &federation.Rented{Offering: "sim/a/spot", PricePerHour: r.Price, Whole: true, Interrupts: 0.01}
		n.State = append(slices.Clone(n.State), "CLOUD")
		if slices.Contains(n.State, "IDLE") {
			n.State, n.Rented.Boot = append(n.State, "POWERED_DOWN"), 30*time.Second
			idle++
		}
	}
	for i := range o.Partitions {
		starts := (idle + 1) / 2
		o.Partitions[i].MaxStarts = &starts
	}
	return &o, nil
}

// Submit implements [federation.Driver]. What must not happen is an error that no policy of the controller's fits.
func (r *Rented) Submit(ctx context.Context, s federation.Submission) (federation.Receipt, error) {
	if s.Job.Spec.Array != "" || s.Offer.Offering != "sim/a/spot" {
		panic(fmt.Sprintf("job %d, array %q, was sent to a site of machines as %q", s.Job.ID, s.Job.Spec.Array, s.Offer.Offering))
	}
	if _, given := r.back[s.Key]; given {
		return federation.Receipt{SiteJobID: uint32(s.Job.ID), Adopted: true}, nil
	}
	_, err := r.Driver.Lookup(ctx, federation.JobRef{ID: s.Job.ID, Key: s.Key})
	if err == nil || r.RNG.Float64() >= r.StockOut {
		return r.Driver.Submit(ctx, s)
	}
	if r.back == nil {
		r.back = map[string]federation.SiteJob{}
	}
	r.Returned++
	r.order = append(r.order, s.Key)
	r.back[s.Key] = federation.SiteJob{ID: s.Job.ID, SiteJobID: uint32(s.Job.ID), Key: s.Key, State: federation.BootFail, Returned: true,
		Reason: reasons.StockOut, Detail: "none left", End: r.Now()}
	return federation.Receipt{SiteJobID: uint32(s.Job.ID)}, nil
}

// Jobs implements [federation.Driver]. What was given back is told again each time: nobody may take it for another attempt.
func (r *Rented) Jobs(ctx context.Context, m federation.Mark) (federation.JobsReport, error) {
	report, err := r.Driver.Jobs(ctx, m)
	if err != nil || len(r.order) == 0 {
		return report, err
	}
	report.Changed, report.Known = slices.Clone(report.Changed), maps.Clone(report.Known)
	for _, key := range slices.Backward(r.order) {
		j := r.back[key]
		if !report.Known[j.ID] { // else a later attempt is here under the same ID
			report.Changed = append(report.Changed, j)
			report.Known[j.ID] = true
		}
	}
	return report, nil
}

// Lookup implements [federation.Driver].
func (r *Rented) Lookup(ctx context.Context, ref federation.JobRef) (federation.SiteJob, error) {
	if j, given := r.back[ref.Key]; given {
		return j, nil
	}
	return r.Driver.Lookup(ctx, ref)
}

// Cancel implements [federation.Driver].
func (r *Rented) Cancel(ctx context.Context, ref federation.JobRef, tasks []int) error {
	if _, given := r.back[ref.Key]; given {
		return nil
	}
	return r.Driver.Cancel(ctx, ref, tasks)
}
