package api_test

import (
	"testing"
	"time"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// TestRefusals holds what slurmctld 24.11 refuses that placement has no word in. The sentences are its own.
func TestRefusals(t *testing.T) {
	d := start(t)
	alpha, beta := site("alpha"), site("beta")
	alpha.Seen = &federation.Observation{Partitions: []federation.Partition{{Name: "main"}, {Name: "short"}}}
	beta.Seen = &federation.Observation{Partitions: []federation.Partition{{Name: "main"}, {Name: "gpu"}}}
	d.Controller.SetSites(alpha, beta)
	d.Controller.SetDecision(federation.Decision{Offers: []federation.Offer{{Site: "alpha", Partition: "main", Start: time.Now(), Nodes: 1}}})
	const partition, limit, least = "Invalid partition name specified", "Requested time limit is invalid (missing or exceeds some limit)",
		"Invalid time-min specification (exceeds job's time or other limits)"
	in := func(d time.Duration) time.Time { return time.Now().Add(d).Truncate(time.Second) }
	for name, c := range map[string]struct {
		sbatch.Spec
		text, said string
	}{
		"too many nodes":        {sbatch.Spec{MinNodes: 1024000000, MaxNodes: 1024000000}, "More processors requested than permitted", ""}, // EnforcePartLimits=ANY
		"all known":             {sbatch.Spec{Partition: "main,gpu,short"}, "", ""},
		"empty names":           {sbatch.Spec{Partition: "main,,short,"}, "", ""},
		"unknown":               {sbatch.Spec{Partition: "main,maing"}, partition, "invalid partition specified: maing"},
		"unknown first":         {sbatch.Spec{Partition: "maing,main"}, partition, "invalid partition specified: maing"},
		"of a component":        {sbatch.Spec{Het: []sbatch.Spec{{Partition: "main,maing"}}}, partition, "invalid partition specified: maing"},
		"over":                  {sbatch.Spec{Deadline: in(-time.Hour)}, limit, ""},
		"no limit":              {sbatch.Spec{Deadline: in(time.Minute)}, "", ""},
		"fits":                  {sbatch.Spec{Deadline: in(time.Hour), TimeLimit: 59 * time.Minute}, "", ""},
		"too long":              {sbatch.Spec{Deadline: in(time.Hour), TimeLimit: 2 * time.Hour}, limit, ""},
		"without end":           {sbatch.Spec{Deadline: in(time.Hour), TimeLimit: sbatch.Unlimited}, limit, ""},
		"least fits":            {sbatch.Spec{Deadline: in(time.Hour), TimeLimit: 2 * time.Hour, TimeMin: time.Minute}, "", ""},
		"least too long":        {sbatch.Spec{Deadline: in(time.Hour), TimeMin: 2 * time.Hour}, least, ""},
		"begins too late":       {sbatch.Spec{Deadline: in(2 * time.Hour), Begin: in(time.Hour), TimeLimit: 90 * time.Minute}, limit, ""},
		"began":                 {sbatch.Spec{Deadline: in(2 * time.Hour), Begin: in(-time.Hour), TimeLimit: 90 * time.Minute}, "", ""},
		"component is too long": {sbatch.Spec{Deadline: in(time.Hour), TimeLimit: time.Minute, Het: []sbatch.Spec{{Deadline: in(time.Hour), TimeLimit: 2 * time.Hour}}}, limit, ""},
	} {
		for _, testOnly := range []bool{false, true} {
			var got v1.SubmitResponse
			status := as(t, alice, d.Socket, "POST", "/fed/v1/job", request1(func(r *v1.SubmitRequest) {
				c.Name, c.WorkDir = r.Spec.Name, r.Spec.WorkDir
				r.Spec, r.TestOnly = c.Spec, testOnly
			}), &got)
			switch {
			case c.text == "" && status != 200:
				t.Errorf("%s: %d %+v", name, status, got.Error)
			case c.text != "" && (status != 400 || got.Error == nil || got.Error.Text != c.text || got.Error.Said != c.said):
				t.Errorf("%s: %d %+v, want %s", name, status, got.Error, c.text)
			}
		}
	}
	beta.Seen = nil
	var got v1.SubmitResponse
	if status := as(t, alice, d.Socket, "POST", "/fed/v1/job", request1(func(r *v1.SubmitRequest) { r.Spec.Partition = "main,maing" }), &got); status != 200 {
		t.Errorf("a partition that a site may have which was never seen: %d %+v", status, got.Error)
	}
}
