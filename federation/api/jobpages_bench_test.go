package api_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/federation/store"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

var pageJobs = flag.Int("api.jobs", 20_000, "how many jobs BenchmarkPages has")

// BenchmarkPages asks for pages of many jobs of 50 users, one in twenty of which runs, in an SQLite store: in each order, under conditions that mean many, few or none of
// them, and again without a change. It tells the 99th percentile of the time and the size of the largest answer; the first page of each order, which makes its index, apart.
func BenchmarkPages(b *testing.B) {
	s, err := store.Open(b.Context(), store.Config{Path: filepath.Join(b.TempDir(), "fed.db"), Volatile: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	putMany(b, s, *pageJobs)
	d := apitest.Start(b, api.Config{Store: s, Controller: apitest.NewController(s), Users: queueUsers{}})
	r := newReader[v1.JobLine](d.Socket)
	ask := func(b *testing.B, q url.Values, have string, want int) (v1.Page[v1.JobLine], int) {
		p, status, body, err := r.get("/fed/v1/jobs", q, have)
		if err != nil || status != want {
			b.Fatalf("%v: %d %s %v", q, status, body, err)
		}
		return p, len(body)
	}
	measure := func(name string, next func(i int) url.Values, have func(url.Values) string, want int) {
		b.Run(name, func(b *testing.B) {
			var times []time.Duration
			largest := 0
			for i := 0; b.Loop(); i++ {
				q := next(i)
				etag := have(q)
				began := time.Now()
				_, size := ask(b, q, etag, want)
				times = append(times, time.Since(began))
				largest = max(largest, size)
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(times[len(times)-1].Microseconds())/1000, "max-ms")
			b.ReportMetric(float64(largest)/1000, "largest-kB")
		})
	}
	none := func(url.Values) string { return "" }
	began := time.Now()
	ask(b, url.Values{"limit": {"1"}}, "", http.StatusOK)
	b.Logf("%d jobs are read, and listed by id, in %v", *pageJobs, time.Since(began))
	for _, order := range []string{"id", "submit", "priority", "state", "user", "start", "cost"} {
		began := time.Now()
		ask(b, url.Values{"limit": {"1"}, "sort": {order}}, "", http.StatusOK)
		b.Logf("the index by %s: %v", order, time.Since(began))
		cursor := ""
		measure("sort="+order, func(i int) url.Values {
			q := url.Values{"limit": {"100"}, "sort": {map[bool]string{true: "-"}[i%2 == 1] + order}}
			if i%4 == 2 && cursor != "" {
				q.Set("after", cursor)
			}
			if i%4 == 0 {
				p, _ := ask(b, q, "", http.StatusOK)
				cursor = p.Next
			}
			return q
		}, none, http.StatusOK)
	}
	for _, where := range []string{"user=user07", "state=R", "name=none", "name=job1*", "age>1000h", "age<1h", "gpu=a100", "node=alpha/n7", "account=a3", "reason=nothing", "id=30000005"} {
		measure("where="+where, func(int) url.Values {
			return url.Values{"limit": {"100"}, "sort": {"-priority"}, "where": {where}}
		}, none, http.StatusOK)
	}
	for _, where := range []string{"name=none", "node=alpha/n7", "id=30000005"} { // as an operation on many jobs chooses them
		measure("whole/where="+where, func(int) url.Values { return url.Values{"where": {where}} }, none, http.StatusOK)
	}
	counts := newReader[v1.JobCount](d.Socket)
	b.Run("summary", func(b *testing.B) {
		for b.Loop() {
			if p, status, body, err := counts.get("/fed/v1/summary", url.Values{"by": {"state,site,reason,user,account"}}, ""); err != nil || status != http.StatusOK || len(p.Items) < 50 {
				b.Fatalf("%d %s %v", status, body, err)
			}
		}
	})
	for _, where := range []string{"", "user=user07"} {
		q := url.Values{"limit": {"100"}, "where": {where}, "fields": {"job_id,user,name,state,reason,site,submit"}}
		if where == "" {
			q.Del("where")
		}
		p, _ := ask(b, q, "", http.StatusOK)
		measure("unchanged/where="+where, func(int) url.Values { return q }, func(url.Values) string { return p.ETag }, http.StatusNotModified)
	}
}

// putMany puts jobs into a store.
func putMany(b *testing.B, s *store.Store, n int) {
	ids, err := s.ReserveIDs(b.Context(), n)
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now().Add(-time.Hour * 100).Truncate(time.Second)
	specs := make([]*sbatch.Spec, 40)
	for i := range specs {
		specs[i] = &sbatch.Spec{Name: fmt.Sprintf("job%d", i), Account: fmt.Sprintf("a%d", i%5), WorkDir: "/home/user", MinNodes: 1, CPUsPerTask: 1 + i%4, TimeLimit: time.Hour, Output: "slurm-%j.out"}
		if i%10 == 0 {
			specs[i].GPUs = "h100:1"
		}
	}
	for some := range slices.Chunk(ids, 5000) {
		batch := &journal.Batch{}
		for _, id := range some {
			i := int(id - ids[0])
			j := &federation.Job{ID: id, User: fmt.Sprintf("user%02d", i%50), UID: uint32(2000 + i%50), GID: 2000, SubmitHost: "login", Spec: specs[i*7%len(specs)],
				State: federation.Pending, Reason: "Priority", Submit: began.Add(time.Duration(i) * 100 * time.Millisecond), Priority: uint32(1000 + i*7919%1000)}
			if i%20 == 0 {
				j.State, j.Reason, j.Site, j.Partition, j.Nodes, j.Start, j.Attempt = federation.Running, "", "alpha", "main", fmt.Sprintf("n%d", i%500), j.Submit.Add(time.Minute), 1
			}
			batch.Create = append(batch.Create, j)
		}
		if err := s.Commit(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
}
