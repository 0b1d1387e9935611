package slurm

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// lookAll makes many look-ups at once, the first ones while the controller does not answer them.
func lookAll(t *testing.T, d *Driver, refs []federation.JobRef) []error {
	t.Helper()
	errs := make([]error, len(refs))
	var g sync.WaitGroup
	for i, ref := range refs {
		g.Go(func() { _, errs[i] = d.Lookup(t.Context(), ref) })
	}
	g.Wait()
	return errs
}

// TestLookupsTogether: of many look-ups at once those which the site knows nothing of take a few calls in all, and the others are made one by one.
func TestLookupsTogether(t *testing.T) {
	const first, many = 30_000_000, 2500 // more than one question to slurmdbd
	held, recorded := federation.JobID(first+many-1), federation.JobID(first+many-2)
	for _, mapped := range []bool{false, true} {
		f := newFake(t, "v0.0.42")
		d := f.driver(t, func(c *Config) {
			if mapped {
				c.Mode, c.Settle = federation.Mapped, time.Nanosecond
			}
		})
		f.on("POST /slurm/job/submit", 500, wire.JobSubmitResponse{Reply: failed(wire.ErrReservation)})
		f.on("GET /slurmdb/wckeys/", 200, wire.WCKeysResponse{})
		f.on("GET /slurm/diag/", 200, wire.DiagResponse{})
		var refs []federation.JobRef
		byID := map[federation.JobID]federation.JobRef{}
		for i := range federation.JobID(many) {
			j := federation.Job{ID: first + i, Submit: time.Now()}
			ref := federation.JobRef{ID: j.ID, Key: federation.AttemptKey("f", &j, 1), Submitted: j.Submit}
			refs, byID[j.ID] = append(refs, ref), ref
		}
		there := wire.Job{JobID: int64(held), State: wire.Strings{"PENDING"}, AdminComment: byID[held].Key}
		past := wire.DBJob{JobID: int64(recorded), State: wire.DBState{Current: wire.Strings{"COMPLETED"}}, Time: wire.DBTime{Submission: time.Now().Unix() + 1}}
		past.Comment.Administrator = byID[recorded].Key
		f.on("GET /slurm/jobs/", 200, wire.JobsResponse{Jobs: wire.List[wire.Job]{there}})
		f.on("GET /slurm/jobs/state/", 200, wire.JobsStateResponse{Jobs: wire.List[wire.JobStateRow]{{JobID: "30002499", State: wire.Strings{"PENDING"}}}})
		f.on("GET /slurmdb/jobs/", 200, wire.DBJobsResponse{Jobs: wire.List[wire.DBJob]{past}})
		for _, ref := range refs {
			id := ref.ID.String()
			f.on("GET /slurm/job/"+id, 404, wire.JobsResponse{Reply: failed(wire.ErrJobID)})
			f.on("GET /slurmdb/job/"+id, 200, wire.DBJobsResponse{})
		}
		f.on("GET /slurm/job/"+held.String(), 200, wire.JobsResponse{Jobs: wire.List[wire.Job]{there}})
		f.on("GET /slurmdb/job/"+recorded.String(), 200, wire.DBJobsResponse{Jobs: wire.List[wire.DBJob]{past}})
		for range lookupsSingly { // the places are taken, and a common look-up is said to be under way, until all wait for the next
			d.lookups.singly <- struct{}{}
		}
		st, err := d.rights.standing(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d.lookups.under = true
		go func() {
			for waiting := 0; waiting < many; time.Sleep(time.Millisecond) {
				d.lookups.mu.Lock()
				waiting = len(d.lookups.waiting)
				d.lookups.mu.Unlock()
			}
			go d.lookTogether(context.WithoutCancel(t.Context()), st)
			for range lookupsSingly {
				<-d.lookups.singly
			}
		}()
		before := len(f.calls)
		for i, err := range lookAll(t, d, refs) {
			known := refs[i].ID == held || refs[i].ID == recorded
			if known && err != nil || !known && !errors.Is(err, federation.ErrNotFound) {
				t.Errorf("mapped %t: job %d: %v", mapped, refs[i].ID, err)
			}
		}
		if n := len(f.calls) - before; n > 30 {
			t.Errorf("mapped %t: %d calls for %d look-ups", mapped, n, many)
		}

		f.on("GET /slurm/diag/", 200, wire.DiagResponse{Statistics: wire.Diag{DBDAgentQueueSize: 7}})
		for i, err := range lookAll(t, d, refs[:100]) {
			if !errors.Is(err, federation.ErrUnavailable) {
				t.Errorf("mapped %t: job %d is %v while the controller has more to tell", mapped, refs[i].ID, err)
			}
		}
		f.do("GET /slurmdb/jobs/", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Unable find requested URL.", http.StatusNotFound)
		})
		f.on("GET /slurm/diag/", 200, wire.DiagResponse{})
		if mapped {
			continue
		}
		for i, err := range lookAll(t, d, refs[:100]) { // without slurmdbd's list each is asked for by itself
			if !errors.Is(err, federation.ErrNotFound) {
				t.Errorf("job %d: %v", refs[i].ID, err)
			}
		}
	}
}
