package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"fsub/federation"
	"fsub/federation/api"
	v1 "fsub/federation/api/v1"
	"fsub/federation/usage"
	"fsub/slurm/wire"
)

// lockedLog is a log that handlers write and a test reads.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// brokenUsage panics where usage is read.
type brokenUsage struct{ usage.Store }

func (brokenUsage) UsageOf(context.Context, []federation.JobID) (map[federation.JobID][]usage.Usage, error) {
	panic("no usage today")
}

// TestPanics: a handler that panics is an ERROR in the log, with its stack, and a plain 500 in the API's shape.
func TestPanics(t *testing.T) {
	var log lockedLog
	d := startWith(t, api.Config{Usage: brokenUsage{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	d.Put(t, job(1, alice, federation.Running))
	var fed v1.ErrorResponse
	if code := as(t, alice, d.Socket, "GET", "/fed/v1/accounting", nil, &fed); code != http.StatusInternalServerError || !strings.HasPrefix(fed.Error.Text, "internal error") {
		t.Errorf("/fed/v1: %d %+v", code, fed)
	}
	var reply wire.Reply
	code := as(t, alice, d.Socket, "GET", "/slurmdb/v0.0.42/jobs", nil, &reply)
	if code != http.StatusInternalServerError || len(reply.Errors) != 1 || !strings.HasPrefix(reply.Errors[0].Text, "internal error") {
		t.Errorf("/slurmdb: %d %+v", code, reply)
	}
	text := log.String()
	if strings.Count(text, "level=ERROR") != 2 || strings.Count(text, "no usage today") != 2 || !strings.Contains(text, "panic_test.go") {
		t.Errorf("the log has %s", text)
	}
}

// TestRefusalSaysWhoAsked: an answer that refuses names the caller as any other does, and nobody where nobody is known.
func TestRefusalSaysWhoAsked(t *testing.T) {
	d := start(t)
	for _, c := range []struct{ method, path string }{
		{"GET", "/slurm/v0.0.42/job/999"}, {"GET", "/slurm/v0.0.42/ping"}, {"POST", "/slurm/v0.0.42/job/submit"},
	} {
		var reply wire.Reply
		as(t, alice, d.Socket, c.method, c.path, json.RawMessage("{}"), &reply)
		if got := reply.Meta.Client; got.User != "alice" || got.Group != "alice" {
			t.Errorf("%s %s: client %+v", c.method, c.path, got)
		}
	}
}
