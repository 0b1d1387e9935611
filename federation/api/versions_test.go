package api_test

import (
	"fmt"
	"strings"
	"testing"

	"fsub/federation"
	"fsub/federation/api/client"
)

// TestVersions: what an API version calls otherwise, has besides, or does not have, as real slurmrestds of 24.11 and 26.05 answer.
func TestVersions(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	running, _, _, _ := fill(t, d)
	sites := testSites()
	sites[0].Seen.Accounts = []federation.Account{{Name: "root", ID: 1}, {Name: "proj", Parent: "root", ID: 2, Shares: 5}}
	sites[0].Seen.Associations = federation.Associations{
		"alice": {{Account: "proj", ID: 7, QOS: []string{"normal", "high"}, DefaultQOS: "high", Default: true, Shares: 3}}, "zoe": {{Account: "proj", ID: 9}},
	}
	d.Controller.SetSites(sites...)
	job := fmt.Sprintf("/job/%d", running)
	for _, k := range []struct{ path, field, want string }{
		{"/slurm/v0.0.42/ping", "pings.0.responding", "true"},
		{"/slurm/v0.0.42/ping", "pings.0.status", "none"},
		{"/slurm/v0.0.45/ping", "pings.0.status", "UP"},
		{"/slurm/v0.0.45/ping", "pings.0.pinged", "none"},
		{"/slurm/v0.0.42" + job, "jobs.0.stdout_expanded", "none"},
		{"/slurm/v0.0.43" + job, "jobs.0.stdout_expanded", fmt.Sprintf("/home/alice/slurm-%d.out", running)},
		{"/slurm/v0.0.43" + job, "jobs.0.segment_size", "0"},
		{"/slurm/v0.0.42/partitions", "partitions.0.flags", "none"},
		{"/slurm/v0.0.45/partitions", "partitions.0.flags.0", "DEFAULT"},
		{"/slurm/v0.0.42/diag", "statistics.bf_exit.end_job_queue", "0"},
		{"/slurmdb/v0.0.42" + job, "jobs.0.time.planned.number", "0"},
		{"/slurmdb/v0.0.42/ping", "meta.plugin.type", "openapi/slurmdbd"},
		{"/slurmdb/v0.0.42/associations?user=alice", "associations.0.id", "7"},
		{"/slurmdb/v0.0.42/associations?user=alice", "associations.0.default.qos", "high"},
		{"/slurmdb/v0.0.42/associations?user=alice", "associations.0.max.jobs.total.infinite", "true"},
		{"/slurmdb/v0.0.42/associations?user=alice", "associations.1", "none"},
		{"/slurmdb/v0.0.42/accounts/", "accounts.1.name", "proj"},
		{"/slurmdb/v0.0.42/accounts/", "accounts.1.associations.0.cluster", "alpha"},
		{"/slurmdb/v0.0.42/account/nope", "warnings.0.description", "found nothing"},
		{"/slurmdb/v0.0.42/users", "users.0.default.account", "proj"},
		{"/slurmdb/v0.0.42/user/zoe", "users.0.name", "zoe"},
		{"/slurmdb/v0.0.43/qos", "qos.0.name", "high"},
		{"/slurmdb/v0.0.43/qos", "qos.0.limits.max.wall_clock.per.job.infinite", "true"},
		{"/slurmdb/v0.0.42/clusters", "clusters.1.name", "beta"},
		{"/slurmdb/v0.0.42/clusters", "clusters.0.nodes", "n[1-3]"},
		{"/slurmdb/v0.0.42/clusters", "clusters.0.tres.0.count", "48"},
		{"/slurmdb/v0.0.42/tres", "TRES.8.name", "gpu"},
		{"/slurm/v0.0.42/shares", "shares.shares.2.name", "alice"},
		{"/slurm/v0.0.42/shares", "shares.shares.2.parent", "proj"},
		{"/slurm/v0.0.42/shares", "shares.shares.2.shares_normalized.number", "0.75"},
		{"/slurm/v0.0.42/shares", "shares.shares.2.fairshare.factor.set", "false"},
	} {
		var answer any
		if err := c.Do(t.Context(), "GET", k.path, nil, &answer); err != nil {
			t.Errorf("%s: %v", k.path, err)
			continue
		}
		if got := field(answer, k.field); got != k.want {
			t.Errorf("%s: %s is %s, want %s", k.path, k.field, got, k.want)
		}
	}
	for _, path := range []string{"/slurm/v0.0.38/ping", "/slurm/v0.0.41/ping", "/slurm/v0.0.46/ping", "/slurmdb/v0.0.41/users"} {
		if err := c.Do(t.Context(), "GET", path, nil, nil); err == nil {
			t.Errorf("%s is answered", path)
		}
	}
}

