package api_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/slurm/wire"
	"fsub/testbed/apitest"
)

// TestTokenOfAJob: the token in a job's environment ends with the job and is good for that attempt alone. It submits and looks; of its user's jobs it acts
// on its own and on those that were submitted with it.
func TestTokenOfAJob(t *testing.T) {
	tokens := identity.NewTokens([]byte("key"))
	d := apitest.Start(t, api.Config{Tokens: tokens, Users: users{uint32(os.Getuid()): "me", bob: "bob"}})
	cert := httptest.NewTLSServer(nil)
	defer cert.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go d.Server.Serve(t.Context(), tls.NewListener(l, cert.TLS))
	me := uint32(os.Getuid())
	running := func(uid uint32, name string) federation.Job {
		j := job(0, uid, federation.Running)
		j.User, j.Site, j.Attempt, j.Start = name, "alpha", 2, time.Now()
		return j
	}
	array := running(me, "me")
	array.Spec.Array = "0-3"
	ids := d.Put(t, running(me, "me"), running(me, "me"), running(bob, "bob"), array)
	own, other, his := ids[0], ids[1], ids[2]
	call := func(token, method, path string, body, out any) int {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequest(method, "https://"+l.Addr().String()+path, bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-SLURM-USER-TOKEN", token)
		resp, err := cert.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if out != nil {
			json.NewDecoder(resp.Body).Decode(out)
		}
		return resp.StatusCode
	}
	until := time.Now().Add(time.Hour)
	token := tokens.MakeFor("me", &identity.JobClaim{Job: uint32(own), Attempt: 2, Site: "alpha"}, until)
	for _, c := range []struct {
		name, token, method, path string
		body                      any
		status                    int
	}{
		{"looks", token, "GET", "/slurm/v0.0.42/jobs", nil, 200},
		{"reads its own script", token, "GET", fmt.Sprintf("/fed/v1/job/%d/payload", own), nil, 200},
		{"reads another script", token, "GET", fmt.Sprintf("/fed/v1/job/%d/payload", other), nil, 403},
		{"many jobs", token, "POST", "/fed/v1/operations", v1.NewOperation{}, 403},
		{"accounts", token, "POST", "/fed/v1/accounts", v1.EditAccounts{}, 403},
		{"a site", token, "POST", "/fed/v1/site/alpha/state", v1.SetSiteState{}, 403},
		{"another's output", token, "GET", fmt.Sprintf("/fed/v1/job/%d/log", other), nil, 403},
		{"what if", token, "POST", "/fed/v1/what-if", v1.WhatIf{}, 403},
		{"a saved report", token, "POST", "/fed/v1/reports", v1.SavedReport{}, 403},
		{"a report now", token, "POST", "/fed/v1/report/x/run", nil, 403},
		{"nodes", token, "POST", "/fed/v1/nodes/state", v1.SetNodes{}, 403},
		{"a bill", token, "POST", "/fed/v1/books/bills", v1.ImportBill{}, 403},
		{"nodes by REST", token, "POST", "/slurm/v0.0.42/node/n1", map[string]any{}, 500}, // as 24.11 answers what it refuses
		{"metrics", token, "GET", "/metrics", nil, 404},
		{"an attempt of before", tokens.MakeFor("me", &identity.JobClaim{Job: uint32(own), Attempt: 1, Site: "alpha"}, until), "GET", "/fed/v1/sites", nil, 401},
		{"another site", tokens.MakeFor("me", &identity.JobClaim{Job: uint32(own), Attempt: 2, Site: "beta"}, until), "GET", "/fed/v1/sites", nil, 401},
		{"another user's job", tokens.MakeFor("me", &identity.JobClaim{Job: uint32(his)}, until), "GET", "/fed/v1/sites", nil, 401},
		{"a job that is not there", tokens.MakeFor("me", &identity.JobClaim{Job: 77}, until), "GET", "/fed/v1/sites", nil, 401},
		{"no job", tokens.Make("me", until), "GET", fmt.Sprintf("/fed/v1/job/%d/payload", other), nil, 200},
	} {
		if status := call(c.token, c.method, c.path, c.body, nil); status != c.status {
			t.Errorf("%s: status %d, want %d", c.name, status, c.status)
		}
	}
	var child v1.SubmitResponse
	if status := call(token, "POST", "/fed/v1/job", raw(same), &child); status != 200 || child.JobID == 0 {
		t.Fatalf("it submits: status %d, job %d", status, child.JobID)
	}
	var kid wire.JobSubmitResponse
	call(token, "POST", "/slurm/v0.0.42/job/submit", wire.JobSubmitRequest{Script: "#!/bin/sh\n", Job: &wire.JobDesc{Environment: []string{"A=1"}, WorkDir: "/"}}, &kid)
	for _, c := range []struct {
		job  federation.JobID
		want int
	}{{other, wire.ErrAccess}, {his, wire.ErrAccess}, {ids[3], wire.ErrAccess}, {child.JobID, 0}, {federation.JobID(kid.JobID), 0}, {own, 0}} {
		var out v1.ActResponse
		call(token, "POST", "/fed/v1/jobs/cancel", v1.ActRequest{Jobs: []v1.JobRef{{ID: c.job}}}, &out)
		got := -1
		if len(out.Results) == 1 {
			if got = 0; out.Results[0].Error != nil {
				got = out.Results[0].Error.Number
			}
		}
		if got != c.want {
			t.Errorf("cancel %d: error %d, want %d", c.job, got, c.want)
		}
	}
	// It has ended: a moment later its token has, too.
	j, err := d.Store.Job(t.Context(), own)
	if err != nil || !j.State.Ended() {
		t.Fatalf("%s, %v", j.State, err)
	}
	if status := call(token, "GET", "/fed/v1/sites", nil, nil); status != 200 {
		t.Errorf("just after the end: status %d", status)
	}
	j.End = time.Now().Add(-2 * time.Minute)
	if err := d.Store.Commit(t.Context(), &journal.Batch{Jobs: []*federation.Job{&j}}); err != nil {
		t.Fatal(err)
	}
	if status := call(token, "GET", "/fed/v1/sites", nil, nil); status != 401 {
		t.Errorf("after the end: status %d", status)
	}
}
