package traces

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"fsub/federation"
	"fsub/federation/audit"
	"fsub/federation/journal"
	"fsub/federation/records"
	"fsub/sbatch"
)

// memory is a store of a few jobs, whose log has a commit for each end.
type memory struct {
	mu       sync.Mutex
	jobs     map[federation.JobID]*federation.Job
	attempts map[federation.JobID][]federation.Attempt
	env      map[federation.JobID][]string
	log      []journal.Commit
	marks    []records.Record
	fails    error
}

func newMemory() *memory {
	return &memory{jobs: map[federation.JobID]*federation.Job{}, attempts: map[federation.JobID][]federation.Attempt{}, env: map[federation.JobID][]string{}}
}

func (m *memory) end(j *federation.Job, attempts ...federation.Attempt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jobs[j.ID], m.attempts[j.ID] = j, attempts
	m.log = append(m.log, journal.Commit{Mark: journal.Mark(len(m.log) + 1), At: j.End, Changes: []journal.Change{{Job: j.ID, Kind: journal.ChangeMove, Move: &journal.Move{Job: j.ID, What: journal.MoveEnd, State: j.State}}}})
}

func (m *memory) Changes(_ context.Context, after journal.Mark, limit int) (journal.Log, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails != nil {
		return journal.Log{}, m.fails
	}
	if after == 0 {
		return journal.Log{Mark: journal.Mark(len(m.log))}, nil
	}
	some := m.log[max(after, 0):]
	some = some[:min(len(some), limit)]
	return journal.Log{Commits: slices.Clone(some), Mark: max(after, 0) + journal.Mark(len(some))}, nil
}

func (m *memory) Records(context.Context, string, string) ([]records.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.marks), nil
}

func (m *memory) PutRecord(_ context.Context, r *records.Record, _ ...audit.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.Rev = 1
	m.marks = []records.Record{*r}
	return nil
}

func (m *memory) RemoveRecord(context.Context, string, string, string, ...audit.Entry) error {
	return nil
}

func (m *memory) Jobs(_ context.Context, q federation.JobQuery) (all []federation.Job, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range q.IDs {
		if j := m.jobs[id]; j != nil {
			all = append(all, *j)
		}
	}
	return all, nil
}

func (m *memory) Attempts(_ context.Context, id federation.JobID) ([]federation.Attempt, error) {
	return m.attempts[id], nil
}

func (m *memory) Payload(_ context.Context, id federation.JobID) (p sbatch.Payload, err error) {
	if env, found := m.env[id]; found {
		return sbatch.Payload{Environment: env}, nil
	}
	return p, federation.ErrNotFound
}

// collector keeps what it is sent, unless it is down.
type collector struct {
	mu    sync.Mutex
	down  bool
	never bool // it refuses what it gets
	spans []*trace.Span
	tries int
}

func (c *collector) upload(_ context.Context, all []*trace.ResourceSpans) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries++
	if c.down {
		return errors.New("connection refused")
	}
	if c.never {
		return fmt.Errorf("%w: status 400", ErrRefused)
	}
	for _, r := range all {
		for _, s := range r.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
	return nil
}

func (c *collector) set(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

func ended(id federation.JobID, state federation.State) (*federation.Job, federation.Attempt) {
	j := job(id)
	j.Spec, j.State, j.User = &sbatch.Spec{Name: "train"}, state, "alice"
	at := func(seconds int) time.Time { return j.Submit.Add(time.Duration(seconds) * time.Second) }
	j.Start, j.End = at(60), at(360)
	return j, federation.Attempt{Job: id, Number: 1, Site: "alpha", State: federation.AttemptEnded, Created: at(5), Acked: at(7), Started: at(60), Ended: at(360), Final: state, Nodes: "a[1-2]"}
}

// shape is a trace as text: each span with its parent and its time in seconds from the submission.
func shape(all []*trace.Span) string {
	names, begin := map[string]string{}, all[0].StartTimeUnixNano
	for _, s := range all {
		names[string(s.SpanId)] = s.Name
	}
	var out []string
	for _, s := range all {
		line := s.Name
		if s.ParentSpanId != nil {
			if line += " in " + names[string(s.ParentSpanId)]; names[string(s.ParentSpanId)] == "" {
				line += "another's"
			}
		}
		line += " " + time.Duration(s.StartTimeUnixNano-begin).String() + "-" + time.Duration(s.EndTimeUnixNano-begin).String()
		if s.Status != nil {
			line += " " + s.Status.Message
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func (m *memory) exporter(c *collector, share float64) *Exporter {
	return New(Config{Store: m, Upload: c.upload, Federation: "fed", Version: "v1", Share: share, Logger: slog.New(slog.DiscardHandler)})
}

// run lets an exporter work for a while of virtual time.
func run(t *testing.T, e *Exporter, during func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- e.Run(ctx) }()
	synctest.Wait()
	during()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestTraceOfAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newMemory(), &collector{}
		m.end(ended(29999999, federation.Completed)) // before traces were switched on
		run(t, m.exporter(c, 1), func() {
			m.end(ended(30000001, federation.OutOfMemory))
			time.Sleep(time.Minute)
		})
		want := `job 0s-6m0s OUT_OF_MEMORY
wait in job 0s-5s
attempt in job 5s-6m0s OUT_OF_MEMORY
hand over in attempt 5s-7s
queued at site in attempt 7s-1m0s
run in attempt 1m0s-6m0s OUT_OF_MEMORY`
		if got := shape(c.spans); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		id := IdentityOf("fed", m.jobs[30000001], nil)
		parent, _ := parse(strings.TrimPrefix(Environment("fed", 1, m.jobs[30000001], nil)[0], "TRACEPARENT="))
		if !bytes.Equal(c.spans[0].TraceId, id.Trace[:]) || !bytes.Equal(c.spans[2].SpanId, parent.Parent[:]) {
			t.Error("what the job was told is not the attempt's span")
		}
		ids := map[string]bool{}
		for _, s := range c.spans {
			ids[string(s.SpanId)] = true
		}
		if len(ids) != len(c.spans) {
			t.Errorf("%d identities of %d spans", len(ids), len(c.spans))
		}
	})
}

// TestSubmittersTrace: the job stands in the trace of whoever submitted it.
func TestSubmittersTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newMemory(), &collector{}
		m.env[1] = []string{"TRACEPARENT=00-" + theirs + "-" + span + "-01"}
		run(t, m.exporter(c, 0), func() {
			m.end(ended(1, federation.Completed))
			time.Sleep(time.Minute)
		})
		if len(c.spans) == 0 || !strings.HasPrefix(shape(c.spans), "job in another's 0s-6m0s\n") {
			t.Errorf("spans %v", c.spans)
		}
	})
}

