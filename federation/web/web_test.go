package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/identity/oidc"
	"fsub/federation/api/signin"
	"fsub/federation/audit"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

const (
	alice = 1001
	bob   = 1002
	olga  = 1003
	carol = 1004
)

// people are the users of the tests; olga is an operator.
type people struct{ gone atomic.Bool }

var names = map[uint32]string{alice: "alice", bob: "bob", olga: "olga", carol: "carol", 0: "root"}

func (p *people) UserName(uid uint32) (string, error) {
	if n, ok := names[uid]; ok && !(uid == alice && p.gone.Load()) {
		return n, nil
	}
	return "", fmt.Errorf("no uid %d", uid)
}

func (p *people) UserIDs(name string) (uint32, uint32, error) {
	for uid, n := range names {
		if n == name && !(uid == alice && p.gone.Load()) {
			return uid, uid, nil
		}
	}
	return 0, 0, fmt.Errorf("no user %s", name)
}

func (p *people) GroupName(gid uint32) (string, error) { return fmt.Sprint(gid), nil }

// clock is the time of a test.
type clock struct {
	ahead   atomic.Int64
	stopped atomic.Pointer[time.Time]
}

func (c *clock) now() time.Time {
	at := time.Now()
	if s := c.stopped.Load(); s != nil {
		at = *s
	}
	return at.Add(time.Duration(c.ahead.Load()))
}
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// place is a daemon with its page.
type house struct {
	*apitest.Daemon
	t        *testing.T
	url      string
	book     *signin.Book
	clock    *clock
	people   *people
	asked    watched
	failures int
	refused  atomic.Int32
	provider *oidc.Verifier // nil: there is none
}

func start(t *testing.T) *house {
	p := &house{t: t, clock: new(clock), people: new(people)}
	return p.serve(api.Config{})
}

// serve starts the daemon with what c has beside what all tests need.
func (p *house) serve(c api.Config) *house {
	t := p.t
	c.Users, c.Operators, c.WebAddress, c.Now = p.people, []string{"olga"}, "https://fed.example", p.clock.now
	p.Daemon = apitest.Start(t, c)
	p.asked.next = p.Server
	uid := func(name string) (uint32, error) { u, _, err := p.people.UserIDs(name); return u, err }
	s := httptest.NewUnstartedServer(nil)
	p.url = "http://" + s.Listener.Addr().String()
	s.Config.Handler = ForBrowsers(Config{API: &p.asked, Federation: "fed", Version: "v1", Address: p.url, Now: p.clock.now, UID: uid, Refused: func() { p.refused.Add(1) },
		Provider: p.provider, ProviderName: "Campus"})
	s.Start()
	t.Cleanup(s.Close)
	p.url, p.book = s.URL, signin.New(p.Store, p.clock.now)
	p.Put(t, jobOf(1, alice, "train", federation.Running), jobOf(2, alice, "sweep", federation.Pending), jobOf(3, bob, "other", federation.Pending), jobOf(4, alice, "done", federation.Completed))
	return p
}

func jobOf(id federation.JobID, uid uint32, name string, state federation.State) federation.Job {
	return federation.Job{ID: id, User: names[uid], UID: uid, GID: uid, State: state, Submit: time.Now().Add(-time.Minute), Spec: &sbatch.Spec{Name: name, WorkDir: "/home", Partition: "main"}}
}

func (p *house) ticket(uid uint32, raise bool) string {
	p.t.Helper()
	secret, _, err := p.book.Ticket(context.Background(), names[uid], uid, raise, audit.Entry{})
	if err != nil {
		p.t.Fatal(err)
	}
	return secret
}

// browser keeps cookies, and follows no redirect.
type browser struct {
	p *house
	http.Client
}

