package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// submits sends n submissions of a user, each of its own name, and returns how many were taken and what the last refusal said.
func submits(t *testing.T, uid uint32, socket string, n int, change func(*v1.SubmitRequest)) (taken int, refused *v1.Error) {
	t.Helper()
	for i := range n {
		var out v1.SubmitResponse
		as(t, uid, socket, "POST", "/fed/v1/job", raw(func(r *v1.SubmitRequest) {
			r.Spec.Name = fmt.Sprint("j", i)
			change(r)
		}), &out)
		if out.Error != nil {
			refused = out.Error
		} else if out.JobID != 0 {
			taken++
		}
	}
	return taken, refused
}

func same(*v1.SubmitRequest) {}

// clock is a time that passes when it is told to, also for others.
type clock struct {
	start  time.Time
	passed atomic.Int64
}

func newClock() *clock { return &clock{start: time.Now()} }

func (c *clock) Now() time.Time { return c.start.Add(time.Duration(c.passed.Load())) }

func (c *clock) pass(d time.Duration) { c.passed.Add(int64(d)) }

// TestJobsOfOneUserAreBounded: who has too many is told so in Slurm's words; the others submit, and he does again once some have ended.
func TestJobsOfOneUserAreBounded(t *testing.T) {
	now := newClock()
	d := startWith(t, api.Config{Limits: submission.Bounds{Jobs: 5, AllJobs: 9}, Now: now.Now})
	taken, refused := submits(t, alice, d.Socket, 7, same)
	if taken != 5 || refused == nil || refused.Number != wire.ErrAccountingPolicy || refused.Said != "AssocMaxSubmitJobLimit" {
		t.Fatalf("alice: %d jobs are taken, %+v", taken, refused)
	}
	taken, refused = submits(t, bob, d.Socket, 5, same)
	if taken != 4 || refused == nil || refused.Number != 11 { // all have nine
		t.Fatalf("bob: %d jobs are taken, %+v", taken, refused)
	}
	as(t, alice, d.Socket, "POST", "/fed/v1/jobs/cancel", v1.ActRequest{Jobs: []v1.JobRef{{ID: federation.FirstJobID}}}, nil)
	now.pass(2 * time.Second)
	if taken, refused := submits(t, alice, d.Socket, 2, same); taken != 1 {
		t.Errorf("alice, after one was cancelled: %d jobs are taken, %+v", taken, refused)
	}
	if taken, refused := submits(t, 0, d.Socket, 1, same); taken != 0 || refused.Number != 11 {
		t.Errorf("root passes the bound of all: %d, %+v", taken, refused)
	}
}

// TestWhatAllJobsAskForIsBounded: at the bound of all users only those are refused who have more than their share of it.
func TestWhatAllJobsAskForIsBounded(t *testing.T) {
	d := startWith(t, api.Config{Limits: submission.Bounds{AllQueue: 10_000}, Now: newClock().Now}) // nothing is counted again
	comment := func(r *v1.SubmitRequest) { r.Spec.Comment = strings.Repeat("x", 1000) }
	taken, refused := submits(t, alice, d.Socket, 15, comment)
	if taken < 7 || taken > 9 || refused == nil || refused.Number != 11 {
		t.Errorf("alice: %d jobs are taken, %+v", taken, refused)
	}
	if taken, refused = submits(t, bob, d.Socket, 15, comment); taken < 3 || taken > 4 || refused == nil || refused.Number != 11 {
		t.Errorf("bob: %d jobs are taken, %+v", taken, refused)
	}
}

// TestWhatJobsKeepIsBounded: large environments are refused one by one, and in sum.
func TestWhatJobsKeepIsBounded(t *testing.T) {
	d := startWith(t, api.Config{Limits: submission.Bounds{Payload: 64 << 10, Stored: 256 << 10}})
	large := func(n int) func(*v1.SubmitRequest) {
		return func(r *v1.SubmitRequest) { r.Payload.Environment = []string{"A=" + strings.Repeat("x", n)} }
	}
	if taken, refused := submits(t, alice, d.Socket, 1, large(70<<10)); taken != 0 || refused.Number != wire.ErrTooLong {
		t.Errorf("70 KiB: %d, %+v", taken, refused)
	}
	if taken, refused := submits(t, alice, d.Socket, 12, large(62<<10)); taken != 4 || refused == nil || refused.Number != wire.ErrAccountingPolicy {
		t.Errorf("62 KiB: %d are taken, want 4; %+v", taken, refused)
	}
	if taken, refused := submits(t, bob, d.Socket, 1, large(62<<10)); taken != 1 {
		t.Errorf("bob: %+v", refused)
	}
	full := startWith(t, api.Config{Limits: submission.Bounds{Free: 1 << 60, Dir: "/"}})
	if taken, refused := submits(t, 0, full.Socket, 1, same); taken != 0 || refused.Number != 11 {
		t.Errorf("on a full disk: %d, %+v", taken, refused)
	}
}