// TestSamples: of those that are not to be sampled the failed are sent.
func TestSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newMemory(), &collector{}
		run(t, m.exporter(c, 0), func() {
			for i, s := range []federation.State{federation.Completed, federation.Cancelled, federation.Failed, federation.Timeout, federation.NodeFail, federation.Running} {
				m.end(ended(federation.JobID(1+i), s))
			}
			time.Sleep(time.Minute)
		})
		var got []string
		for _, s := range c.spans {
			if s.Name == "job" {
				got = append(got, s.Status.Message)
			}
		}
		if want := []string{"FAILED", "TIMEOUT", "NODE_FAIL"}; !slices.Equal(got, want) {
			t.Errorf("traces of %v, want %v", got, want)
		}
	})
}

// TestCollectorDown: what the collector does not take is sent when it answers again, also by another daemon, and under the same identities.
func TestCollectorDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newMemory(), &collector{down: true}
		run(t, m.exporter(c, 1), func() {
			for i := range 1000 {
				m.end(ended(federation.JobID(1+i), federation.Completed))
			}
			time.Sleep(time.Hour)
		})
		if c.tries < 2 || c.tries > 30 {
			t.Errorf("%d tries in an hour", c.tries)
		}
		c.set(false)
		run(t, m.exporter(c, 1), func() {
			time.Sleep(10 * time.Minute)
			m.end(ended(1001, federation.Completed))
			time.Sleep(10 * time.Minute)
		})
		if got := count(c.spans); got != 1001 {
			t.Errorf("%d traces, want 1001", got)
		}
		all := len(c.spans)
		run(t, m.exporter(c, 1), func() { time.Sleep(time.Minute) })
		if len(c.spans) != all {
			t.Errorf("%d spans were sent again after a restart", len(c.spans)-all)
		}
	})
}

// TestRefusedTraces: what the collector never takes keeps nothing back that comes later.
func TestRefusedTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newMemory(), &collector{never: true}
		run(t, m.exporter(c, 1), func() {
			m.end(ended(1, federation.Completed))
			time.Sleep(time.Minute)
			c.mu.Lock()
			c.never = false
			c.mu.Unlock()
			m.end(ended(2, federation.Completed))
			time.Sleep(time.Minute)
		})
		if c.tries != 2 || count(c.spans) != 1 {
			t.Errorf("%d tries, %d traces", c.tries, count(c.spans))
		}
	})
}

func count(all []*trace.Span) int {
	ids := map[string]bool{}
	for _, s := range all {
		if s.Name == "job" {
			ids[string(s.TraceId)] = true
		}
	}
	return len(ids)
}

// TestStoreDown: a database that does not answer is waited for.
func TestStoreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newMemory(), &collector{}
		m.fails = errors.New("the database does not answer")
		run(t, m.exporter(c, 1), func() {
			time.Sleep(time.Minute)
			m.mu.Lock()
			m.fails = nil
			m.mu.Unlock()
			time.Sleep(10 * time.Minute)
			m.end(ended(1, federation.Completed))
			time.Sleep(10 * time.Minute)
		})
		if count(c.spans) != 1 {
			t.Errorf("%d traces", count(c.spans))
		}
	})
}
