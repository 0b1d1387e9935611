package api_test

import (
	"testing"
	"time"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/federation/decision"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// TestRefusals holds what slurmctld 24.11 refuses that placement has no word in. The sentences are its own.
func TestRefusals(t *testing.T) {
	d := start(t)
	alpha, beta := site("alpha"), site("beta")
	alpha.Seen = &federation.Observation{Partitions: []federation.Partition{{Name: "main"}, {Name: "short"}}}
	beta.Seen = &federation.Observation{Partitions: []federation.Partition{{Name: "main"}, {Name: "gpu"}}}
	d.Controller.SetSites(alpha, beta)
	d.Controller.SetDecision(decision.Decision{Offers: []*decision.Offer{{Site: "alpha", Partition: "main", Start: time.Now(), Nodes: 1}}})
	const partition, limit, least = "Invalid partition name specified", "Requested time limit is invalid (missing or exceeds some limit)",
		"Invalid time-min specification (exceeds job's time or other limits)"
	const gres = "Invalid generic resource (gres) specification"
	const perTask = "Failed to validate job spec. --gpus-per-task or --tres-per-task used without either --gpus or -n/--ntasks is not allowed."
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
		"GPUs of no task":       {sbatch.Spec{GPUsPerTask: "1", NTasksPerNode: 2}, gres, perTask},
		"GRES of no task":       {sbatch.Spec{More: &sbatch.More{TRESPerTask: "cpu=2,gres/gpu=1"}}, gres, perTask},
		"CPUs of no task":       {sbatch.Spec{More: &sbatch.More{TRESPerTask: "cpu=2"}}, "", ""},
		"GPUs of tasks":         {sbatch.Spec{GPUsPerTask: "1", MinNodes: 1, NTasksPerNode: 2}, "", ""},
		"tasks of GPUs":         {sbatch.Spec{GPUsPerTask: "1", GPUs: "2"}, "", ""},
		"no GRES":               {sbatch.Spec{GRES: "gpu:2(S:0)"}, "Invalid Trackable RESource (TRES) specification", ""},
		"no number":             {sbatch.Spec{GPUsPerNode: "h100:two"}, "Invalid Trackable RESource (TRES) specification", ""},
		"with and without type": {sbatch.Spec{GPUs: "2", GPUsPerNode: "h100:1"}, "Invalid GRES specification (with and without type identification)", ""},
		"no GRES of component":  {sbatch.Spec{Het: []sbatch.Spec{{GRES: "gpu="}}}, "Invalid Trackable RESource (TRES) specification", ""},
		"no features":           {sbatch.Spec{Constraint: "(h100"}, "Invalid feature specification", ""},
		"over":                  {sbatch.Spec{Deadline: in(-time.Hour)}, limit, ""},
		"no limit":              {sbatch.Spec{Deadline: in(time.Hour)}, "", ""},
		"fits":                  {sbatch.Spec{Deadline: in(time.Hour), TimeLimit: 40 * time.Minute}, "", ""},
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
	unseen := *beta
	unseen.Seen = nil
	d.Controller.SetSites(alpha, &unseen)
	var got v1.SubmitResponse
	if status := as(t, alice, d.Socket, "POST", "/fed/v1/job", request1(func(r *v1.SubmitRequest) { r.Spec.Partition = "main,maing" }), &got); status != 200 {
		t.Errorf("a partition that a site may have which was never seen: %d %+v", status, got.Error)
	}
}

// TestLimitByDeadline: a job without a limit of its own gets what is left until its deadline when it starts, in whole minutes, unless its
// partition has a default.
func TestLimitByDeadline(t *testing.T) {
	d := start(t)
	alpha := site("alpha")
	alpha.Seen = &federation.Observation{Partitions: []federation.Partition{{Name: "main", Default: true, MaxTime: 7 * 24 * time.Hour},
		{Name: "timed", MaxTime: time.Hour, DefaultTime: 30 * time.Minute}}}
	d.Controller.SetSites(alpha)
	started := time.Now().Truncate(time.Second)
	for name, c := range map[string]struct {
		partition       string
		started         bool
		deadline, limit time.Duration
		want            int64
	}{
		"cut":         {"main", true, 10*time.Minute - time.Second, 0, 9},
		"not cut":     {"main", true, 30 * 24 * time.Hour, 0, 7 * 24 * 60},
		"waits":       {"main", false, 10 * time.Minute, 0, 7 * 24 * 60},
		"own limit":   {"main", true, 10 * time.Minute, 3 * time.Minute, 3},
		"default":     {"timed", true, 40 * time.Minute, 0, 30},
		"no deadline": {"main", true, 0, 0, 7 * 24 * 60},
	} {
		j := job(0, alice, federation.Pending)
		j.Site, j.Spec.Partition, j.Partition, j.Spec.TimeLimit = "alpha", c.partition, c.partition, c.limit
		if c.deadline > 0 {
			j.Spec.Deadline = started.Add(c.deadline)
		}
		if c.started {
			j.State, j.Start = federation.Running, started
		}
		var got wire.JobsResponse
		as(t, alice, d.Socket, "GET", "/slurm/v0.0.42/job/"+d.Put(t, j)[0].String(), nil, &got)
		if len(got.Jobs) != 1 || got.Jobs[0].TimeLimit.Number != c.want {
			t.Errorf("%s: %+v, want %d minutes", name, got.Jobs, c.want)
		}
	}
}

// TestRefusedGPUs: where all sites are rented pools nobody but us says what slurmctld would of GPUs that it does not take.
func TestRefusedGPUs(t *testing.T) {
	d := start(t)
	one, two := site("one"), site("two")
	one.Seen, two.Seen = &federation.Observation{NoSlurm: true}, &federation.Observation{NoSlurm: true}
	d.Controller.SetSites(one, two)
	d.Controller.SetDecision(decision.Decision{Offers: []*decision.Offer{{Site: "one", Partition: "main", Start: time.Now(), Nodes: 1}}})
	submit := func(gpus string) (status int, got v1.SubmitResponse) {
		status = as(t, alice, d.Socket, "POST", "/fed/v1/job", request1(func(r *v1.SubmitRequest) { r.Spec.GPUs, r.Spec.GPUsPerNode = gpus, "4" }), &got)
		return status, got
	}
	if status, got := submit("3"); status != 400 || got.Error == nil || got.Error.Number != wire.ErrGRES || got.Error.Text != "Invalid generic resource (gres) specification" ||
		got.Error.Said != "Failed to ensure --gpus >= --gres=gpu/--gpus-per-node >= --gpus-per-socket" {
		t.Errorf("%d %+v", status, got.Error)
	}
	if status, got := submit("8"); status != 200 {
		t.Errorf("%d %+v", status, got.Error)
	}
	cluster := *two
	cluster.Seen = &federation.Observation{}
	d.Controller.SetSites(one, &cluster)
	if status, got := submit("3"); status != 200 {
		t.Errorf("beside a cluster that says so itself: %d %+v", status, got.Error)
	}
}
