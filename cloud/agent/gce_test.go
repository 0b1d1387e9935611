package agent

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/cloud/agentapi"
)

// serveGCE is a metadata server with these values, which the test may change under the lock.
func serveGCE(t *testing.T, mu *sync.Mutex, values map[string]string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		v, ok := values[strings.TrimPrefix(r.URL.Path, "/computeMetadata/v1/")]
		if !ok || r.Header.Get("Metadata-Flavor") != "Google" {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte(v))
	}))
	t.Cleanup(s.Close)
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(s.URL, "http://"))
}

func TestGCE(t *testing.T) {
	var mu sync.Mutex
	values := map[string]string{"instance/zone": "projects/12/zones/us-central1-a", "instance/name": "fsub-abc-0", "instance/network-interfaces/0/ip": "10.0.0.7", "instance/preempted": "FALSE"}
	serveGCE(t, &mu, values)
	ctx := t.Context()
	if id, err := newGCE().instance(ctx); id != "us-central1-a/fsub-abc-0" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	if ip := Addr(ctx, agentapi.Boot{Metadata: "gce"}); ip != "10.0.0.7" {
		t.Errorf("address %q", ip)
	}
	look, _ := noticeOf("gce")
	if n, err := look(ctx); n != nil || err != nil {
		t.Errorf("without a notice: %v, %v", n, err)
	}
	set := func(key, value string) {
		mu.Lock()
		values[key] = value
		mu.Unlock()
	}
	set("instance/maintenance-event", "NONE")
	if n, err := look(ctx); n != nil || err != nil {
		t.Errorf("no maintenance: %v, %v", n, err)
	}
	set("instance/maintenance-event", "TERMINATE_ON_HOST_MAINTENANCE")
	if n, err := look(ctx); n == nil || n.Kind != agentapi.NoticeRebalance || err != nil {
		t.Errorf("maintenance: %v, %v", n, err)
	}
	set("instance/preempted", "TRUE")
	if n, err := look(ctx); n == nil || n.Kind != agentapi.NoticePreempt || time.Until(n.At) > 31*time.Second || err != nil {
		t.Errorf("preempted: %v, %v", n, err)
	}
	set("instance/attributes/agent-worker-number", "3")
	set("instance/attributes/tpu-env", "ACCELERATOR_TYPE: 'v5litepod-16'\nNODE_ID: 'fsub-abc-1'\nWORKER_ID: '3'\n")
	if id, err := newGCE().instance(ctx); id != "us-central1-a/fsub-abc-1/3" || err != nil {
		t.Errorf("a TPU's host: %q, %v", id, err)
	}
}
