package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/client"
	"fsub/testbed/apitest"
)

// BenchmarkSubmit is 64 clients on the socket, each keeping its connection and submitting one job a request: jobs/s and p99.
// The store is in memory, so this is the cost of the API itself, clients included.
func BenchmarkSubmit(b *testing.B) {
	submitBench(b, apitest.Start(b, api.Config{}).Socket)
}

func submitBench(b *testing.B, socket string) {
	req := hello("bench")
	for i := range 60 { // an ordinary login's environment
		req.Payload.Environment = append(req.Payload.Environment, fmt.Sprintf("VARIABLE_%d=/some/where/on/this/machine:/and/else", i))
	}
	req.Payload.Script += strings.Repeat("# a line of an ordinary script\n", 30)
	body, err := json.Marshal(req)
	if err != nil {
		b.Fatal(err)
	}
	msg := append(fmt.Appendf(nil, "POST /fed/v1/job HTTP/1.1\r\nHost: fsub\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body)), body...)
	const clients = 64
	var wg sync.WaitGroup
	times := make([][]time.Duration, clients)
	b.SetBytes(int64(len(msg)))
	b.ResetTimer()
	cpu := cpuTime()
	for i := range clients {
		wg.Go(func() {
			conn, err := net.Dial("unix", socket)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			r := bufio.NewReader(conn)
			for n := i; n < b.N; n += clients {
				began := time.Now()
				conn.Write(msg)
				resp, err := http.ReadResponse(r, nil)
				if err != nil || resp.StatusCode != 200 {
					b.Errorf("%v %v", resp, err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				times[i] = append(times[i], time.Since(began))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/float64(b.N), "cpu-us/op") // means something on a busy machine too
	all := slices.Sorted(slices.Values(slices.Concat(times...)))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkListJobs is a listing of 10,000 live jobs, as our commands ask for it and as slurmrestd would answer: in the version whose shape package
// wire has, and in another.
func BenchmarkListJobs(b *testing.B) {
	d := apitest.Start(b, api.Config{})
	for range 10000 {
		d.Put(b, job(0, alice, federation.Pending))
	}
	c := client.New(d.Socket)
	defer c.Close()
	for _, path := range []string{"v0.0.42/jobs?sparse=1", "v0.0.42/jobs", "v0.0.43/jobs"} {
		b.Run("path="+path, func(b *testing.B) {
			for b.Loop() {
				var raw json.RawMessage
				if err := c.Do(b.Context(), "GET", "/slurm/"+path, nil, &raw); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(raw))/1e6, "MB")
			}
		})
	}
}

// BenchmarkQueue is a listing of 10,000 live jobs as squeue asks for it, with the reading of its rows.
func BenchmarkQueue(b *testing.B) {
	d := apitest.Start(b, api.Config{})
	for range 10000 {
		d.Put(b, job(0, alice, federation.Pending))
	}
	cpu := cpuTime()
	for b.Loop() {
		if _, _, jobs, err := readQueue(d.Socket, ""); err != nil || len(jobs) != 10000 {
			b.Fatal(len(jobs), err)
		}
	}
	b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/float64(b.N), "cpu-us/op")
}

// cpuTime is the CPU time that this process has used, clients included.
func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
