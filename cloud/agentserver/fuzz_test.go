package agentserver

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fsub/cloud/agentapi"
)

// FuzzDoor has a machine that is let in, and one that has nothing, ask for anything at all: no answer is a failure of the daemon, nothing is
// passed on without a session, and what is passed on to the API is in the name of the owner of the machine's own run.
func FuzzDoor(f *testing.F) {
	w := newWorld(f)
	tokens := []string{"", w.session("aws:1"), w.oneTime("aws", "gang1", w.now.Add(time.Hour)), "fs1.x.y"}
	for _, route := range machineRoutes {
		f.Add(route.method, route.path, uint8(1), []byte(`{"version":7,"runs":[{"run":"run-1","state":"running"}]}`))
	}
	f.Add("POST", agentapi.PathHello, uint8(2), []byte(`{"instance":"i-1","addr":"10.0.0.1","cpus":4}`))
	f.Add("GET", agentapi.PathBinary+"../../etc/passwd", uint8(0), []byte(nil))
	f.Add("POST", agentapi.PathLog+"run-2/out?offset=-1", uint8(1), []byte("text"))
	f.Add("DELETE", agentapi.PathJob+"run-2/..%2frun-1/fed/v1/jobs", uint8(1), []byte(nil))
	f.Fuzz(func(t *testing.T, method, path string, token uint8, body []byte) {
		r, err := http.NewRequest(method, "http://door/"+strings.TrimLeft(path, "/"), bytes.NewReader(body))
		if err != nil {
			return // no client of HTTP sends it
		}
		r.RequestURI = r.URL.RequestURI()
		kind := int(token) % len(tokens)
		r.Header.Set("Authorization", "Bearer "+tokens[kind])
		w.seen, w.site.report = nil, agentapi.Report{}
		w.site.log.Reset()
		polls := w.site.polls
		answer := httptest.NewRecorder()
		w.ServeHTTP(answer, r)
		if answer.Code >= 500 {
			t.Errorf("%s %s: %d %s", method, path, answer.Code, answer.Body)
		}
		if kind != 1 && (w.seen != nil || w.site.polls > polls || w.site.log.Len() > 0) {
			t.Errorf("%s %s went through with token %d", method, path, kind)
		}
		if in := w.seen; in != nil {
			if user := in.Header.Get("X-Slurm-User-Token"); user != "user-of-run-1"+commandLife.String() || in.Header.Get("Authorization") != "" || in.TLS == nil {
				t.Errorf("%s %s is passed on as %q: %v", method, path, user, in.Header)
			}
		}
	})
}
