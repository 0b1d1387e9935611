package answer

import (
	"net/http"

	"fsub/federation/api/identity"
)

// scoped refuses what is beyond the scope of the caller's token. A role that the scope does not include was not given to the caller in the first place.
func scoped(r *http.Request, c identity.Caller) error {
	if c.Scope == identity.ScopeRead && r.Method != http.MethodGet && r.Method != http.MethodHead {
		return Detailed(Denied, "the token is of scope read: it looks, and changes nothing; to make one that submits: fed token create NAME --scope submit")
	}
	return nil
}
