package api_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/federation/decision"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

func site(name federation.SiteName, options ...federation.PluginOption) *federation.Site {
	return &federation.Site{Name: name, State: federation.FedActive, Options: options}
}

func request1(change func(*v1.SubmitRequest)) v1.SubmitRequest {
	r := v1.SubmitRequest{Spec: sbatch.Spec{Name: "j", WorkDir: "/home"}, Payload: sbatch.Payload{Script: "#!/bin/sh\n"}}
	change(&r)
	return r
}

// The sentences are those of sbatch 24.11.
func TestClusters(t *testing.T) {
	d := start(t)
	d.Controller.SetSites(site("alpha"), site("beta"), site("gamma"))
	now := time.Now()
	d.Controller.SetDecision(decision.Decision{Offers: []*decision.Offer{
		{Site: "alpha", Start: now.Add(time.Hour), Total: 1}, {Site: "gamma", Start: now, Total: 2}, {Site: "beta", Start: now, Total: 3},
	}})
	unreachable := func(s string) string {
		return "'" + s + "' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list clusters' to see available clusters."
	}
	for _, c := range []struct {
		clusters, stored, answer string
		warnings                 []string
		said, text               string
	}{
		{clusters: ""},
		{clusters: "alpha", stored: "alpha", answer: "alpha"},
		{clusters: "BETA", stored: "beta", answer: "beta"},
		{clusters: "alpha,alpha", stored: "alpha", answer: "alpha"},
		{clusters: ",alpha", stored: "alpha", answer: "alpha"},
		{clusters: "alpha,beta", stored: "gamma", answer: "gamma"}, // the planner's first: here it offers what it likes
		{clusters: "all", stored: "gamma", answer: "gamma"},
		{clusters: "fed", stored: "", answer: "fed"},
		{clusters: "nosuch,beta", stored: "beta", answer: "beta", warnings: []string{"No cluster 'nosuch' known by database."}},
		{clusters: "nosuch", said: "No cluster 'nosuch' known by database.", text: unreachable("nosuch")},
		{clusters: "x,y", said: "No cluster 'x' known by database.\nNo cluster 'y' known by database.", text: unreachable("x,y")},
	} {
		var got v1.SubmitResponse
		in := request1(func(r *v1.SubmitRequest) { r.Spec.Clusters = c.clusters })
		status := as(t, alice, d.Socket, "POST", "/fed/v1/job", in, &got)
		if c.text != "" {
			if status != 400 || got.Error == nil || got.Error.Text != c.text || got.Error.Said != c.said || !got.Error.Alone {
				t.Errorf("-M %q: %d %+v", c.clusters, status, got.Error)
			}
			continue
		}
		if status != 200 || got.Cluster != c.answer || !cmp.Equal(got.Warnings, c.warnings) {
			t.Errorf("-M %q: %d %+v", c.clusters, status, got)
		}
		if j, err := d.Store.Job(t.Context(), got.JobID); err != nil || j.Spec.Clusters != c.stored {
			t.Errorf("-M %q is stored as %q %v", c.clusters, j.Spec.Clusters, err)
		}
	}
}

// A job that no site can run now is bound to one that may run it later.
func TestClustersThatWait(t *testing.T) {
	d := start(t)
	d.Controller.SetSites(site("alpha"), site("beta"))
	d.Controller.SetDecision(decision.Decision{Rejections: []decision.Rejection{{Site: "alpha", Never: true}, {Site: "beta"}}})
	var got v1.SubmitResponse
	as(t, alice, d.Socket, "POST", "/fed/v1/job", request1(func(r *v1.SubmitRequest) { r.Spec.Clusters = "alpha,beta" }), &got)
	if got.Cluster != "beta" {
		t.Errorf("%+v", got)
	}
}

