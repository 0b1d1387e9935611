package api_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"maps"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/identity"
	"fsub/testbed/apitest"
)

// FuzzRequests sends bodies, queries and names to every route that the documents of both APIs have, as a user and as an operator: no answer is a failure of the daemon.
func FuzzRequests(f *testing.F) {
	tokens := identity.NewTokens([]byte("key"))
	d := apitest.Start(f, api.Config{Tokens: tokens, Users: users{uint32(os.Getuid()): "me", olga: "olga"}, Operators: []string{"olga"}})
	d.Controller.SetSites(&federation.Site{Name: "alpha"})
	ask := func(name, method, path, body string) *httptest.ResponseRecorder {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second) // some answers do not end
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, method, "/", strings.NewReader(body))
		if u, err := url.Parse("http://door" + path); err == nil {
			r.URL, r.RequestURI = u, u.RequestURI()
		}
		r.TLS = &tls.ConnectionState{}
		r.Header.Set("X-SLURM-USER-TOKEN", tokens.Make(name, time.Now().Add(24*time.Hour)))
		w := httptest.NewRecorder()
		d.Server.ServeHTTP(w, r)
		return w
	}
	routes := routesOf(f, ask("me", "GET", "/fed/v1/openapi.json", "").Body.Bytes())
	routes = append(routes, routesOf(f, ask("me", "GET", "/openapi.json", "").Body.Bytes())...)
	if len(routes) < 100 {
		f.Fatalf("only %d routes", len(routes))
	}
	number := func(route string) uint16 {
		i := slices.Index(routes, route)
		if i < 0 {
			f.Fatalf("no route %s", route)
		}
		return uint16(i)
	}
	for route, seed := range map[string]string{
		"POST /fed/v1/job":                   `{"spec":{"name":"x","work_dir":"/","array":"0-4000000%5,7"},"payload":{"script":"#!/bin/sh\n","environment":["A=1"]}}`,
		"POST /fed/v1/jobs/cancel":           `{"jobs":[{"id":30000001,"tasks":[1,2]}]}`,
		"POST /fed/v1/jobs/update":           `{"jobs":[{"id":30000001}],"change":[{"option":"time","key":"TimeLimit","value":"5"}]}`,
		"POST /fed/v1/operations":            `{"where":["user=me"],"do":"cancel"}`,
		"POST /slurm/v0.0.42/job/submit":     `{"job":{"name":"x","current_working_directory":"/","environment":["A=1"],"time_limit":{"set":true,"number":4294967296}},"script":"#!/bin/sh\n"}`,
		"GET /fed/v1/queue":                  "job_id=30000001_[0-4000000]&states=RUNNING&sort=+p,-i",
		"GET /fed/v1/jobs":                   "where=id=1-2&where=age>1d",
		"GET /fed/v1/books/sums":             "by=site,user&from=0001-01-01&until=9999-12-31&every=day",
		"POST /fed/v1/site/{name}/state":     `{"state":"drain","reason":"x"}`,
		"POST /fed/v1/nodes/state":           `{"nodes":["alpha/n[1-4]"],"state":"drain","reason":"x"}`,
		"POST /slurm/v0.0.42/job/{job_id}":   `{"job_id":30000001,"nice":-5}`,
		"DELETE /slurm/v0.0.42/job/{job_id}": "signal=KILL",
	} {
		f.Add(number(route), "30000001", seed, strings.HasPrefix(route, "POST /fed/v1/s"))
	}
	f.Fuzz(func(t *testing.T, which uint16, name, text string, operator bool) {
		method, path, _ := strings.Cut(routes[int(which)%len(routes)], " ")
		for strings.Contains(path, "{") {
			before, rest, _ := strings.Cut(path, "{")
			_, after, _ := strings.Cut(rest, "}")
			path = before + url.PathEscape(strings.NewReplacer("{", "", "}", "").Replace(name)) + after
		}
		who, body := "me", text
		if operator {
			who = "olga"
		}
		if method != "POST" {
			path, body = path+"?"+(&url.URL{RawQuery: strings.Map(printable, text)}).RawQuery, ""
		}
		if w := ask(who, method, path, body); strings.Contains(w.Body.String(), "internal error") {
			t.Errorf("%s %s as %s: %s", method, path, who, w.Body)
		}
	})
}

func printable(r rune) rune {
	if r <= ' ' || r == '#' || r >= 0x7f {
		return -1
	}
	return r
}

// routesOf are the operations of an OpenAPI document, in order.
func routesOf(f *testing.F, document []byte) (routes []string) {
	var d described
	if err := json.Unmarshal(document, &d); err != nil {
		f.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			routes = append(routes, strings.ToUpper(method)+" "+path)
		}
	}
	return routes
}