func (p *house) browser() *browser {
	jar, _ := cookiejar.New(nil)
	return &browser{p, http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// signedIn is a browser of a user.
func (p *house) signedIn(uid uint32, raise bool) *browser {
	p.t.Helper()
	b := p.browser()
	if status, text := b.post("/login", url.Values{"ticket": {p.ticket(uid, raise)}}); status != http.StatusSeeOther {
		p.t.Fatalf("sign in: %d %s", status, text)
	}
	return b
}

func (b *browser) ask(r *http.Request) (int, string, http.Header) {
	b.p.t.Helper()
	resp, err := b.Do(r)
	if err != nil {
		b.p.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.p.t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header
}

func (b *browser) get(path string) (int, string) {
	r, _ := http.NewRequest("GET", b.p.url+path, nil)
	status, text, _ := b.ask(r)
	return status, text
}

func (b *browser) post(path string, form url.Values) (int, string) {
	r, _ := http.NewRequest("POST", b.p.url+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, text, _ := b.ask(r)
	return status, text
}

// A ticket opens one session, within a minute, at any daemon of the store; whatever else is tried is refused.
func TestTickets(t *testing.T) {
	p := start(t)
	used := p.ticket(alice, false)
	if status, _ := p.browser().post("/login", url.Values{"ticket": {used}}); status != http.StatusSeeOther {
		t.Fatalf("a good ticket: %d", status)
	}
	late := p.ticket(alice, false)
	p.clock.advance(signin.TicketLife)
	good := p.ticket(alice, false)
	for name, ticket := range map[string]string{
		"used": used, "late": late, "of another user": "bob" + strings.TrimPrefix(good, "alice"), "guessed": "alice." + signin.Secret(), "of nobody": "mallory.x", "no ticket": "x", "empty": "",
	} {
		if status, text := p.browser().post("/login", url.Values{"ticket": {ticket}}); status != http.StatusForbidden || !strings.Contains(text, "fed web") {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if status, _ := p.browser().post("/login", url.Values{"ticket": {"https://fed.example/login#" + good}, "to": {"/job/1"}}); status != http.StatusSeeOther {
		t.Errorf("the whole address, pasted: %d", status)
	}
	all, err := p.Store.Audit(t.Context(), audit.Query{})
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(e audit.Entry) bool { return e.Verb != "sign-in" })
	refused := 0
	for _, e := range all {
		if e.Who.From != "web" {
			t.Errorf("from %q", e.Who.From)
		}
		if e.Result != "" {
			refused++
		}
	}
	if refused != 1 || len(all) != 3 {
		t.Errorf("%d entries, %d of them refusals: want 3 with 1, since they are told once in ten seconds", len(all), refused)
	}
}

// Guesses are refused and counted without a look at the store, and keep nobody out who comes from the same address.
func TestGuesses(t *testing.T) {
	p := start(t)
	good := p.ticket(alice, false)
	secret, seal := good[:len("alice.")+43], good[len("alice.")+43:]
	later := fmt.Sprintf("%08x", p.clock.now().Add(time.Hour).Unix())
	p.signedIn(bob, false) // the API knows the key
	p.Store.SetFail(errors.New("the store was asked"))
	n := 0
	for range 100 {
		for _, guess := range []string{"alice." + signin.Secret() + seal, secret + later + seal[8:], "bob." + good[len("alice."):], secret + seal[:8] + strings.Repeat("A", 22)} {
			n++
			if status, text := p.browser().post("/login", url.Values{"ticket": {guess}}); status != http.StatusForbidden {
				t.Fatalf("%s: %d %s", guess, status, textOf(text))
			}
		}
	}
	p.Store.SetFail(nil)
	if got := p.refused.Load(); int(got) != n {
		t.Errorf("%d refused tickets are counted, want %d", got, n)
	}
	if status, _ := p.browser().post("/login", url.Values{"ticket": {good}}); status != http.StatusSeeOther {
		t.Errorf("after %d guesses from here a good ticket: %d", n, status)
	}
}

// Opening an address with a ticket in it signs nobody in; the page says who has a session already.
func TestLoginNeedsAClick(t *testing.T) {
	p := start(t)
	b := p.signedIn(alice, false)
	if status, text := b.get("/login"); status != 200 || !strings.Contains(text, "<strong>alice</strong> is signed in at this browser") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := p.browser().get("/login?ticket=" + p.ticket(bob, false)); status != 200 || strings.Contains(text, "bob.") {
		t.Errorf("%d %s", status, text)
	}
}

// Sessions end when they are not used, after a day, by logout, and with their user; what is stored opens none.
func TestSessions(t *testing.T) {
	p := start(t)
	works := func(b *browser) bool { status, _ := b.get("/jobs"); return status == 200 }
	idle := p.signedIn(alice, false)
	p.clock.advance(signin.IdleLife + signin.UsedWithin + time.Second)
	if works(idle) {
		t.Error("a session that was not used for 8 hours works")
	}
	used := p.signedIn(alice, false)
	for range 3 {
		p.clock.advance(7 * time.Hour)
		if !works(used) {
			t.Fatal("a session that is used has ended")
		}
	}
	p.clock.advance(3 * time.Hour)
	if works(used) {
		t.Error("a session of more than a day works")
	}

	one, stolen := p.signedIn(alice, false), p.browser()
	at, _ := url.Parse(p.url)
	stolen.Jar.SetCookies(at, one.Jar.Cookies(at))
	if !works(stolen) {
		t.Fatal("the copy of a cookie does not work")
	}
	if status, _ := one.post("/logout", url.Values{"all": {"1"}}); status != http.StatusSeeOther || works(stolen) {
		t.Errorf("logout: %d; the stolen cookie works still: %v", status, works(stolen))
	}

	kept := p.signedIn(alice, false)
	records, err := p.Store.Records(t.Context(), "web-session", "alice")
	if err != nil || len(records) == 0 {
		t.Fatal(records, err)
	}
	secret := kept.Jar.Cookies(at)[0].Value
	for _, r := range records {
		if strings.Contains(string(r.Value), strings.SplitN(secret, ".", 2)[1]) {
			t.Error("the store has the secret of a session")
		}
		forged := p.browser()
		forged.Jar.SetCookies(at, []*http.Cookie{{Name: "fsub", Value: fmt.Sprintf("%d.%s", alice, r.Name)}})
		if works(forged) {
			t.Error("what is stored opens a session")
		}
	}
	for range signin.MostSessions {
		p.signedIn(alice, false)
	}
	if records, _ = p.Store.Records(t.Context(), "web-session", "alice"); len(records) > signin.MostSessions || works(kept) {
		t.Errorf("%d sessions; the oldest works: %v", len(records), works(kept))
	}
	last := p.signedIn(alice, false)
	p.people.gone.Store(true)
	p.clock.advance(2 * time.Minute) // names are remembered for one
	if works(last) {
		t.Error("a session works though its user is gone")
	}
}

// Every answer has the headers; nothing is done for a form of another origin, or by a GET; a name of others that leads here is not answered.
func TestHeadersAndOrigins(t *testing.T) {
	p := start(t)
	b := p.signedIn(alice, false)
	for _, path := range []string{"/jobs", "/job/1", "/job/9", "/now", "/team", "/operate", "/login", "/nothing", "/jobs.json", "/jobs.csv", "/jobs.live", assetPath("app.js")} {
		r, _ := http.NewRequest("GET", p.url+path, nil)
		_, _, head := b.ask(r)
		for name, want := range map[string]string{"Content-Security-Policy": csp, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
			if head.Get(name) != want {
				t.Errorf("%s: %s: %q", path, name, head.Get(name))
			}
		}
	}
	for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example", "Sec-Fetch-Site ": "same-site"} {
		r, _ := http.NewRequest("POST", p.url+"/act", strings.NewReader("verb=cancel&job=1&confirmed=yes"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set(strings.TrimSpace(name), value)
		if status, _, _ := b.ask(r); status != http.StatusForbidden {
			t.Errorf("a form with %s: %s: %d", name, value, status)
		}
	}
	for _, path := range []string{"/act?verb=cancel&job=1&confirmed=yes", "/logout"} {
		if status, _ := b.get(path); status == 200 || status == http.StatusSeeOther && path == "/logout" {
			t.Errorf("GET %s: %d", path, status)
		}
	}
	if j, _ := p.Store.Job(t.Context(), 1); j.Cancel {
		t.Error("the job was cancelled")
	}
	r, _ := http.NewRequest("GET", p.url+"/jobs", nil)
	r.Host = "evil.example"
	if status, _, _ := b.ask(r); status != http.StatusMisdirectedRequest {
		t.Errorf("a name of others: %d", status)
	}
}

// The cookie has its prefix and is Secure where there is TLS; on this machine alone it cannot be, and is not called so.
func TestCookie(t *testing.T) {
	p := start(t)
	for secure, want := range map[bool]string{true: "__Host-fsub=", false: "fsub="} {
		uid := func(string) (uint32, error) { return alice, nil }
		h := ForBrowsers(Config{API: p.Server, Secure: secure, Now: p.clock.now, UID: uid})
		r := httptest.NewRequest("POST", "http://127.0.0.1/login", strings.NewReader(url.Values{"ticket": {p.ticket(alice, false)}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got := w.Header().Get("Set-Cookie")
		if !strings.HasPrefix(got, want) || strings.Contains(got, "; Secure") != secure || !strings.Contains(got, "; HttpOnly; ") && !strings.Contains(got, "; HttpOnly") || !strings.Contains(got, "SameSite=Lax") || !strings.Contains(got, "Path=/") || strings.Contains(got, "Domain") {
			t.Errorf("secure %v: %q", secure, got)
		}
	}
}

// The way back after signing in stays on this page.
func TestLocalAddress(t *testing.T) {
	for to, want := range map[string]string{"/job/1?x=y": "/job/1?x=y", "": "/jobs", "https://evil.example/": "/jobs", "//evil.example": "/jobs", `/\evil.example`: "/jobs", "javascript:x": "/jobs", "/login": "/jobs", "job": "/jobs"} {
		if got := localAddress(to); got != want {
			t.Errorf("%q: %q", to, got)
		}
	}
}
