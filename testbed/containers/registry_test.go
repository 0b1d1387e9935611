package containers

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// registry is a small registry of images (the distribution specification's, to read from): it has lab/tiny:1, for who knows user and password.
type registry struct {
	addr           string // host and port, without TLS
	user, password string
	fetched        atomic.Int32 // how often the layer was
	// asked is closed when the layer is asked for, and the layer comes when hold is closed. Both are nil for a registry that answers at once.
	asked, hold chan struct{}

	blobs    map[string][]byte
	manifest []byte
	once     sync.Once
}

const manifestType = "application/vnd.docker.distribution.manifest.v2+json"

// newRegistry serves the image of a folder until the test ends. Its working folder is /work, which is not in the folder. A slow one keeps the layer back.
func newRegistry(t *testing.T, root string, slow bool) *registry {
	t.Helper()
	if err := os.WriteFile(root+"/tmp/of", []byte(t.Name()), 0o644); err != nil { // a layer that nobody has yet
		t.Fatal(err)
	}
	layer, err := exec.Command("tar", "-C", root, "-c", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{"architecture": "amd64", "os": "linux", "rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest(layer)}},
		"config": map[string]any{"Env": []string{"COLOR=registry", "PATH=/bin"}, "WorkingDir": "/work"}})
	if err != nil {
		t.Fatal(err)
	}
	blob := func(kind string, b []byte) map[string]any {
		return map[string]any{"mediaType": kind, "size": len(b), "digest": digest(b)}
	}
	r := &registry{user: "alice", password: "wordOfAlice", blobs: map[string][]byte{digest(layer): layer, digest(config): config}}
	r.manifest, err = json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": manifestType, "config": blob("application/vnd.docker.container.image.v1+json", config),
		"layers": []any{blob("application/vnd.docker.image.rootfs.diff.tar", layer)}})
	if err != nil {
		t.Fatal(err)
	}
	if slow {
		r.asked, r.hold = make(chan struct{}), make(chan struct{})
	}
	s := httptest.NewServer(r.handler(digest(layer)))
	t.Cleanup(s.Close)
	r.addr = strings.TrimPrefix(s.URL, "http://")
	return r
}

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

func (r *registry) handler(layer string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v2/lab/{image}/manifests/{tag}", func(w http.ResponseWriter, q *http.Request) {
		if tag := q.PathValue("tag"); q.PathValue("image") != "tiny" || tag != "1" && tag != digest(r.manifest) {
			refuse(w, http.StatusNotFound, "MANIFEST_UNKNOWN", "manifest unknown")
			return
		}
		w.Header().Set("Content-Type", manifestType)
		w.Header().Set("Docker-Content-Digest", digest(r.manifest))
		http.ServeContent(w, q, "", time.Time{}, bytes.NewReader(r.manifest))
	})
	mux.HandleFunc("GET /v2/lab/tiny/blobs/{digest}", func(w http.ResponseWriter, q *http.Request) {
		name := q.PathValue("digest")
		if name == layer && q.Method == http.MethodGet {
			r.fetched.Add(1)
			if r.hold != nil {
				r.once.Do(func() { close(r.asked) })
				select {
				case <-r.hold:
				case <-q.Context().Done():
				}
			}
		}
		http.ServeContent(w, q, "", time.Time{}, bytes.NewReader(r.blobs[name]))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if user, word, _ := q.BasicAuth(); user != r.user || word != r.password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
			return
		}
		mux.ServeHTTP(w, q)
	})
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"errors": [{"code": %q, "message": %q}]}`, code, message)
}
