package chromium

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A page is shown, scripts run and its user types and clicks; what it complains of is told.
func TestPage(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "script-src 'self'")
		_, _ = w.Write([]byte(`<!doctype html><title>x</title><link rel=icon href=data:,><script>document.title = "inline"</script><script src=/a.js></script><form action=/sent><input name=a autofocus><button>go</button></form>`))
	})
	mux.HandleFunc("/a.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write([]byte(`document.documentElement.dataset.ran = "yes"; console.error("oh dear"); setTimeout(() => { throw new Error("thrown") })`))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	p := Start(t).Open()
	p.Go(srv.URL)
	var title, ran string
	p.Eval("document.title", &title)
	p.Eval("document.documentElement.dataset.ran", &ran)
	if title != "x" || ran != "yes" {
		t.Errorf("title %q, the script ran: %q", title, ran)
	}
	p.Await("true")
	faults := strings.Join(p.Faults(), "\n")
	for _, want := range []string{"oh dear", "Error: thrown", "violates the following Content Security Policy directive", "ContentSecurityPolicyIssue"} {
		if !strings.Contains(faults, want) {
			t.Errorf("the faults lack %q: %s", want, faults)
		}
	}
	p.Press("Tab")
	p.Type("a b")
	p.Press("Enter")
	p.Await(`location.pathname === "/sent"`)
	if at := p.At(); !strings.HasSuffix(at, "/sent?a=a+b") {
		t.Errorf("at %s", at)
	}
	p.Scripts(false)
	p.Go(srv.URL)
	p.Eval("document.documentElement.dataset.ran || ''", &ran)
	if ran != "" {
		t.Error("scripts run though they are off")
	}
}