// TestSubmissionsPerSecond: beyond the burst one waits; the question when a job would start counts as well. Administrators are free.
func TestSubmissionsPerSecond(t *testing.T) {
	now := newClock()
	d := startWith(t, api.Config{Limits: submission.Bounds{PerSecond: 2, Burst: 10}, Now: now.Now})
	if taken, refused := submits(t, alice, d.Socket, 15, same); taken != 10 || refused == nil || refused.Number != 11 {
		t.Fatalf("%d are taken, %+v", taken, refused)
	}
	if _, refused := submits(t, alice, d.Socket, 1, func(r *v1.SubmitRequest) { r.TestOnly = true }); refused == nil || refused.Number != 11 {
		t.Errorf("--test-only: %+v", refused)
	}
	now.pass(time.Second)
	if taken, _ := submits(t, alice, d.Socket, 5, same); taken != 2 {
		t.Errorf("a second later %d are taken", taken)
	}
	for uid, want := range map[uint32]int{bob: 10, 0: 20} {
		if taken, _ := submits(t, uid, d.Socket, 20, same); taken != want {
			t.Errorf("%s: %d are taken, want %d", testUsers[uid], taken, want)
		}
	}
}

// TestRequestsOfOneUserAreBounded, per second and as they wait.
func TestRequestsOfOneUserAreBounded(t *testing.T) {
	now := newClock()
	d := startWith(t, api.Config{Limits: submission.Bounds{Actions: 10, ActionBurst: 100, Requests: 20}, Now: now.Now})
	id := d.Put(t, job(0, alice, federation.Pending))[0]
	hold := func(uid uint32, n int) int {
		return as(t, uid, d.Socket, "POST", "/fed/v1/jobs/hold", v1.ActRequest{Jobs: slices.Repeat([]v1.JobRef{{ID: id}}, n)}, nil)
	}
	for _, c := range []struct {
		uid    uint32
		n      int
		status int
	}{{alice, 21, http.StatusConflict}, {alice, 20, 200}, {alice, 80, http.StatusConflict}, {0, 500, 200}} {
		if code := hold(c.uid, c.n); code != c.status {
			t.Errorf("%s holds %d times: status %d, want %d", testUsers[c.uid], c.n, code, c.status)
		}
	}
}

// TestSubmissionKey: a submission that is repeated under its key is the same job, also where a new one would be refused now; keys are their users'.
func TestSubmissionKey(t *testing.T) {
	d := startWith(t, api.Config{Limits: submission.Bounds{Jobs: 2}})
	submit := func(socket, path, key string, body any) (id federation.JobID, status int) {
		t.Helper()
		var out struct {
			JobID federation.JobID `json:"job_id"`
		}
		status = keyed(t, socket, path, key, body, &out)
		return out.JobID, status
	}
	rest := wire.JobSubmitRequest{Script: "#!/bin/sh\n", Job: &wire.JobDesc{Environment: []string{"A=1"}, WorkDir: "/", Name: "x"}}
	first, _ := submit(d.Socket, "/fed/v1/job", "k1", raw(same))
	second, _ := submit(d.Socket, "/slurm/v0.0.42/job/submit", "k2", rest)
	if first == 0 || second == 0 || first == second {
		t.Fatalf("jobs %d and %d", first, second)
	}
	d.Controller.SetRefusal(&federation.SlurmError{Kind: federation.ErrInvalid, Number: 2000, Text: "Invalid partition name specified"})
	for _, c := range []struct {
		path, key string
		body      any
		want      federation.JobID
		status    int
	}{
		{"/fed/v1/job", "k1", raw(same), first, 200}, {"/slurm/v0.0.42/job/submit", "k1", rest, first, 200}, {"/fed/v1/job", "k2", raw(same), second, 200},
		{"/fed/v1/job", "k3", raw(same), 0, 400}, {"/fed/v1/job", "a key", raw(same), 0, 400}, {"/fed/v1/job", strings.Repeat("k", 129), raw(same), 0, 400},
	} {
		if id, status := submit(d.Socket, c.path, c.key, c.body); id != c.want || status != c.status {
			t.Errorf("%s under %.20q: job %d, status %d; want %d, %d", c.path, c.key, id, status, c.want, c.status)
		}
	}
	d.Controller.SetRefusal(nil)
	jobs, err := d.Store.Jobs(t.Context(), federation.JobQuery{})
	if err != nil || len(jobs) != 2 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
	if id, _ := submit(d.Socket, "/fed/v1/job", "", raw(same)); id == first || id == 0 {
		t.Errorf("without a key: job %d", id)
	}
}

// keyed sends a request under a key, as this process's user, and decodes the answer into out.
func keyed(t *testing.T, socket, path, key string, body, out any) (status int) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://fsub"+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}
