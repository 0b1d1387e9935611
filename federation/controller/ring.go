package controller

import (
	"fsub/federation"
	"fsub/federation/depend"
	"fsub/slurm/wire"
)

// ring is the error of a new dependency by which j would wait for itself, so that neither j nor any other job of the ring could ever start; nil if it would not.
// Slurm looks at ten jobs of a chain (slurm.conf(5), max_depend_depth), this at all of them.
func (ds *dependencies) ring(j *job, text string) error {
	parsed, err := depend.Parse(text)
	if err != nil {
		return nil // said elsewhere
	}
	waiter := map[federation.JobID]federation.JobID{} // by the job that it waits for, on a way from j
	var ask []federation.JobID
	find := func(by federation.JobID, terms []waitTerm) {
		for i := range terms {
			if on := terms[i].Job; !terms[i].met && on != 0 && waiter[on] == 0 {
				waiter[on] = by
				ask = append(ask, on)
			}
		}
	}
	for _, t := range parsed.Terms {
		find(j.ID, []waitTerm{{Term: t}})
	}
	for ; len(ask) > 0 && waiter[j.ID] == 0; ask = ask[1:] {
		if on := ds.jobs.Of(ask[0]); on != nil {
			find(on.ID, on.depends.terms)
		}
	}
	switch by := waiter[j.ID]; by {
	case 0:
		return nil
	case j.ID:
		return &federation.SlurmError{Kind: federation.ErrInvalid, Number: wire.ErrDependency, Text: wire.Strerror(wire.ErrDependency), Detail: "a job cannot wait for itself"}
	default:
		way := by.String() + " waits for " + j.ID.String()
		for n := 0; by != j.ID; by, n = waiter[by], n+1 {
			if n == 5 {
				way = "..., and " + way
				break
			}
			way = waiter[by].String() + " waits for " + by.String() + ", " + way
		}
		return &federation.SlurmError{Kind: federation.ErrInvalid, Number: wire.ErrCircular, Text: wire.Strerror(wire.ErrCircular), Detail: way}
	}
}
