package web

import (
	"context"
	"net/http"
	"regexp"

	"fsub/federation/api/identity"
)

// ByProxy is the page for a proxy that has identified who asks, and says so in a header of each request. Whoever serves it lets nobody but that proxy connect: no other
// handler of this package reads such a header.
func ByProxy(c Config, header string) http.Handler {
	s := newServer(c, "")
	g := &gate{server: s, lookups: make(chan struct{}, mostLookups)}
	return guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open(r.URL.Path) && r.URL.Path != "/login" {
			s.mux.ServeHTTP(w, r)
			return
		}
		name, uid, why := g.named(r, header)
		if why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		s.mux.ServeHTTP(w, r.WithContext(context.WithValue(identity.ByBrowser(r.Context(), uid, false), nameKey{}, name)))
	}))
}

// nameKey is, in a request's context, for the name of the user whom a proxy has named.
type nameKey struct{}

// plainName is a user's name: no uid, which would be looked up as one.
var plainName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)

// named is the user whom a proxy names, or why that is none.
func (g *gate) named(r *http.Request, header string) (name string, uid uint32, why string) {
	names := r.Header.Values(header)
	if len(names) == 0 || names[0] == "" {
		return "", 0, "the proxy does not say who asks: it has to send the header " + header
	}
	if len(names) > 1 {
		return "", 0, "the proxy sends the header " + header + " more than once: it has to replace one that the browser sends"
	}
	if !plainName.MatchString(names[0]) {
		return "", 0, "the proxy's header " + header + " has no name of a user"
	}
	uid, err := g.find(r.Context(), names[0])
	switch {
	case err != nil:
		return "", 0, names[0] + " is not a user of the daemon's machine"
	case uid == 0:
		return "", 0, names[0] + " would be root on the daemon's machine"
	}
	return names[0], uid, ""
}
