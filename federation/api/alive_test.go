package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAlive(t *testing.T) {
	w := httptest.NewRecorder()
	Alive(map[string]string{"version": "v0.4.0"}).ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
	if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != `{"status":"ok","build":{"version":"v0.4.0"}}` {
		t.Errorf("%d %s", w.Code, got)
	}
}
