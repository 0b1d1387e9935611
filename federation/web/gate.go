package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/client"
	"fsub/federation/api/identity"
	"fsub/federation/api/signin"
	v1 "fsub/federation/api/v1"
)

// gate lets browsers with a session through to the pages, and the others sign in.
type gate struct {
	*server
	lookups   chan struct{}
	strangers answer.Strangers // who come back from the provider, or say so
}

func (g *gate) serve(w http.ResponseWriter, r *http.Request) {
	if !g.Secure && !onThisMachine(r.Host) { // a name of somebody else's that leads here
		http.Error(w, "this page is for browsers of this machine: ask for it at "+g.Address, http.StatusMisdirectedRequest)
		return
	}
	if g.Secure {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	s, c, err := g.session(r)
	if err != nil && !errors.Is(err, federation.ErrNotFound) {
		g.fail(w, r, err)
		return
	}
	if s != nil {
		ctx := identity.ByBrowser(r.Context(), c.uid, s.Raised != nil && g.Now().Before(*s.Raised))
		r = r.WithContext(context.WithValue(ctx, sessionKey{}, s))
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /login":
		g.loginPage(w, r, http.StatusOK, "")
	case "POST /login":
		g.login(w, r, c)
	case "GET " + toProvider:
		g.beginAtProvider(w, r)
	case "GET " + fromProvider:
		g.endAtProvider(w, r, c)
	case "POST /logout":
		g.logout(w, r, s, c)
	default:
		if s == nil && !open(r.URL.Path) {
			g.refuse(w, r)
			return
		}
		if s != nil && g.Now().Sub(s.Used) >= signin.UsedWithin {
			_ = g.api.Do(r.Context(), "POST", "/fed/v1/web/session/"+c.hash+"/used", nil, nil) // else it is said with the next page
		}
		g.mux.ServeHTTP(w, r)
	}
}

// refuse sends who has not signed in to where that is done.
func (g *gate) refuse(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || strings.Contains(r.URL.Path, ".") {
		http.Error(w, "sign in first: "+g.Address+"/login", http.StatusUnauthorized)
		return
	}
	http.Redirect(w, r, "/login?"+url.Values{"to": {r.URL.RequestURI()}}.Encode(), http.StatusSeeOther)
}

func onThisMachine(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// cookie is what a browser has of a session: whose it is, and the hash of its secret.
type cookie struct {
	uid  uint32
	hash string
}

// cookieName is that of the cookie. Where there is no TLS no cookie can have the prefix, which keeps other hosts of the domain from setting it.
func (g *gate) cookieName() string {
	if g.Secure {
		return "__Host-fsub"
	}
	return "fsub"
}

func (g *gate) cookie(r *http.Request) (c cookie, ok bool) {
	got, err := r.Cookie(g.cookieName())
	if err != nil {
		return c, false
	}
	uid, secret, ok := strings.Cut(got.Value, ".")
	n, err := strconv.ParseUint(uid, 10, 32)
	if !ok || err != nil || len(secret) > 100 {
		return c, false
	}
	return cookie{uint32(n), signin.Hash(secret)}, true
}

func (g *gate) setCookie(w http.ResponseWriter, value string, life time.Duration) {
	g.put(w, g.cookieName(), value, life)
}

// put sets a cookie; one with a life in the past is removed.
func (g *gate) put(w http.ResponseWriter, name, value string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", Secure: g.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: int(life.Seconds())})
}

// session is that of a request. ErrNotFound: it has none.
func (g *gate) session(r *http.Request) (*v1.WebSession, cookie, error) {
	c, ok := g.cookie(r)
	if !ok || open(r.URL.Path) && r.URL.Path != "/login" {
		return nil, c, federation.ErrNotFound
	}
	s, err := client.Get[v1.WebSession](identity.ByBrowser(r.Context(), c.uid, false), g.api, "/fed/v1/web/session/"+c.hash)
	if errors.Is(err, federation.ErrDenied) || errors.Is(err, federation.ErrNotFound) { // the user is gone, or it has ended
		return nil, c, federation.ErrNotFound
	}
	if err != nil {
		return nil, c, err
	}
	return s, c, nil
}

// login exchanges a ticket for a session. One that the browser has already ends.
func (g *gate) login(w http.ResponseWriter, r *http.Request, had cookie) {
	text := strings.TrimSpace(r.PostFormValue("ticket"))
	if i := strings.LastIndexByte(text, '#'); i >= 0 { // the whole address was pasted
		text = text[i+1:]
	}
	user, ticket, seal, ok := signin.ReadTicket(text)
	if !ok {
		g.refuseTicket(w, r, "That is no ticket. fed web prints one.")
		return
	}
	const invalid = "The ticket is not valid: it was used, or is older than a minute. Run fed web again."
	uid, err := g.find(r.Context(), user)
	if err != nil {
		g.refuseTicket(w, r, invalid)
		return
	}
	err = g.open(w, r, had, uid, v1.NewSession{Ticket: signin.Hash(ticket), Until: seal.Until, Seal: seal.MAC})
	switch {
	case errors.Is(err, federation.ErrDenied), errors.Is(err, federation.ErrInvalid):
		g.refuseTicket(w, r, invalid)
	case err != nil:
		g.fail(w, r, err)
	default:
		http.Redirect(w, r, localAddress(r.PostFormValue("to")), http.StatusSeeOther)
	}
}

// open opens a session of a user by what proves who that is, and ends the one that the browser had.
func (g *gate) open(w http.ResponseWriter, r *http.Request, had cookie, uid uint32, in v1.NewSession) error {
	secret := signin.Secret()
	in.Session, in.Browser = signin.Hash(secret), r.UserAgent()
	if err := g.api.Do(identity.ByBrowser(r.Context(), uid, false), "POST", "/fed/v1/web/sessions", in, nil); err != nil {
		return err
	}
	if had.hash != "" {
		_ = g.api.Do(identity.ByBrowser(r.Context(), had.uid, false), "DELETE", "/fed/v1/web/session/"+had.hash, nil, nil)
	}
	g.setCookie(w, strconv.FormatUint(uint64(uid), 10)+"."+secret, signin.SessionLife)
	return nil
}

// localAddress is an address of this page, or the first page.
func localAddress(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n") || u.Path == "/login" || strings.HasPrefix(u.Path, "/login/") {
		return "/jobs"
	}
	return to
}

func (g *gate) logout(w http.ResponseWriter, r *http.Request, s *v1.WebSession, c cookie) {
	if s != nil {
		which := c.hash
		if r.PostFormValue("all") != "" {
			which = "all"
		}
		if err := g.api.Do(r.Context(), "DELETE", "/fed/v1/web/session/"+which, nil, nil); err != nil && !errors.Is(err, federation.ErrNotFound) {
			g.fail(w, r, err)
			return
		}
	}
	g.setCookie(w, "", -time.Second)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// refuseTicket says why a ticket does not sign in, and counts it. Nobody is kept from trying again: who guesses would keep out those who come from the same address.
func (g *gate) refuseTicket(w http.ResponseWriter, r *http.Request, why string) {
	if g.Refused != nil {
		g.Refused()
	}
	g.loginPage(w, r, http.StatusForbidden, why)
}

// mostLookups is how many names are looked up at a time: that may go over the network, and anybody may ask.
const mostLookups = 8

// find is the uid of a user.
func (g *gate) find(ctx context.Context, name string) (uint32, error) {
	select {
	case g.lookups <- struct{}{}:
		defer func() { <-g.lookups }()
		return g.UID(name)
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
