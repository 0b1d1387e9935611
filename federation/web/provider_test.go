package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fsub/federation/api"
	"fsub/federation/api/identity/oidc"
	"fsub/federation/audit"
	"fsub/testbed/chromium"
	"fsub/testbed/openid"
)

// withProvider is a daemon whose page signs users in by an OpenID provider too.
func withProvider(t *testing.T) (*house, *openid.Provider) {
	t.Helper()
	idp := openid.Start(t)
	v, err := oidc.New(oidc.Config{Issuer: idp.Issuer, ClientID: "fsub"})
	if err != nil {
		t.Fatal(err)
	}
	p := &house{t: t, clock: new(clock), people: new(people), provider: v}
	return p.serve(api.Config{Provider: v}), idp
}

// follow goes where a browser is sent, until it is shown something.
func (b *browser) follow(path string) (status int, text, at string) {
	b.p.t.Helper()
	at = b.p.url + path
	for range 10 {
		r, _ := http.NewRequest("GET", at, nil)
		status, text, head := b.ask(r)
		to := head.Get("Location")
		if to == "" {
			return status, text, at
		}
		next, err := r.URL.Parse(to)
		if err != nil {
			b.p.t.Fatal(err)
		}
		at = next.String()
	}
	b.p.t.Fatal("the browser is sent in a circle")
	return
}

// Whom the provider names is signed in, as an ordinary user whatever the claims say, and comes to the page asked for. The sign-in is completed once.
func TestSignInByProvider(t *testing.T) {
	p, idp := withProvider(t)
	if _, text := p.browser().get("/login?to=/job/1"); !strings.Contains(text, `href="/login/provider?to=%2Fjob%2F1"`) || !strings.Contains(text, "Sign in with Campus") {
		t.Errorf("the page offers no provider: %s", text)
	}
	idp.Browsers.User, idp.Browsers.Change = "olga", map[string]any{"roles": []string{"operator"}, "groups": "wheel"}
	b := p.browser()
	if status, text, at := b.follow("/login/provider?to=/job/3"); status != 200 || at != p.url+"/job/3" || strings.Contains(text, "operator until") || strings.Contains(text, `value="cancel"`) || !strings.Contains(text, ">olga<") {
		t.Errorf("%d at %s: %s", status, at, textOf(text))
	}
	entries, err := p.Store.Audit(t.Context(), audit.Query{Kind: audit.User})
	if err != nil || len(entries) != 1 || entries[0].Verb != "sign-in" || entries[0].Who.User != "olga" || entries[0].After != `by the OpenID provider, as "4711"` {
		t.Errorf("%v: %+v", err, entries)
	}
	for _, c := range b.Jar.Cookies(&url.URL{Scheme: "http", Host: strings.TrimPrefix(p.url, "http://")}) {
		if strings.HasSuffix(c.Name, "-signin") {
			t.Errorf("the sign-in is still with the browser: %s", c)
		}
	}
}

