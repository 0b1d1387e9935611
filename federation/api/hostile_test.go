package api_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// TestHostileRequests: no number and no list in a request makes the daemon take much memory or time. Each request is of one user, and is measured.
func TestHostileRequests(t *testing.T) {
	tokens := identity.NewTokens([]byte("key"))
	d := apitest.Start(t, api.Config{Tokens: tokens, Users: users{alice: "alice"}})
	token := tokens.Make("alice", time.Now().Add(24*time.Hour))
	const many = 2000
	for i := range many {
		j := job(0, alice, federation.Pending)
		j.Spec.Name = fmt.Sprint("job", i)
		d.Put(t, j)
	}
	id := d.Put(t, job(0, alice, federation.Pending))[0]
	var nodes []federation.Node
	for i := range many {
		nodes = append(nodes, federation.Node{Name: fmt.Sprint("n", i), CPUs: 8, Mem: 1000, State: []string{"IDLE"}})
	}
	d.Controller.SetSites(&federation.Site{Name: "alpha", State: federation.FedActive, Answering: true, Seen: &federation.Observation{Nodes: nodes,
		Partitions: []federation.Partition{{Name: "main", Default: true, Up: true}}}})

	as(t, alice, d.Socket, "GET", "/fed/v1/queue", nil, nil) // the queue is read once
	zeros := strings.Repeat("0", 60_000)
	submit := func(change func(*sbatch.Spec)) any { return raw(func(r *v1.SubmitRequest) { change(&r.Spec) }) }
	components := func(n int, sp sbatch.Spec) any {
		return submit(func(s *sbatch.Spec) { sp.WorkDir = "/"; s.Het = slices.Repeat([]sbatch.Spec{sp}, n) })
	}
	query := func(path, key, value string, n int) string {
		return path + "?" + url.Values{key: slices.Repeat([]string{value}, n)}.Encode()
	}
	update := func(option, value string) any {
		return v1.ActRequest{Jobs: []v1.JobRef{{ID: id}}, Change: []sbatch.Change{{Key: option, Option: option, Value: value}}}
	}
	for _, c := range []struct {
		name, method, path string
		body               any
	}{
		{"a list of nodes", "POST", "/fed/v1/job", submit(func(s *sbatch.Spec) { s.NodeList = "n[0-262143]" })},
		{"a wide list of nodes", "POST", "/fed/v1/job", submit(func(s *sbatch.Spec) { s.Exclude = "n[" + zeros + "-" + zeros[:59_990] + "99999]" })},
		{"lists of nodes in components", "POST", "/fed/v1/job", components(127, sbatch.Spec{NodeList: "n[0-99999]", Exclude: "n[0-99999]"})},
		{"arrays in components", "POST", "/fed/v1/job", components(127, sbatch.Spec{Array: "0-3999999"})},
		{"large components", "POST", "/fed/v1/job", components(127, sbatch.Spec{Exclude: strings.Repeat("n1,", 20_000)})},
		{"sites again and again", "POST", "/fed/v1/job", submit(func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Sites: slices.Repeat([]string{"alpha"}, 1_000_000)} })},
		{"stages", "POST", "/fed/v1/job", submit(func(s *sbatch.Spec) {
			s.Fed = &sbatch.Fed{StageIn: slices.Repeat([]sbatch.Stage{{From: "a"}}, 500_000)}
		})},
		{"accelerators", "POST", "/fed/v1/job", submit(func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Accelerators: slices.Repeat([]string{"h100:1e308"}, 100)} })},
		{"a constraint", "POST", "/fed/v1/job", submit(func(s *sbatch.Spec) { s.Constraint = strings.Repeat("(", 500) + "a" + strings.Repeat(")", 500) })},
		{"counts", "POST", "/fed/v1/job", submit(func(s *sbatch.Spec) {
			s.MinNodes, s.NTasks, s.NTasksPerNode, s.CPUsPerTask = 1<<24, 1<<24, 1<<24, 1<<24
		})},
		{"GPUs", "POST", "/fed/v1/job", submit(func(s *sbatch.Spec) {
			s.GPUs, s.GPUsPerTask, s.NTasks = "9223372036854775807", "9223372036854775807", 1<<24
		})},
		{"numbers of nodes", "POST", "/fed/v1/job", submit(func(s *sbatch.Spec) { s.More = &sbatch.More{NodeSizes: "1-16777216:1"} })},
		{"a dependency", "POST", "/fed/v1/job", submit(func(s *sbatch.Spec) { s.Dependency = "afterok" + strings.Repeat(":1", 60_000) })},
		{"an end of time", "POST", "/fed/v1/job", submit(func(s *sbatch.Spec) {
			s.Begin, s.Deadline, s.TimeLimit = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), 1<<62
		})},
		{"a checkpoint", "POST", "/fed/v1/job", submit(func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Checkpoint: 1} })},
		{"an array of large tasks", "POST", "/fed/v1/job", submit(func(s *sbatch.Spec) { s.Array, s.Comment = "0-3999999", strings.Repeat("x", 1000) })},
		{"--test-only", "POST", "/fed/v1/job", raw(func(r *v1.SubmitRequest) { r.TestOnly, r.Spec.NodeList = true, "n[0-262143]" })},
		{"nodes of an update", "POST", "/fed/v1/jobs/update", update("nodelist", "n[0-262143]")},
		{"an array by an update", "POST", "/fed/v1/jobs/update", update("array", "0-3999999")},
		{"tasks of an update", "POST", "/fed/v1/jobs/update", update("ntasks", "16777216")},
		{"REST: nodes", "POST", "/slurm/v0.0.42/job/submit", map[string]any{"script": "#!/bin/sh\n", "job": map[string]any{"current_working_directory": "/", "environment": []string{"A=1"},
			"excluded_nodes": slices.Repeat([]string{"n[0-9999]"}, 5000)}}},
		{"REST: an update", "POST", fmt.Sprintf("/slurm/v0.0.42/job/%d", id), map[string]any{"nodes": "1-16777216", "time_limit": map[string]any{"set": true, "number": 1 << 62}}},
		{"a queue in order", "GET", "/fed/v1/queue?sort=" + strings.Repeat("i,", 100_000), nil},
		{"a queue of nodes", "GET", "/fed/v1/queue?nodes=n[0-262143]", nil},
		{"a queue of users", "GET", "/fed/v1/queue?users=" + strings.Repeat("a,", 100_000), nil},
		{"a queue of tasks", "GET", "/fed/v1/queue?job_id=" + strings.Repeat(fmt.Sprintf("%d_[0-3999999],", id), 1000), nil},
		{"a listing of users", "GET", "/slurm/v0.0.42/jobs?user=" + strings.Repeat("a,", 100_000), nil},
		{"accounting of users", "GET", "/slurmdb/v0.0.42/jobs?start_time=0&users=" + strings.Repeat("a,", 100_000), nil},
		{"jobs by nodes", "GET", query("/fed/v1/jobs", "where", "node=n[0-262143]", 100), nil},
		{"jobs by numbers", "GET", query("/fed/v1/jobs", "where", "id=[0-262143]", 1000), nil},
		{"jobs by names", "GET", query("/fed/v1/jobs", "where", "name="+strings.Repeat("*a*,", 10_000)+"b", 1), nil},
		{"an operation by nodes", "POST", "/fed/v1/operations", map[string]any{"where": slices.Repeat([]string{"node=n[0-262143]"}, 10_000), "do": "cancel"}},
		{"events", "GET", query("/fed/v1/events", "where", "name=*a*", 10_000), nil},
		{"nodes by name", "GET", "/fed/v1/nodes?nodes=alpha/n[0-262143]", nil},
		{"nodes again and again", "GET", "/fed/v1/nodes?nodes=" + strings.Repeat("alpha/*,", 50_000), nil},
		{"nodes by condition", "GET", query("/fed/v1/nodes", "where", "state=IDLE", 10_000), nil},
		{"steps", "GET", "/fed/v1/steps?job_id=" + strings.Repeat(fmt.Sprintf("%d_[0-3999999],", id), 100), nil},
		{"cancelled tasks", "DELETE", "/slurm/v0.0.42/jobs", map[string]any{"jobs": slices.Repeat([]string{fmt.Sprintf("%d_[0-3999999]", id)}, 1000)}},
		{"cancelled by number", "POST", "/fed/v1/jobs/cancel", v1.ActRequest{Jobs: slices.Repeat([]v1.JobRef{{ID: id}}, 200_000)}},
		{"a long path", "GET", "/slurm/v0.0.42/job/" + strings.Repeat("9", 100_000), nil},
		{"a log's offset", "GET", fmt.Sprintf("/fed/v1/job/%d/log/text?offset=9223372036854775807", id), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := ""
			if c.body != nil {
				b, err := json.Marshal(c.body)
				if err != nil {
					t.Fatal(err)
				}
				text = string(b)
			}
			r := httptest.NewRequest(c.method, c.path, strings.NewReader(text))
			if c.body == nil {
				r = httptest.NewRequest(c.method, c.path, nil)
			}
			r.TLS = &tls.ConnectionState{}
			r.Header.Set("X-SLURM-USER-TOKEN", token)
			r.Header.Set("X-Fsub-Job", strings.Repeat("1,", 100_000))
			w := httptest.NewRecorder()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began, worked := time.Now(), cpuTime()
			d.Server.ServeHTTP(w, r)
			took, worked := time.Since(began), cpuTime()-worked
			runtime.ReadMemStats(&after)
			mib := float64(after.TotalAlloc-before.TotalAlloc-uint64(2*w.Body.Len())) / (1 << 20)
			t.Logf("%d bytes in: status %d, %.1f MiB, %v: %.120s", len(c.path)+len(text), w.Code, mib, took.Round(time.Millisecond), w.Body)
			// The body is read and decoded, into lists that grow: that takes some times as much as it has.
			if most := 64 + 20*float64(len(c.path)+len(text))/(1<<20); mib > most {
				t.Errorf("it took %.0f MiB, more than %.0f", mib, most)
			}
			if worked > 5*time.Second || took > time.Minute { // a busy machine lets it wait
				t.Errorf("it took %v, %v of them CPU time", took, worked)
			}
			if w.Code >= 500 && !strings.HasPrefix(c.path, "/slurm") { // where 24.11 says 500 of what it refuses
				t.Errorf("status %d", w.Code)
			}
		})
	}
}
