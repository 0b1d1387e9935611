package api_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/testbed/apitest"
)

// TestUnfinishedHeaders: connections whose headers do not end take up little memory, and a header that is too long is refused.
func TestUnfinishedHeaders(t *testing.T) {
	d := apitest.Start(t, api.Config{})
	long := "GET /fed/v1/sites HTTP/1.1\r\nHost: fsub\r\n"
	for i := range 17 {
		long += fmt.Sprintf("X-%d: %s\r\n", i, strings.Repeat("x", 60_000))
	}
	before := heap()
	const many = 200
	var sent sync.WaitGroup
	for range many {
		c, err := net.Dial("unix", d.Socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		sent.Go(func() { _, _ = io.WriteString(c, long) }) // which fails once the server has read enough
	}
	sent.Wait()
	if grown := int64(heap()-before) / many; grown > 3*v1.MaxHeader {
		t.Errorf("a header that does not end takes up %d bytes", grown)
	}
	c, err := net.Dial("unix", d.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go io.WriteString(c, long+"\r\n")
	answer := make([]byte, 64)
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := c.Read(answer); err != nil || !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 431 ") {
		t.Errorf("a header of 1 MB: %q, %v", answer[:n], err)
	}
}

// heap is how many bytes are in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestLongQueries: a query that is longer than a header may be comes as the body.
func TestLongQueries(t *testing.T) {
	d := apitest.Start(t, api.Config{})
	id := d.Put(t, job(0, alice, federation.Pending), job(0, alice, federation.Pending))[1]
	list := fmt.Sprintf("%d,%s1", id, strings.Repeat("99999999,", v1.MaxHeader/9))
	for _, path := range []string{"/slurm/v0.0.42/jobs?job_id=", "/slurmdb/v0.0.42/jobs?start_time=0&job_id="} {
		var answer struct {
			Jobs []struct {
				JobID federation.JobID `json:"job_id"`
			} `json:"jobs"`
		}
		if err := client.New(d.Socket).Do(t.Context(), http.MethodGet, path+list, nil, &answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Jobs) != 1 || answer.Jobs[0].JobID != id {
			t.Errorf("%s: %+v", path, answer.Jobs)
		}
	}
}