// Each thing that is wrong with a sign-in is said in a sentence, and opens no session.
func TestSignInByProviderRefused(t *testing.T) {
	other := openid.Start(t)
	for name, c := range map[string]struct {
		change func(*openid.Provider)
		says   string
	}{
		"another nonce":    {func(i *openid.Provider) { i.Browsers.Change = map[string]any{"nonce": "other"} }, "The ID token is that of another sign-in: its nonce differs."},
		"no nonce":         {func(i *openid.Provider) { i.Browsers.Change = map[string]any{"nonce": nil} }, "The ID token is that of another sign-in: its nonce differs."},
		"another state":    {func(i *openid.Provider) { i.Browsers.State = "other" }, "This sign-in was not begun at this browser, or too long ago; begin again."},
		"another audience": {func(i *openid.Provider) { i.Browsers.Change = map[string]any{"aud": "wiki"} }, "The ID token is for another client than fsub."},
		"another issuer":   {func(i *openid.Provider) { i.Browsers.Change = map[string]any{"iss": other.Issuer} }, "The ID token is of another provider than "},
		"expired": {func(i *openid.Provider) {
			i.Browsers.Change = map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}
		}, "The ID token has expired at "},
		"unknown user": {func(i *openid.Provider) { i.Browsers.User = "eve" }, "is not a user of the daemon&#39;s machine."},
		"uid 0":        {func(i *openid.Provider) { i.Browsers.User = "root" }, "would be root on the daemon&#39;s machine."},
		"refused":      {func(i *openid.Provider) { i.Browsers.Says = "access_denied" }, "The sign-in was refused at the provider&#39;s page."},
		"an error":     {func(i *openid.Provider) { i.Browsers.Says = "<script>" }, "refuses the sign-in: &#34;&lt;script&gt;&#34;."},
	} {
		p, idp := withProvider(t)
		c.change(idp)
		b := p.browser()
		status, text, at := b.follow("/login/provider?to=/jobs")
		if status != http.StatusForbidden || !strings.HasPrefix(at, p.url+"/login/callback?") || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d at %s: %s, want %q", name, status, at, textOf(text), c.says)
		}
		if status, _ := b.get("/jobs"); status != http.StatusSeeOther {
			t.Errorf("%s: signed in: %d", name, status)
		}
		if all, err := p.Store.Records(t.Context(), "web-session", ""); err != nil || len(all) != 0 {
			t.Errorf("%s: sessions were opened: %v, %v", name, all, err)
		}
		if p.refused.Load() != 1 {
			t.Errorf("%s: %d refusals are counted", name, p.refused.Load())
		}
	}
}

// A code of one browser is of no use at another, and an address with somebody else's code signs nobody in. A provider that is away is named.
func TestSomebodyElsesCode(t *testing.T) {
	p, idp := withProvider(t)
	mallory, victim := p.browser(), p.browser()
	_, _, head := mallory.ask(get(p.url + "/login/provider"))
	_, _, head = mallory.ask(get(head.Get("Location")))
	stolen := head.Get("Location") // with the code and the state of mallory's sign-in
	for _, begun := range []bool{false, true} {
		if begun {
			victim.get("/login/provider")
		}
		if status, text, _ := victim.ask(get(stolen)); status != http.StatusForbidden || !strings.Contains(text, "was not begun at this browser") {
			t.Errorf("with somebody else's code, begun %v: %d %s", begun, status, textOf(text))
		}
	}
	if status, _, _ := mallory.ask(get(stolen)); status != http.StatusSeeOther {
		t.Errorf("at the browser that has begun: %d", status)
	}
	if status, text, _ := mallory.ask(get(stolen)); status != http.StatusForbidden || !strings.Contains(text, "was not begun at this browser") {
		t.Errorf("a second time: %d %s", status, textOf(text))
	}
	idp.Down.Store(true)
	away := p.browser()
	_, _, head = away.ask(get(p.url + "/login/provider"))
	back := p.url + "/login/callback?" + url.Values{"code": {"x"}, "state": {stateOf(t, head.Get("Location"))}}.Encode()
	if status, text, _ := away.ask(get(back)); status != http.StatusServiceUnavailable || !strings.Contains(text, "does not answer") {
		t.Errorf("a provider that is away: %d %s", status, textOf(text))
	}
	none := start(t)
	for _, path := range []string{"/login/provider", "/login/callback?code=x&state=y"} {
		if status, _ := none.browser().get(path); status != http.StatusNotFound {
			t.Errorf("%s without a provider: %d", path, status)
		}
	}
}

func get(at string) *http.Request {
	r, _ := http.NewRequest("GET", at, nil)
	return r
}

func stateOf(t *testing.T, at string) string {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("state")
}

// In a browser, from the sign-in page to one's jobs: the page's policy lets it go there and come back.
func TestProviderInABrowser(t *testing.T) {
	b := chromium.Start(t)
	p, _ := withProvider(t)
	page := b.Open()
	page.Go(p.url + "/jobs")
	page.Click("#provider")
	page.Await(`location.pathname === "/jobs" && document.querySelector(".user").textContent === "alice"`)
	spotless(t, "signing in by the provider", page)
}
