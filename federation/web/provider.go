package web

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity/oidc"
	v1 "fsub/federation/api/v1"
	. "fsub/federation/web/html"
)

// Where a sign-in by the OpenID provider begins, and where the browser comes back to.
const (
	toProvider   = "/login/provider"
	fromProvider = "/login/callback"
)

// flowLife is how long users may take at the provider.
const flowLife = 10 * time.Minute

// flowCookie is the name of the cookie that has the sign-in which a browser has begun, and nothing else has.
func (g *gate) flowCookie() string { return g.cookieName() + "-signin" }

// flow is a sign-in that has begun, and the page to go to after it.
type flow struct {
	oidc.Flow
	to string
}

func (f *flow) String() string {
	return strings.Join([]string{f.State, f.Nonce, f.Verifier, base64.RawURLEncoding.EncodeToString([]byte(f.to))}, ".")
}

func readFlow(text string) (f flow) {
	part := strings.Split(text, ".")
	if len(part) != 4 || len(text) > 4<<10 {
		return f
	}
	to, _ := base64.RawURLEncoding.DecodeString(part[3])
	return flow{oidc.Flow{State: part[0], Nonce: part[1], Verifier: part[2]}, string(to)}
}

// beginAtProvider sends a browser to the provider.
func (g *gate) beginAtProvider(w http.ResponseWriter, r *http.Request) {
	if g.Provider == nil {
		http.NotFound(w, r)
		return
	}
	address, began, err := g.Provider.BeginAtBrowser(r.Context(), g.Address+fromProvider)
	if err != nil {
		g.loginPage(w, r, http.StatusServiceUnavailable, sentence(err))
		return
	}
	f := flow{began, localAddress(r.FormValue("to"))}
	if len(f.to) > 1<<10 { // browsers keep no cookie of more than 4 KiB
		f.to = "/jobs"
	}
	g.put(w, g.flowCookie(), f.String(), flowLife)
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// endAtProvider signs in a user who comes back from the provider.
func (g *gate) endAtProvider(w http.ResponseWriter, r *http.Request, had cookie) {
	if g.Provider == nil {
		http.NotFound(w, r)
		return
	}
	refuse := func(status int, err error) {
		if g.Refused != nil {
			g.Refused()
		}
		g.loginPage(w, r, status, sentence(err))
	}
	var f flow
	if c, err := r.Cookie(g.flowCookie()); err == nil {
		f = readFlow(c.Value)
	}
	g.put(w, g.flowCookie(), "", -time.Second) // a sign-in is completed once
	free, err := g.strangers.Take(r)
	if err != nil {
		refuse(http.StatusServiceUnavailable, errors.New("too many sign in from this address at the moment; try again"))
		return
	}
	defer free()
	token, u, err := g.Provider.Complete(r.Context(), f.Flow, g.Address+fromProvider, r.URL.Query())
	switch {
	case errors.As(err, new(*oidc.SilentError)):
		refuse(http.StatusServiceUnavailable, err)
		return
	case err != nil:
		refuse(http.StatusForbidden, err)
		return
	}
	uid, err := g.find(r.Context(), u.Name)
	if err != nil {
		refuse(http.StatusForbidden, fmt.Errorf("%s, who is %.64q of the OpenID provider, is not a user of the daemon's machine", u.Name, u.Subject))
		return
	}
	switch err := g.open(w, r, had, uid, v1.NewSession{IDToken: token, Nonce: f.Nonce}); {
	case errors.Is(err, federation.ErrDenied), errors.Is(err, federation.ErrInvalid):
		refuse(http.StatusForbidden, err)
	case err != nil:
		g.fail(w, r, err)
	default:
		http.Redirect(w, r, localAddress(f.to), http.StatusSeeOther)
	}
}

// sentence is an error as the page says it.
func sentence(err error) string {
	text := err.Error()
	var refusal *federation.SlurmError
	if errors.As(err, &refusal) && refusal.Detail != "" {
		text = refusal.Detail
	}
	return written(text)
}

// written is a text as a sentence.
func written(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// byProvider leads to the provider's page; nil where there is none.
func (g *gate) byProvider(to string) Node {
	if g.Provider == nil {
		return nil
	}
	return E("p", E("a", Class("button"), A("id", "provider"), A("href", toProvider+"?"+url.Values{"to": {to}}.Encode()), "Sign in with "+g.ProviderName))
}