func TestDemandRefusals(t *testing.T) {
	d := start(t)
	d.Controller.SetSites(site("alpha", federation.PluginOption{Name: "container-image"}), site("beta"))
	for name, c := range map[string]struct {
		change func(*sbatch.Spec)
		says   string // "": accepted
	}{
		"option":       {func(s *sbatch.Spec) { s.Plugin = []sbatch.PluginOption{{Name: "image", Value: "x"}} }, "unrecognized option '--image'"},
		"known option": {func(s *sbatch.Spec) { s.Plugin = []sbatch.PluginOption{{Name: "container-image", Value: "x"}} }, ""},
		"site":         {func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Sites: []string{"alpha", "x"}} }, `no site "x": the federation has alpha, beta`},
		"not site":     {func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{NotSites: []string{"x"}} }, `no site "x"`},
		"accelerator":  {func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Accelerators: []string{"h100:many"}} }, "is not TYPE or TYPE:FACTOR"},
		"cost":         {func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{MaxCost: -1} }, "not negative"},
		"all right": {func(s *sbatch.Spec) {
			s.Fed = &sbatch.Fed{Sites: []string{"alpha"}, Accelerators: []string{"a100:2"}, MaxCost: 1}
		}, ""},
		"component":     {func(s *sbatch.Spec) { s.Het = []sbatch.Spec{{NTasks: -1}} }, "a count of -1"},
		"components":    {func(s *sbatch.Spec) { s.Het = []sbatch.Spec{{NTasks: 1}} }, ""},
		"too many":      {func(s *sbatch.Spec) { s.Het = make([]sbatch.Spec, 128) }, "at most 128"},
		"in components": {func(s *sbatch.Spec) { s.Het = []sbatch.Spec{{Het: []sbatch.Spec{{}}}} }, "has components"},
		"array":         {func(s *sbatch.Spec) { s.Het, s.Array = []sbatch.Spec{{}}, "0-3" }, "cannot be an array"},
	} {
		var got v1.SubmitResponse
		status := as(t, alice, d.Socket, "POST", "/fed/v1/job", request1(func(r *v1.SubmitRequest) { c.change(&r.Spec) }), &got)
		if c.says == "" {
			if status != 200 || got.JobID == 0 {
				t.Errorf("%s: %d %+v", name, status, got.Error)
			}
		} else if status != 400 || got.Error == nil || !strings.Contains(got.Error.Text+": "+got.Error.Detail, c.says) {
			t.Errorf("%s: %d %+v, want %s", name, status, got.Error, c.says)
		}
	}
}

func TestTestOnly(t *testing.T) {
	d := start(t)
	d.Controller.SetSites(site("alpha"))
	when := time.Date(2026, 11, 20, 17, 31, 14, 0, time.Local)
	try := func(change func(*sbatch.Spec)) (status int, got v1.SubmitResponse) {
		status = as(t, alice, d.Socket, "POST", "/fed/v1/job", request1(func(r *v1.SubmitRequest) { r.TestOnly = true; change(&r.Spec) }), &got)
		return status, got
	}
	d.Controller.SetDecision(decision.Decision{Offers: []*decision.Offer{{Site: "alpha", Partition: "main", Start: when, Nodes: 3}}})
	status, got := try(func(*sbatch.Spec) {})
	want := regexp.MustCompile(`^Job \d+ to start at 2026-11-20T17:31:14 using 6 processors on nodes n\[1-3\] in partition main$`)
	if status != 200 || got.JobID != 0 || !want.MatchString(got.Message) {
		t.Errorf("%d %+v", status, got)
	}
	d.Controller.SetDecision(decision.Decision{Offers: []*decision.Offer{{Site: "alpha", Partition: "main", Pool: "main/h100", Start: when, Nodes: 3, Total: 2.5,
		Foreseen: &decision.Foreseen{P50: time.Hour, P90: 3 * time.Hour, Unsure: "it is Monday"}}}})
	if _, got = try(func(*sbatch.Spec) {}); got.Place != "alpha main/h100, $2.50; starts in 1h0m0s, and in nine of ten cases within 3h0m0s (unsure: it is Monday)" {
		t.Errorf("the place is told as %q", got.Place)
	}
	// Where nobody else's queue is waited in: how long, and how long it runs, by what is known of such jobs.
	d.Controller.SetDecision(decision.Decision{Offers: []*decision.Offer{{Site: "alpha", Partition: "main", Pool: "main/h100", Start: when, Wait: 90 * time.Minute, Nodes: 3, Total: 4.5, Most: 9,
		Paid:  &decision.Paid{P50: 1, P90: 8, Most: 9.5},
		Terms: []decision.Term{{Name: "run", Amount: 2.5}, {Name: "wait", Amount: 2}}}}, Reason: reasons.Priority,
		Expected: &decision.Expected{P50: 200 * time.Millisecond, P90: time.Hour, Runs: 7, Of: "of that name"}})
	if _, got = try(func(*sbatch.Spec) {}); got.Place != "alpha main/h100, $2.50, $9.50 at most ($4.50 with the value of waiting); starts in 1h30m0s unless jobs that wait already come first; "+
		"expected to run 1s for $1.00, and in nine of ten cases no longer than 1h0m0s for $8.00: from 7 earlier runs of that name" {
		t.Errorf("the place is told as %q", got.Place)
	}
	d.Controller.SetDecision(decision.Decision{Offers: []*decision.Offer{{Site: "alpha", Partition: "main", Pool: "main/h100", Start: when, Nodes: 3, Total: 0.0018,
		Terms: []decision.Term{{Name: "run", Amount: 0.0018}}}}})
	if _, got = try(func(*sbatch.Spec) {}); got.Place != "alpha main/h100, <$0.01" {
		t.Errorf("less than a cent is told as %q", got.Place)
	}
	_, got = try(func(s *sbatch.Spec) { s.Het = []sbatch.Spec{{}} })
	if want := " using 6 processors on n[1-3]"; !strings.HasSuffix(got.Message, want) {
		t.Errorf("%+v, want %s", got, want)
	}
	if _, got = try(func(s *sbatch.Spec) { s.Clusters = "alpha,x" }); got.Cluster != "" || len(got.Warnings) != 1 || got.Message == "" {
		t.Errorf("%+v", got)
	}

	d.Controller.SetDecision(decision.Decision{Reason: reasons.SiteUnavailable, Rejections: []decision.Rejection{{Site: "alpha", Reason: reasons.SiteUnavailable}}})
	if status, got = try(func(*sbatch.Spec) {}); status != 503 || got.Error.Text != "Unable to contact slurm controller (connect failure)" {
		t.Errorf("%d %+v", status, got.Error)
	}
	d.Controller.SetDecision(decision.Decision{Reason: reasons.SiteUnavailable, Rejections: []decision.Rejection{
		{Site: "alpha", Reason: reasons.SiteUnavailable, Detail: "asleep"}, {Site: "beta", Reason: reasons.Partition, Detail: "no partition x", Never: true},
	}})
	if status, got = try(func(*sbatch.Spec) {}); status != 400 || got.Error.Text != "Invalid partition name specified" || !strings.Contains(got.Error.Detail, "alpha: asleep") {
		t.Errorf("%d %+v", status, got.Error)
	}
	d.Controller.SetDecision(decision.Decision{Reason: reasons.PartitionDown, Rejections: []decision.Rejection{{Site: "alpha", Reason: reasons.PartitionDown}}})
	if status, got = try(func(*sbatch.Spec) {}); status != 400 || got.Error.Text != "Requested nodes are busy" {
		t.Errorf("%d %+v", status, got.Error)
	}
	d.Controller.SetRefusal(&federation.SlurmError{Kind: federation.ErrInvalid, Number: 2000, Said: "invalid partition specified: x", Text: "Invalid partition name specified"})
	if status, got = try(func(*sbatch.Spec) {}); status != 400 || got.Error.Number != 2000 || got.Error.Said == "" {
		t.Errorf("%d %+v", status, got.Error)
	}
	if jobs, err := d.Store.Jobs(t.Context(), federation.JobQuery{}); err != nil || len(jobs) > 0 {
		t.Errorf("a test has stored %d jobs, %v", len(jobs), err)
	}
}

