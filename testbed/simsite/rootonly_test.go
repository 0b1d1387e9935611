package simsite

import (
	"testing"

	"fsub/federation"
	"fsub/federation/place"
	"fsub/slurm/wire"
)

// TestRootOnly: slurmctld lets SlurmUser submit for anybody, also to a partition for root only. So placement must know.
func TestRootOnly(t *testing.T) {
	s := newSite(t, withKey, func(c *Config) {
		c.Partitions = append(c.Partitions, PartitionConfig{Name: "adm", RootOnly: true})
	})
	adm := func(d *wire.JobDesc) { d.Partition = "adm" }
	if _, _, err := s.Submit(Caller{Name: "alice"}, desc(second1, adm, func(d *wire.JobDesc) { d.UserID = "" })); err != errDenied {
		t.Errorf("alice herself: %v, want %v", err, errDenied)
	}
	s.mustSubmit(t, desc(second1, adm))
	o, err := restDriver(t, s).Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range o.Partitions {
		if p.RootOnly != (p.Name == "adm") {
			t.Errorf("partition %s: root only %t", p.Name, p.RootOnly)
		}
	}
	o.Associations = nil
	site := &federation.Site{Name: "alpha", State: federation.FedActive, Answering: true, Seen: o}
	for user, want := range map[string]int{"alice": wire.ErrAccess, "slurm": 0, "root": 0} {
		job := submission(federation.FirstJobID).Job
		job.User, job.Spec.Partition, job.State = user, "adm", federation.Pending
		plan := place.Plan(federation.Snapshot{Now: o.At, Sites: []*federation.Site{site}, Jobs: []*federation.Job{job}}, place.Policy{})
		number := 0
		if no := place.Refusal(plan.Decisions[0]); no != nil {
			number = no.Number
		}
		if number != want || plan.Decisions[0].Bind != (want == 0) {
			t.Errorf("%s: error %d, want %d; %+v", user, number, want, plan.Decisions[0])
		}
	}
}
