package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fsub/federation/api/identity"
)

// Whom the proxy's header names sees the page as an ordinary user, with each request anew; a header that is not one name is refused with its sentence.
func TestByProxy(t *testing.T) {
	p := start(t)
	uid := func(name string) (uint32, error) { u, _, err := p.people.UserIDs(name); return u, err }
	h := ByProxy(Config{API: p.Server, Federation: "fed", Now: p.clock.now, UID: uid}, "X-User")
	ask := func(method, path, body string, head http.Header) (int, string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		for name, values := range head {
			r.Header[name] = values
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	if status, text := ask("GET", "/jobs", "", http.Header{"X-User": {"alice"}}); status != 200 || !strings.Contains(text, "train") || strings.Contains(text, "Sign out") {
		t.Errorf("alice: %d %s", status, textOf(text))
	}
	if status, text := ask("GET", "/job/1", "", http.Header{"X-User": {"olga"}}); status == 200 && strings.Contains(text, `value="cancel"`) {
		t.Errorf("an operator's buttons by a header: %s", textOf(text))
	}
	for name, c := range map[string]struct {
		head http.Header
		says string
	}{
		"none":          {nil, "does not say who asks: it has to send the header X-User"},
		"another":       {http.Header{"Remote-User": {"alice"}}, "does not say who asks"},
		"empty":         {http.Header{"X-User": {""}}, "does not say who asks"},
		"two":           {http.Header{"X-User": {"alice", "bob"}}, "more than once"},
		"a list":        {http.Header{"X-User": {"alice, bob"}}, "has no name of a user"},
		"a uid":         {http.Header{"X-User": {"1001"}}, "has no name of a user"},
		"nobody":        {http.Header{"X-User": {"eve"}}, "eve is not a user of the daemon's machine"},
		"root":          {http.Header{"X-User": {"root"}}, "root would be root"},
		"with a ticket": {http.Header{"Cookie": {"fsub=1001.x"}}, "does not say who asks"},
	} {
		if status, text := ask("GET", "/jobs", "", c.head); status != http.StatusForbidden || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d %s, want %q", name, status, text, c.says)
		}
	}
	form := http.Header{"X-User": {"alice"}, "Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Site": {"cross-site"}}
	if status, _ := ask("POST", "/act", "verb=cancel&job=1&confirmed=yes", form); status != http.StatusForbidden {
		t.Errorf("a form of another origin: %d", status)
	}
}

// A header that names a user counts neither over TCP nor on the socket: there whoever has signed in, or the kernel, says who asks.
func TestHeaderElsewhere(t *testing.T) {
	p := start(t)
	r := get(p.url + "/jobs")
	r.Header.Set("Remote-User", "alice")
	if status, _, _ := p.browser().ask(r); status != http.StatusSeeOther {
		t.Errorf("over TCP, without a session: %d", status)
	}
	b := p.signedIn(bob, false)
	r = get(p.url + "/jobs.json")
	r.Header.Set("Remote-User", "alice")
	if status, text, _ := b.ask(r); status != 200 || strings.Contains(text, `"train"`) || !strings.Contains(text, `"other"`) {
		t.Errorf("over TCP, as bob: %d %s", status, text)
	}
	on := OnSocket(Config{API: p.Server, Federation: "fed", Now: p.clock.now})
	in := httptest.NewRequest("GET", "/web/jobs.json", nil)
	in.Header.Set("Remote-User", "alice")
	w := httptest.NewRecorder()
	on.ServeHTTP(w, in)
	if w.Code != http.StatusForbidden {
		t.Errorf("on the socket, without the kernel's word: %d", w.Code)
	}
	w = httptest.NewRecorder()
	on.ServeHTTP(w, in.WithContext(identity.ByBrowser(in.Context(), bob, false)))
	if w.Code != 200 || strings.Contains(w.Body.String(), `"train"`) {
		t.Errorf("on the socket, as bob: %d %s", w.Code, w.Body)
	}
}
