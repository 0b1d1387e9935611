package monitoring

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"fsub/testbed/listener"
)

// collector takes OTLP over HTTP, if it is not down.
type collector struct {
	mu    sync.Mutex
	down  bool
	never bool   // it answers 400
	key   string // that was sent last

	refused int
	spans   []*trace.Span
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	if c.never {
		c.refused++
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	body, err := listener.Body(r)
	var spans []*trace.Span
	if err == nil {
		spans, err = listener.Spans(body)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, fmt.Sprint(r.URL.Path, err), http.StatusBadRequest)
		return
	}
	c.key = r.Header.Get("X-Key")
	c.spans = append(c.spans, spans...)
	answer, _ := proto.Marshal(&otlp.ExportTraceServiceResponse{})
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(answer)
}

func (c *collector) refuse(never bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.never = never
}

func (c *collector) set(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

// trace are the spans of a job by their names, and whether its trace is there.
func (c *collector) trace(job string) (names []string, all []*trace.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all = listener.SpansOf(c.spans, job)
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names, all
}

// TestTracesReachACollector: a job that ends is a trace without gaps; while the collector is down jobs are accepted and end as ever, and their traces come when it is
// back, though the daemon was killed meanwhile. A job submitted within a trace is a part of it.
func TestTracesReachACollector(t *testing.T) {
	c := &collector{down: true}
	srv := httptest.NewServer(c)
	t.Cleanup(srv.Close)
	headers := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(headers, []byte("X-Key: secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, fmt.Sprintf("traces: {endpoint: %q, headers_file: %s}", srv.URL+"/v1/traces", headers))
	w.awaitValue("fsub_site_answering", "1")
	submit := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(w.file("fsub"), append(args, "--parsable", "--wrap", "true")...)
		cmd.Dir = w.dir
		cmd.Env = append(os.Environ(), "FSUB_SOCKET="+w.file("fed.sock"), "TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("fsub: %v\n%s", err, out)
		}
		id, _, _ := strings.Cut(strings.TrimSpace(string(out)), ";")
		return id
	}
	submitted := []string{submit("-n1"), submit("-n2", "--export=NONE")}
	w.awaitValue("sum(fsub_jobs_ended_total)", "2")
	_ = w.fed.Process.Kill()
	_ = w.fed.Wait()
	w.startFed()
	c.set(false)
	for i, id := range submitted {
		w.await("the trace of job "+id, func() bool { names, _ := c.trace(id); return len(names) > 0 })
		names, all := c.trace(id)
		if got := strings.Join(names, ", "); !strings.HasPrefix(got, "job, wait, attempt, hand over") || !strings.HasSuffix(got, "run") {
			t.Errorf("job %s has the spans %s", id, got)
		}
		if theirs := fmt.Sprintf("%x", all[0].TraceId) == "0af7651916cd43dd8448eb211c80319c"; theirs != (i == 0) {
			t.Errorf("job %s stands in trace %x", id, all[0].TraceId)
		}
	}
	c.refuse(true)
	lost := submit("-n1")
	w.await("a trace is refused", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.refused > 0 })
	c.refuse(false)
	kept := submit("-n1")
	w.await("the trace of job "+kept, func() bool { names, _ := c.trace(kept); return len(names) > 0 })
	if names, _ := c.trace(lost); len(names) > 0 {
		t.Errorf("what was refused was sent again: %v", names)
	}
	if c.mu.Lock(); c.key != "secret" {
		t.Errorf("header X-Key: %q", c.key)
	}
	c.mu.Unlock()
}
