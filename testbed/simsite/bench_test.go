package simsite

import (
	"context"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// benchSite has room for all that the benchmarks run at once.
func benchSite(b *testing.B) *Site {
	return newSite(b, func(c *Config) {
		c.Nodes = []NodeConfig{{Names: "a[1-64]", CPUs: 128, Mem: 1 << 20, GRES: gpus("h100", 8)}}
		c.Switches, c.MinJobAge, c.JWTKey, c.TokenClock = nil, 60*time.Second, jwtKey, RealClock{}
		c.Clock = NewVirtualClock(time.Now())
	})
}

// BenchmarkJob is the whole life of a job: submitted, started, ended, purged, and told of by a poll for every 250 jobs.
func BenchmarkJob(b *testing.B) {
	s := benchSite(b)
	d, ctx := restDriver(b, s), context.Background()
	var mark federation.Mark
	told := 0
	b.ReportAllocs()
	cpu := cpuTime()
	for i := 0; b.Loop(); i++ {
		sub := submission(federation.FirstJobID + federation.JobID(i))
		sub.Payload.Script = "#!/bin/sh\n#SIM run=5s\n"
		if _, err := d.Submit(ctx, sub); err != nil {
			b.Fatal(err)
		}
		s.Advance(10 * time.Millisecond)
		if i%250 == 249 {
			r, err := d.Jobs(ctx, mark)
			if err != nil {
				b.Fatal(err)
			}
			mark = r.Mark
			told += len(r.Changed)
		}
	}
	b.ReportMetric(float64(b.N)/(cpuTime()-cpu).Seconds(), "jobs/cpu-s")
}

// cpuTime is what this process has used: the rate by it holds on a busy machine too, garbage collection included.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for the process itself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkState polls /jobs/state/ of a controller that holds 10,000 jobs.
func BenchmarkState(b *testing.B) {
	s := benchSite(b)
	for i := range 10_000 {
		s.mustSubmit(b, desc(time.Hour, pinned(int64(federation.FirstJobID)+int64(i), "k")))
	}
	r, _ := http.NewRequest("GET", "http://x"+wire.Slurm(wire.Base, wire.PathJobsState), nil)
	r.Header.Set(wire.HeaderToken, s.Token("slurm", 1e6*time.Hour))
	b.ReportAllocs()
	for b.Loop() {
		resp, err := s.Transport().RoundTrip(r)
		if err != nil || resp.StatusCode != 200 {
			b.Fatal(err, resp)
		}
	}
}

// BenchmarkSubmitHTTP is one POST /job/submit without any client.
func BenchmarkSubmitHTTP(b *testing.B) {
	s := benchSite(b)
	h := http.Header{}
	h.Set(wire.HeaderToken, s.Token("slurm", 1e6*time.Hour))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		body := fmt.Sprintf(`{"job":{"job_id":%d,"user_id":"7001","group_id":"7001","name":"n","admin_comment":"fsub:f:1.1.x","partition":"main",`+
			`"script":"#!/bin/sh\n#SIM run=5s\n","environment":["PATH=/bin"],"current_working_directory":"/tmp","tasks":1,"tres_per_node":"gres/gpu:1",`+
			`"time_limit":{"set":true,"infinite":false,"number":10}}}`, int(federation.FirstJobID)+i)
		q := &request{method: "POST", path: "/slurm/v0.0.42/job/submit", header: h, body: []byte(body)}
		if r := s.respond(q); r.status != 200 {
			b.Fatalf("%s", r.body)
		}
		s.Advance(20 * time.Millisecond)
	}
}

// BenchmarkDeepQueue ends one job at a time with 10,000 behind it.
func BenchmarkDeepQueue(b *testing.B) {
	s := benchSite(b)
	id := int64(federation.FirstJobID)
	add := func() {
		id++
		s.mustSubmit(b, desc(time.Second, pinned(id, "k"), func(d *wire.JobDesc) { d.TRESPerNode = "gres/gpu:8" }))
	}
	for range 10_000 {
		add()
	}
	for b.Loop() {
		add()
		s.Advance(time.Second / 64)
	}
}
