package web

import (
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
)

// samples are what stands for the numbers in the paths of pages.
var samples = map[string][]string{
	"/job/{id}":       {"1", "2", "3", "4", "5", "6", "7", "20", "21", "22", "99"},
	"/operation/{id}": {"1", "2", "9"},
}

// pathsOf are the addresses of all pages in all their forms, as the server's routes have them.
func pathsOf(t *testing.T) (paths []string) {
	for _, pattern := range newServer(Config{}, "").all {
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.TrimSuffix(path, "{$}")
		if method != "GET" || strings.HasPrefix(path, "/assets/") {
			continue
		}
		if !strings.Contains(path, "{") {
			paths = append(paths, path)
			continue
		}
		found := false
		for with, ids := range samples {
			if rest, is := strings.CutPrefix(path, with); is {
				found = true
				for _, id := range ids {
					paths = append(paths, strings.Replace(with, "{id}", id, 1)+rest)
				}
			}
		}
		if !found {
			t.Errorf("no sample for the path %s", path)
		}
	}
	return append(paths, "/jobs?user=", "/jobs?user=bob", "/group?name=sweep", "/group.csv?name=sweep", "/jobs?user=&group=sweep", "/jobs.json?user=", "/jobs.csv?user=&state=ended", "/jobs?state=failed", "/login")
}

// namesCaller is a connection on which each request says who calls, as the kernel does on the socket.
type namesCaller struct{ net.Conn }

func (namesCaller) NamesCaller() {}

// bySocket asks the API what the page has asked, as fed does for the same user on the socket.
func (p *house) bySocket(uid uint32, q *request) (int, string) {
	r := httptest.NewRequest(q.method, q.path, strings.NewReader(string(q.in)))
	r = r.WithContext(identity.ConnContext(r.Context(), namesCaller{}))
	r.Header.Set(identity.HeaderCaller, fmt.Sprintf("%d:%[1]d", uid))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	p.Server.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// An ordinary user's page holds nothing that fed would refuse the same user: each page in each form is made of what the socket answers too, word for word. What only others
// may know is on none. Nothing that a page offers, by a link or a button, is refused.
func TestPagesHoldWhatFedAnswers(t *testing.T) {
	p := furnished(t)
	now := time.Now().UTC()
	p.clock.stopped.Store(&now)
	theirs := map[uint32][]string{ // what a user must not see
		alice: {"secret-of-bob", "secret of bob", "OWNER=bob", "71.25", "told to operators alone"},
		bob:   {"secret of alice", "OWNER=alice", "412.50", "told to operators alone"},
		carol: {"secret-of-bob", "secret of bob", "secret of alice", "told to operators alone"},
	}
	paths := pathsOf(t)
	for uid, secrets := range theirs {
		b := p.signedIn(uid, false)
		for _, path := range paths {
			var status int
			var text string
			for _, q := range p.asked.during(func() { status, text = b.get(path) }) {
				if strings.HasPrefix(q.path, "/fed/v1/web/session/") { // the page's own
					continue
				}
				if status, body := p.bySocket(uid, &q); status != q.status || body != string(q.out) {
					t.Errorf("%s: %s: the page was answered %s %s: %d %.300s; on the socket: %d %.300s", names[uid], path, q.method, q.path, q.status, q.out, status, body)
				}
			}
			for _, secret := range secrets {
				if strings.Contains(text, secret) {
					t.Errorf("%s: %s shows %q", names[uid], path, secret)
				}
			}
			if status == http.StatusOK && strings.Contains(text, "<html") {
				p.offers(b, path, text)
			}
		}
	}
	raised := p.signedIn(olga, true)
	_, operate := raised.get("/operate")
	_, team := raised.get("/team")
	for _, secret := range []string{"secret-of-bob", "told to operators alone", "412.50", "71.25"} { // or the test would find none
		if !strings.Contains(operate+team, secret) {
			t.Errorf("an operator does not see %q", secret)
		}
	}
}

// What pages keep for everybody the API tells everybody in the same words, operators too.
func TestCommonListsAreTheSame(t *testing.T) {
	p := furnished(t)
	now := time.Now().UTC()
	p.clock.stopped.Store(&now)
	for _, path := range []string{v1.Sites.Path, v1.Nodes.Path, v1.Maintenances.Path, v1.Offers.Path + "?limit=20"} {
		var first string
		for _, uid := range []uint32{alice, bob, carol, olga, 0} {
			status, text := p.bySocket(uid, &request{method: "GET", path: path})
			if first == "" {
				first = text
			}
			if status != http.StatusOK || text != first {
				t.Errorf("%s: %s is told %d %.200s, alice %.200s", path, names[uid], status, text, first)
			}
		}
	}
	b, asked := p.signedIn(alice, false), 0
	for range 3 {
		for _, q := range p.asked.during(func() { b.get("/now"); b.get("/operate") }) {
			if strings.HasPrefix(q.path, v1.Nodes.Path) {
				asked++
			}
		}
	}
	if asked != 1 {
		t.Errorf("nodes were asked for %d times by six pages at one moment", asked)
	}
}

var (
	linkForm   = regexp.MustCompile(`href="(/[^"]*)"`)
	formForm   = regexp.MustCompile(`(?s)<form[^>]* action="([^"]*/act)".*?</form>`)
	jobForm    = regexp.MustCompile(`name="job" value="(\d+)"`)
	wholeForm  = regexp.MustCompile(`name="whole"`)
	buttonForm = regexp.MustCompile(`name="verb" value="(\w+)"`)
)

// textOf is what a page says.
func textOf(page string) string {
	_, main, _ := strings.Cut(page, "<main")
	return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(html.UnescapeString("<main"+main), " ")), " ")
}

// offers follows the links of a page, and asks for a preview of each of its buttons.
func (p *house) offers(b *browser, path, text string) {
	p.t.Helper()
	for _, m := range linkForm.FindAllStringSubmatch(text, -1) {
		to := html.UnescapeString(m[1])
		if strings.HasPrefix(to, "/assets/") {
			continue
		}
		if status, said := b.get(to); status >= 400 {
			p.t.Errorf("%s has a link to %s: %d %.200s", path, to, status, said)
		}
	}
	for _, form := range formForm.FindAllString(text, -1) {
		jobs := jobForm.FindAllStringSubmatch(form, -1)
		for _, verb := range buttonForm.FindAllStringSubmatch(form, -1) {
			may, last := false, ""
			for _, job := range jobs {
				form := url.Values{"verb": {verb[1]}, "job": {job[1]}, "whole": wholeForm.FindStringSubmatch(form)}
				status, said := b.post("/act", form)
				if strings.Contains(said, "only ") && strings.Contains(said, "may "+verb[1]) || status >= 400 {
					p.t.Errorf("%s offers to %s job %s: %d %s", path, verb[1], job[1], status, said)
				}
				last = said
				may = may || strings.Contains(said, `name="confirmed"`)
			}
			if !may && len(jobs) == 1 {
				p.t.Errorf("%s offers to %s job %s, which cannot be done: %s", path, verb[1], jobs[0][1], textOf(last))
			}
		}
		if len(jobs) == 0 && !slices.Contains([]string{"/login"}, path) {
			p.t.Errorf("%s has a form for no job", path)
		}
	}
}
