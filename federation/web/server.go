// Package web serves the page: what users, team leads and operators look at each day, in a browser. It asks for everything through the routes of /fed/v1, within the
// process and in the name of who has signed in, so it shows and does nothing that fed would refuse him, and works at a daemon that stands by. [ForBrowsers] is the page with
// its sessions, on a listener of its own; [OnSocket] is the page alone, for what passes requests on from the daemon's socket. Each page is a URL; with .json or .csv behind its
// path it is data. It works without JavaScript: app.js adds what is live.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"fsub/federation/api/client"
	"fsub/federation/api/identity"
	"fsub/federation/api/identity/oidc"
	v1 "fsub/federation/api/v1"
)

//go:embed assets
var assets embed.FS

// Config is what the page is made of. API is required.
type Config struct {
	API          http.Handler // that of /fed/v1; it learns who calls from the context: see [identity.ByBrowser]
	Federation   string
	Version      string // of the build
	Secure       bool   // browsers reach it by TLS
	Address      string // where: https://HOST:PORT
	Now          func() time.Time
	UID          func(name string) (uint32, error) // of a user; nil: the system's user database
	Refused      func()                            // is called for each ticket that is refused; may be nil
	Provider     *oidc.Verifier                    // of OpenID, by which users sign in too; nil: there is none
	ProviderName string                            // as the page calls it
}

// server serves the pages. It keeps nothing that the API does not tell again: sessions are the API's.
type server struct {
	Config
	api  *client.Client
	base string // before the path of each page: "" or "/web"
	mux  *http.ServeMux
	all  []string // what mux has

	recent recentEvents
	common common
	leads  leads
	lives  lives
	sums   shelf[[]v1.BookedSum] // what users have spent
	arrays arrays
}

// handle adds a route.
func (s *server) handle(pattern string, h http.HandlerFunc) {
	s.all = append(s.all, pattern)
	s.mux.HandleFunc(pattern, h)
}

func newServer(c Config, base string) *server {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.UID == nil {
		c.UID = func(name string) (uint32, error) {
			uid, _, err := identity.SystemUsers{}.UserIDs(name)
			return uid, err
		}
	}
	s := &server{Config: c, base: base, mux: http.NewServeMux(), api: client.Through(within{c.API}, c.Federation)}
	s.assetRoutes()
	s.pageRoutes()
	return s
}

// OnSocket is the page below /web/ on the daemon's socket. The context of a request says who asks for it. X-Forwarded-Prefix says where the page is for the browser.
func OnSocket(c Config) http.Handler {
	s := newServer(c, "/web")
	return guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, known := identity.Browser(r.Context()); !known {
			http.Error(w, "nobody says who asks for this page", http.StatusForbidden)
			return
		}
		http.StripPrefix("/web", s.mux).ServeHTTP(w, r)
	}))
}

// ForBrowsers is the page for browsers, who sign in by a ticket, or at the OpenID provider.
func ForBrowsers(c Config) http.Handler {
	s := newServer(c, "")
	g := &gate{server: s, lookups: make(chan struct{}, mostLookups)}
	return guarded(http.HandlerFunc(g.serve))
}

// csp allows a page what this package serves, and no script to make markup of text.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guarded has what every answer needs: the headers, and nothing done for a form of another origin.
func guarded(h http.Handler) http.Handler {
	return withHeaders(new(http.CrossOriginProtection).Handler(h))
}

func withHeaders(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", csp)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(10 * time.Second))
			r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
		}
		h.ServeHTTP(w, r)
	})
}

// assetRoutes serve what pages load: they may be kept, for a name has the hash of what is in it.
func (s *server) assetRoutes() {
	for _, name := range []string{"app.js", "login.js", "style.css"} {
		text, _ := assets.ReadFile("assets/" + name)
		kind := "text/css; charset=utf-8"
		if strings.HasSuffix(name, ".js") {
			kind = "text/javascript; charset=utf-8"
		}
		s.handle("GET "+assetPath(name), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
			_, _ = w.Write(text)
		})
	}
}

func assetPath(name string) string {
	text, _ := assets.ReadFile("assets/" + name)
	sum := sha256.Sum256(text)
	return "/assets/" + hex.EncodeToString(sum[:6]) + "/" + name
}

// open reports whether a path is served to who has not signed in.
func open(path string) bool { return strings.HasPrefix(path, "/assets/") || path == "/login" }

// session is who has signed in, for a page: nil on the socket.
type sessionKey struct{}

func sessionOf(r *http.Request) *v1.WebSession {
	s, _ := r.Context().Value(sessionKey{}).(*v1.WebSession)
	return s
}