// field is what stands at a path in a value that was read from JSON, "none" if there is nothing.
func field(v any, path string) string {
	for step := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[step]
			if !ok {
				return "none"
			}
			v = next
		case []any:
			var i int
			if fmt.Sscan(step, &i); i >= len(at) {
				return "none"
			}
			v = at[i]
		default:
			return "none"
		}
	}
	return fmt.Sprint(v)
}

// TestSlurmAnswersAreAsDescribed holds what is answered under /slurm and /slurmdb, in each version, against the document.
func TestSlurmAnswersAreAsDescribed(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	running, _, _, _ := fill(t, d)
	sites := testSites()
	sites[0].Seen.Accounts = []federation.Account{{Name: "root", ID: 1}, {Name: "proj", Parent: "root", ID: 2, QOS: []string{"normal"}}}
	sites[0].Seen.Associations = federation.Associations{"alice": {{Account: "proj", ID: 7}}}
	sites[0].Seen.Licenses = []federation.License{{Name: "matlab", Total: 3}}
	sites[0].Seen.Reservations = []federation.Reservation{{Name: "maint", Nodes: []string{"n1"}}}
	d.Controller.SetSites(sites...)
	var doc described
	if err := c.Do(t.Context(), "GET", "/openapi/v3", nil, &doc); err != nil || doc.OpenAPI != "3.0.3" {
		t.Fatalf("%q, %v", doc.OpenAPI, err)
	}
	for _, s := range doc.Components.Schemas {
		s.close()
	}
	names := strings.NewReplacer("{job_id}", running.String(), "{node_name}", "n1", "{partition_name}", "main", "{reservation_name}", "maint",
		"{cluster_name}", "alpha", "{account_name}", "proj", "{name}", "alice", "{qos}", "normal")
	checked := map[string]int{} // by version
	for path, methods := range doc.Paths {
		op, ok := methods["get"]
		if !ok {
			continue
		}
		for _, slash := range []string{"", "/"} {
			asked := strings.TrimSuffix(names.Replace(path), "/") + slash
			var answer any
			if err := c.Do(t.Context(), "GET", asked, nil, &answer); err != nil {
				t.Errorf("%s: %v", asked, err)
				continue
			}
			schema := op.Responses["200"].Content["application/json"].Schema
			for _, fault := range doc.check(asked, &schema, answer) {
				t.Error(fault)
			}
		}
		checked[strings.Split(path, "/")[2]]++
	}
	for _, version := range []string{"v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"} {
		if checked[version] < 23 {
			t.Errorf("only %d paths of %s", checked[version], version)
		}
	}
	if m := doc.Paths["/slurm/v0.0.42/job/{job_id}"]; m["delete"].Responses == nil || m["post"].RequestBody == nil {
		t.Errorf("job/{job_id}: %+v", m)
	}
}

// close makes what a schema does not describe a fault.
func (s *schema) close() {
	if s == nil {
		return
	}
	if s.Properties != nil {
		s.Additional = false
	}
	for _, p := range s.Properties {
		p.close()
	}
	s.Items.close()
}
