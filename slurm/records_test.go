package slurm

import (
	"errors"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// TestRecordsBeforeTheirKey: slurmdbd learns a job's key some seconds late, from a controller that may be killed before. Then the number tells,
// together with the second of submission, and nothing else.
func TestRecordsBeforeTheirKey(t *testing.T) {
	f := newFake(t, "v0.0.42")
	d := f.driver(t, func(c *Config) { c.Mode, c.Settle = federation.Mapped, time.Nanosecond })
	f.on("POST /slurm/job/submit", 500, wire.JobSubmitResponse{Reply: failed(wire.ErrReservation)})
	f.on("GET /slurmdb/wckeys/", 200, wire.WCKeysResponse{})
	f.on("GET /slurm/job/17", 404, wire.JobsResponse{Reply: failed(wire.ErrJobID)})
	f.on("GET /slurm/jobs/", 200, wire.JobsResponse{})
	f.on("GET /slurm/diag/", 200, wire.DiagResponse{})
	f.on("GET /slurmdb/jobs/", 200, wire.DBJobsResponse{})
	row := wire.DBJob{JobID: 17, Name: "allocation", Nodes: "n1", State: wire.DBState{Current: wire.Strings{"RUNNING"}}, Time: wire.DBTime{Submission: 1000, Start: 1001}}
	ref := federation.JobRef{ID: 30_000_007, Key: "fsub:f:30000007.1.abc", SiteJobID: 17, SiteSubmit: time.Unix(1000, 0)}
	for name, c := range map[string]struct {
		change func(*wire.DBJob)
		found  bool
	}{
		"its own":                      {func(*wire.DBJob) {}, true},
		"its own, started and PENDING": {func(r *wire.DBJob) { r.State.Current = wire.Strings{"PENDING"} }, true},
		"submitted later":              {func(r *wire.DBJob) { r.Time.Submission++ }, false},
		"another key":                  {func(r *wire.DBJob) { r.WCKey.WCKey = "fsub:f:30000008.1.abc" }, false},
		"somebody's wckey, ended": {func(r *wire.DBJob) {
			r.WCKey.WCKey, r.State.Current, r.Comment.Job = "x", wire.Strings{"COMPLETED"}, "y"
		}, false},
	} {
		r := row
		c.change(&r)
		f.on("GET /slurmdb/job/17", 200, wire.DBJobsResponse{Jobs: wire.List[wire.DBJob]{r}})
		j, err := d.Lookup(t.Context(), ref)
		if found := err == nil; found != c.found || !found && !errors.Is(err, federation.ErrNotFound) {
			t.Errorf("%s: %+v, %v", name, j, err)
		}
		if c.found && (j.State != federation.Running || !j.FromAccounting || j.Key != ref.Key || j.ID != ref.ID || j.SiteJobID != 17) {
			t.Errorf("%s: %+v", name, j)
		}
	}
}
