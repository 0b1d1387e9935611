package api_test

import (
	"crypto/tls"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"fsub/federation/api"
	"fsub/federation/api/apitest"
	"fsub/federation/api/identity"
)

// FuzzRequests sends bodies and queries to every kind of request that a user can make: none of them is a failure of the daemon.
func FuzzRequests(f *testing.F) {
	tokens := identity.NewTokens([]byte("key"))
	d := apitest.Start(f, api.Config{Tokens: tokens, Users: users{uint32(os.Getuid()): "me"}})
	token := tokens.Make("me", time.Now().Add(24*time.Hour))
	routes := []string{
		"POST /fed/v1/job", "POST /fed/v1/jobs/cancel", "POST /fed/v1/jobs/update", "POST /fed/v1/jobs/signal", "POST /fed/v1/jobs/suspend", "POST /fed/v1/operations",
		"POST /fed/v1/steps/signal", "POST /fed/v1/accounts", "POST /slurm/v0.0.42/job/submit", "POST /slurm/v0.0.42/job/30000001", "DELETE /slurm/v0.0.42/jobs",
		"GET /fed/v1/queue", "GET /fed/v1/jobs", "GET /fed/v1/nodes", "GET /fed/v1/steps", "GET /fed/v1/accounting", "GET /slurm/v0.0.42/jobs", "GET /slurmdb/v0.0.42/jobs",
	}
	for i, seed := range []string{
		`{"spec":{"name":"x","work_dir":"/","array":"0-4000000%5,7"},"payload":{"script":"#!/bin/sh\n","environment":["A=1"]}}`,
		`{"jobs":[{"id":30000001,"tasks":[1,2]}]}`, `{"jobs":[{"id":30000001}],"change":[{"option":"time","key":"TimeLimit","value":"5"}]}`,
		`{"job":{"name":"x","current_working_directory":"/","environment":["A=1"],"time_limit":{"set":true,"number":4294967296}},"script":"#!/bin/sh\n"}`,
		"job_id=30000001_[0-4000000]&where=age>1d&states=RUNNING", "where=id=1-2&sort=+p,-i", `{"where":["user=me"],"do":"cancel"}`,
	} {
		f.Add(uint8(i), seed)
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		method, path, _ := strings.Cut(routes[int(which)%len(routes)], " ")
		r := httptest.NewRequest(method, path, strings.NewReader(text))
		if method == "GET" {
			r = httptest.NewRequest(method, path, nil)
			r.URL.RawQuery = text
		}
		r.TLS = &tls.ConnectionState{}
		r.Header.Set("X-SLURM-USER-TOKEN", token)
		w := httptest.NewRecorder()
		d.Server.ServeHTTP(w, r)
		if strings.Contains(w.Body.String(), "internal error") {
			t.Errorf("%s %s: %s", method, path, w.Body)
		}
	})
}
