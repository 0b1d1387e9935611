package api_test

import (
	"context"
	"database/sql"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/accounting/report/format"
	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/reports"
	"fsub/federation/store"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// TestStuckStore: while nobody can write to the database, requests that would are refused in the end, with a time to try again after, and others are served meanwhile: those
// that wait give their turns back.
func TestStuckStore(t *testing.T) {
	t.Parallel() // it waits as long as requests do
	path := filepath.Join(t.TempDir(), "fed.db")
	st, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	d := apitest.Start(t, api.Config{Store: st, Users: users{uint32(os.Getuid()): "me"}, Usage: busyUsage{}, Reports: reports.New(reports.Config{Saved: reports.In(st), Mail: slowPlace{}, Domains: []string{"example.org"}, Write: format.Write, Ending: format.Ending})})
	h := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", d.Socket) }}}
	defer h.CloseIdleConnections()
	post := func(path, body string) (*http.Response, error) {
		resp, err := h.Post("http://fsub"+path, "application/json", strings.NewReader(body))
		if err == nil {
			resp.Body.Close()
		}
		return resp, err
	}
	submit := func() (*http.Response, error) {
		return post("/fed/v1/job", `{"spec":{"name":"x","work_dir":"/"},"payload":{"script":"#!/bin/sh\n"}}`)
	}
	save := func() (*http.Response, error) {
		return post("/fed/v1/reports", `{"name":"r","report":"usage","by":["user"],"every":"day","last":"30d","format":"html","mail":["a@example.org"]}`)
	}
	read := func(path string) {
		t.Helper()
		resp, err := h.Get("http://fsub" + path)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("GET %s: %+v %v", path, resp, err)
			return
		}
		resp.Body.Close()
	}
	if resp, err := submit(); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("before: %v %v", resp, err)
	}
	if resp, err := save(); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("before: %v %v", resp, err)
	}
	running := job(0, alice, federation.Running)
	if err := st.CreateJob(t.Context(), &running, &sbatch.Payload{}); err != nil {
		t.Fatal(err)
	}
	read("/fed/v1/accounting")
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	other, err := db.Conn(t.Context())
	if err == nil {
		_, err = other.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	turns := max(min(runtime.NumCPU(), runtime.GOMAXPROCS(0))/2, 1)
	var wg sync.WaitGroup
	done := make(chan struct{})
	for what, ask := range map[string]func() (*http.Response, error){"a submission": submit, "a report that is saved": save} {
		for range turns {
			wg.Go(func() {
				resp, err := ask()
				if err != nil || resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
					t.Errorf("%s while the database is stuck: %+v %v, want status 503 and Retry-After", what, resp, err)
				}
			})
		}
	}
	go func() { wg.Wait(); close(done) }()
	reads := 0
wait:
	for {
		select {
		case <-done:
			break wait
		case <-time.After(time.Minute):
			t.Fatal("those who wait for the database are not answered")
		case <-time.After(50 * time.Millisecond):
			read("/fed/v1/accounting") // for one who has hardly worked a turn is spare
			reads++
		}
	}
	if reads < 3 {
		t.Errorf("only %d requests were answered meanwhile: this shows nothing", reads)
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if resp, err := submit(); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %v %v", resp, err)
	}
	if jobs, err := st.ListJobs(t.Context(), federation.JobQuery{}); err != nil || len(jobs) != 3 {
		t.Errorf("%d jobs, %v: what was refused was done", len(jobs), err)
	}
}
