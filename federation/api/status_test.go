package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/answer"
	"fsub/federation/usage"
)

// TestStatusOfFailures: 500 is a fault of the daemon's own and is logged. What it cannot do just now is 503, with a time to try again; the log has that
// where something broke, and not what users and sites bring about.
func TestStatusOfFailures(t *testing.T) {
	var log lockedLog
	d := startWith(t, api.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	c := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", d.Socket) }}}
	defer c.CloseIdleConnections()
	busy := &federation.SlurmError{Kind: federation.ErrThrottled, Number: 5004, Text: "too many"}
	for name, want := range map[string]struct {
		err            error
		fed, slurmrest int
		again          string // /fed/v1's Retry-After
		says           string
		logged         bool
	}{
		"a defect":              {errors.New("planted"), 500, 500, "", "planted", true},
		"too much":              {busy, 503, 503, "1", "too many", false},
		"no site":               {answer.Detailed(answer.NoContact, "alpha does not answer"), 503, 500, "10", "alpha does not answer", false},
		"the store":             {answer.Outage(answer.TimedOut, errors.New("disk full")), 503, 500, "10", "Socket timed out", true},
		"the store, unworded":   {fmt.Errorf("read: %w", federation.ErrUnavailable), 503, 500, "10", "read", true},
		"out of time":           {fmt.Errorf("look: %w", context.DeadlineExceeded), 503, 500, "10", "it has taken too long", true},
		"what cannot be":        {&federation.SlurmError{Kind: federation.ErrInvalid, Number: 2014, Text: "never"}, 400, 500, "", "never", false},
		"what is not the state": {&federation.SlurmError{Kind: federation.ErrConflict, Number: 11, Text: "later"}, 409, 500, "", "later", false},
		"invalid, unworded":     {fmt.Errorf("odd: %w", federation.ErrInvalid), 400, 500, "", "odd", false},
	} {
		d.Controller.SetRefusal(want.err)
		for path, body := range map[string]string{"/fed/v1/job": `{"spec":{"work_dir":"/"},"payload":{"script":"#!/bin/sh\n"}}`,
			"/slurm/v0.0.42/job/submit": `{"script":"#!/bin/sh\n","job":{"current_working_directory":"/","environment":["A=b"]}}`} {
			before := strings.Count(log.String(), "level=ERROR")
			resp, err := c.Post("http://fsub"+path, "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			code, again := want.fed, want.again
			if path != "/fed/v1/job" {
				if code = want.slurmrest; code != 503 {
					again = ""
				}
			}
			if resp.StatusCode != code || resp.Header.Get("Retry-After") != again || !strings.Contains(string(text), want.says) {
				t.Errorf("%s, %s: status %d, try again after %q: %s", name, path, resp.StatusCode, resp.Header.Get("Retry-After"), text)
			}
			if logged := strings.Count(log.String(), "level=ERROR") > before; logged != want.logged {
				t.Errorf("%s, %s: logged %v", name, path, logged)
			}
		}
	}
}

// waitingUsage waits where usage is read until its caller has gone.
type waitingUsage struct {
	usage.Store
	read, gone chan struct{}
}

func (u waitingUsage) UsageOf(ctx context.Context, _ []federation.JobID) (map[federation.JobID][]usage.Usage, error) {
	close(u.read)
	<-ctx.Done()
	defer close(u.gone)
	return nil, ctx.Err()
}

// A caller that hangs up before it is answered does not count as a failure of the daemon.
func TestCallerGoesAway(t *testing.T) {
	var log lockedLog
	usage := waitingUsage{read: make(chan struct{}), gone: make(chan struct{})}
	metrics := prometheus.NewRegistry()
	d := startWith(t, api.Config{Usage: usage, Logger: slog.New(slog.NewTextHandler(&log, nil)), Registerer: metrics})
	d.Put(t, job(1, alice, federation.Running))
	conn, err := net.Dial("unix", d.Socket)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "GET /fed/v1/accounting HTTP/1.1\r\nHost: x\r\n\r\n")
	<-usage.read
	conn.Close()
	<-usage.gone
	const gone = `fsub_api_requests_total{route="GET /fed/v1/accounting",status="gone"} 1`
	scraped := func() string {
		w := httptest.NewRecorder()
		answer.MetricsHandler(metrics).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return w.Body.String()
	}
	for began := time.Now(); !strings.Contains(scraped(), gone); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("it is not counted as gone: %s", scraped())
		}
	}
	if text := log.String(); strings.Contains(text, "level=ERROR") {
		t.Errorf("the log has %s", text)
	}
}
