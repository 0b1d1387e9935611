package answer

import (
	"net/http"
	"strings"

	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
)

// scoped refuses what is beyond the scope of the caller's token. A role that the scope does not include was not given to the caller in the first place.
func scoped(r *http.Request, c identity.Caller) error {
	if c.Scope == identity.ScopeRead && r.Method != http.MethodGet && r.Method != http.MethodHead && r.Pattern != looksOnly && !revokesItself(r, c) {
		return Detailed(Denied, "the token is of scope read: it looks, and changes nothing; to make one that submits: fed token create NAME --scope submit")
	}
	return nil
}

// looksOnly is a POST that changes nothing: what it asks for is too long for a query.
const looksOnly = "POST /fed/v1/jobs/states"

// revokesItself reports whether a token is used to revoke that very token.
func revokesItself(r *http.Request, c identity.Caller) bool {
	name, of := strings.CutPrefix(r.URL.Path, v1.Tokens.One(""))
	return of && r.Method == http.MethodDelete && c.IsToken(name)
}