func TestOptions(t *testing.T) {
	d := start(t)
	d.Controller.SetSites(
		site("alpha", federation.PluginOption{Name: "image", Value: federation.TakesValue}, federation.PluginOption{Name: "bell", Value: federation.TakesNoValue}),
		site("beta", federation.PluginOption{Name: "image", Short: "I", Value: federation.TakesNoValue}))
	var got []v1.PluginOption
	as(t, bob, d.Socket, "GET", "/fed/v1/options", nil, &got)
	want := []v1.PluginOption{
		{Name: "bell", Value: federation.TakesNoValue, Sites: []federation.SiteName{"alpha"}},
		{Name: "image", Short: "I", Value: federation.MayTakeValue, Sites: []federation.SiteName{"alpha", "beta"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A job's clusters come through slurmrestd's door as well.
func TestSlurmSubmitClusters(t *testing.T) {
	d := start(t)
	d.Controller.SetSites(site("alpha"), site("beta"))
	body := func(clusters string) any {
		return map[string]any{"script": "#!/bin/sh\n", "job": map[string]any{
			"current_working_directory": "/", "environment": []string{"A=1"}, "clusters": clusters}}
	}
	var got struct {
		JobID    federation.JobID `json:"job_id"`
		Warnings []struct{ Description string }
	}
	status := as(t, alice, d.Socket, "POST", "/slurm/v0.0.42/job/submit", body("beta,x"), &got)
	if status != 200 || len(got.Warnings) != 1 {
		t.Fatalf("%d %+v", status, got)
	}
	if j, err := d.Store.Job(t.Context(), got.JobID); err != nil || j.Spec.Clusters != "beta" {
		t.Errorf("%q %v", j.Spec.Clusters, err)
	}
	if status := as(t, alice, d.Socket, "POST", "/slurm/v0.0.42/job/submit", body("x"), nil); status == 200 {
		t.Error("a cluster that nobody knows was taken")
	}
}

// Clients know Slurm's words only; the daemon's own stands beside it.
func TestReasonsOfOurs(t *testing.T) {
	d := start(t)
	for reason, want := range map[reasons.Reason]string{
		reasons.MaxCost: "AssociationJobLimit", reasons.NotAsked: "BadConstraints", reasons.FileSystem: "BadConstraints",
		reasons.SiteUnavailable: "Resources", reasons.UnknownUser: "InvalidAccount", reasons.Priority: "Priority",
	} {
		j := job(0, alice, federation.Pending)
		j.Reason = reason
		id := d.Put(t, j)[0]
		var got struct {
			Jobs []struct {
				StateReason string `json:"state_reason"`
			}
		}
		as(t, alice, d.Socket, "GET", "/slurm/v0.0.42/job/"+id.String(), nil, &got)
		if len(got.Jobs) != 1 || got.Jobs[0].StateReason != want {
			t.Errorf("%s: %+v, want %s", reason, got.Jobs, want)
		}
	}
}
