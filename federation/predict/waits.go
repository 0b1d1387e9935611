package predict

import (
	"context"

	"fsub/federation"
)

// Waits are the queues of the sites that others use too, by name.
type Waits map[federation.SiteName]*Queue

// OpenWaits returns the queues of which a store has waits, and how what was told of waits elsewhere held.
func OpenWaits(ctx context.Context, store WaitStore) (Waits, *Told, error) {
	w, t := Waits{}, &Told{}
	all, err := store.PastWaits(ctx, keptWaits)
	if err != nil {
		return nil, nil, err
	}
	for i := range all {
		p := &all[i]
		if p.Site == "" {
			t.restore(p)
		} else if one, ok := waitOf(p); ok {
			if w[p.Site] == nil {
				w[p.Site] = NewQueue(p.Site)
			}
			w[p.Site].past = append(w[p.Site].past, one)
		}
	}
	return w, t, nil
}

// Look takes in what a site says of its jobs. A queue is followed from when jobs of others have been seen to wait in it. See [Queue.Look].
func (w Waits) Look(site federation.SiteName, obs *federation.Observation) (ended []PastWait) {
	q := w[site]
	if q == nil {
		if obs.NoSlurm || !othersWait(obs) {
			return nil
		}
		q = NewQueue(site)
		w[site] = q
	}
	return q.Look(obs)
}

func othersWait(obs *federation.Observation) bool {
	for i := range obs.Waiting {
		if j := &obs.Waiting[i]; !j.Ours && !j.Idle {
			return true
		}
	}
	return false
}
