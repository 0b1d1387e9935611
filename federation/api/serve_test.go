package api_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/slurm/wire"
	"fsub/testbed/apitest"
)

func TestPingDiagAndMetrics(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	fill(t, d)
	var p wire.PingResponse
	if err := c.Do(t.Context(), "GET", "/slurm/v0.0.42/ping/", nil, &p); err != nil || len(p.Pings) != 1 || p.Pings[0].Pinged != "UP" || p.Meta.Slurm.Cluster != "fed" {
		t.Errorf("%+v, %v", p, err)
	}
	var g wire.DiagResponse
	if err := c.Do(t.Context(), "GET", "/slurm/v0.0.45/diag/", nil, &g); err != nil || g.Statistics.JobsPending != 1 || g.Statistics.JobsRunning != 2 {
		t.Errorf("%+v, %v", g.Statistics, err)
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	d := apitest.Start(t, api.Config{Users: users{uint32(os.Getuid()): "me"}, Registerer: reg})
	c := client.New(d.Socket)
	defer c.Close()
	for range 3 {
		c.Job(t.Context(), 999)
	}
	c.Do(t.Context(), "GET", "/slurm/v0.0.42/jobs/", nil, nil)
	c.Do(t.Context(), "GET", "/slurm/v0.0.42/jobs", nil, nil)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == "fsub_api_requests_total" && m.Counter.GetValue() > 0 {
				got[m.Label[0].GetValue()+" "+m.Label[1].GetValue()] = m.Counter.GetValue()
			}
		}
	}
	want := map[string]float64{"GET /fed/v1/job/{id} 4xx": 3, "GET /slurm/{version}/jobs 2xx": 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	h := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", d.Socket) }}}
	resp, err := h.Get("http://fsub/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); !strings.Contains(string(b), `fsub_api_request_seconds_bucket{route="GET /fed/v1/job/{id}",le="0.0005"}`) {
		t.Errorf("metrics: %.300s", b)
	}
}

// TestWhoGoesInTheMiddle: a caller that has gone before he had all of a long list is no failure of ours.
func TestWhoGoesInTheMiddle(t *testing.T) {
	reg := prometheus.NewRegistry()
	d := startWith(t, api.Config{Registerer: reg})
	d.Put(t, slices.Repeat([]federation.Job{job(0, alice, federation.Running)}, 2000)...)
	c, err := net.Dial("unix", d.Socket)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(c, "GET /slurm/v0.0.42/jobs HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := io.ReadFull(c, make([]byte, 200<<10)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.Metric {
				if f.GetName() == "fsub_api_requests_total" && m.Counter.GetValue() > 0 {
					if class := m.Label[1].GetValue(); class != "gone" {
						t.Errorf("it counts as %s", class)
					}
					return
				}
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("it is not counted")
		}
	}
}

// TestServeFinishesWhatIsInHand: told to stop, the server ends long polls at once and returns nil.
func TestServeFinishesWhatIsInHand(t *testing.T) {
	d := apitest.Start(t, api.Config{Users: users{uint32(os.Getuid()): "me"}})
	c := client.New(d.Socket)
	defer c.Close()
	id := d.Put(t, job(0, alice, federation.Running))[0]
	for d.Store.Followers() == 0 { // the queue in memory, which is read at the start
		time.Sleep(time.Millisecond)
	}
	polled, followers := make(chan error, 1), d.Store.Followers()
	go func() {
		var rec v1.JobRecord
		polled <- c.Do(t.Context(), "GET", fmt.Sprintf("/fed/v1/job/%d/wait", id), nil, &rec)
	}()
	for d.Store.Followers() == followers {
		time.Sleep(time.Millisecond)
	}
	d.Stop()
	if err := <-polled; err != nil {
		t.Errorf("poll: %v", err)
	}
}

// TestDiagCounts: what has happened to jobs today, tasks of arrays one by one.
func TestDiagCounts(t *testing.T) {
	now := newClock()
	d := startWith(t, api.Config{Now: now.Now})
	c := client.New(d.Socket)
	defer c.Close()
	array := job(1, alice, federation.Running)
	array.Spec.Array, array.Whole = "3-9", &federation.ArrayWhole{Count: 10, Max: 9, Step: 1, Spread: true}
	task := job(2, alice, federation.Running)
	task.Part = &federation.ArrayPart{Array: 1, Index: 0, Count: 10, Max: 9, Step: 1}
	d.Put(t, array, task, job(3, bob, federation.Pending), job(4, bob, federation.Running))
	move := func(id federation.JobID, what journal.MoveKind, state federation.State) {
		t.Helper()
		if err := d.Store.Commit(t.Context(), &journal.Batch{Moves: []journal.Move{{Job: id, Task: -1, What: what, State: state}}}); err != nil {
			t.Fatal(err)
		}
	}
	count := func() wire.Diag {
		t.Helper()
		var g wire.DiagResponse
		if err := c.Do(t.Context(), "GET", "/slurm/v0.0.42/diag/", nil, &g); err != nil {
			t.Fatal(err)
		}
		return g.Statistics
	}
	move(1, journal.MoveStart, federation.Running) // not a job of its own
	move(2, journal.MoveStart, federation.Running)
	move(4, journal.MoveStart, federation.Running)
	if g := count(); g.JobsSubmitted != 12 || g.JobsStarted != 2 || g.JobsPending != 8 || g.JobsRunning != 2 || g.JobsCompleted != 0 {
		t.Errorf("%+v", g)
	}
	move(2, journal.MoveEnd, federation.Completed)
	move(3, journal.MoveEnd, federation.Cancelled)
	move(4, journal.MoveEnd, federation.Timeout)
	if g := count(); g.JobsSubmitted != 12 || g.JobsStarted != 2 || g.JobsCompleted != 1 || g.JobsCanceled != 1 || g.JobsFailed != 1 {
		t.Errorf("%+v", g)
	}
	now.pass(24 * time.Hour)
	if g := count(); g.JobsSubmitted != 0 || g.JobsStarted != 0 || g.ReqTimeStart.Value() != now.Now().UTC().Truncate(24*time.Hour).Unix() {
		t.Errorf("after midnight: %+v", g)
	}
}
