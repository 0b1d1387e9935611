package api_test

import (
	"fmt"
	"strings"
	"testing"

	"fsub/federation/api/client"
)

// TestVersions: what an API version calls otherwise, has besides, or does not have, as real slurmrestds of 22.05, 24.11 and 26.05 answer.
func TestVersions(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	running, _, _, _ := fill(t, d)
	job := fmt.Sprintf("/job/%d", running)
	for _, k := range []struct{ path, field, want string }{
		{"/slurm/v0.0.40" + job, "jobs.0.job_resources.nodes", "n[1-2]"},
		{"/slurm/v0.0.40" + job, "jobs.0.job_resources.allocated_hosts", "2"},
		{"/slurm/v0.0.40" + job, "jobs.0.job_resources.allocated_nodes.1.nodename", "n2"},
		{"/slurm/v0.0.40" + job, "jobs.0.minimum_switches", "0"},
		{"/slurm/v0.0.40" + job, "jobs.0.required_switches", "none"},
		{"/slurm/v0.0.40" + job, "meta.plugin.data_parser", "data_parser/v0.0.40"},
		{"/slurm/v0.0.41" + job, "jobs.0.job_resources.nodes.list", "n[1-2]"},
		{"/slurm/v0.0.41/ping", "pings.0.pinged", "UP"},
		{"/slurm/v0.0.41/ping/", "pings.0.responding", "none"},
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
		{"/slurmdb/v0.0.40" + job, "jobs.0.time.planned", "none"},
		{"/slurmdb/v0.0.41" + job, "jobs.0.time.planned.number", "0"},
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
	for _, path := range []string{"/slurm/v0.0.37/ping", "/slurm/v0.0.46/ping", "/slurmdb/v0.0.41/ping"} {
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
