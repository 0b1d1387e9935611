// Package hosted lets one daemon use the machines of another daemon. Where several share a database, the daemon that leads need not be the one on whose machine the nodes of
// a local pool are. A [Client] is a provider.Provider that asks the daemon of that machine; the [Handler] there answers with the provider that it has.
//
// An old leader changes nothing: each call names the epoch of its sender's lease, and the handler asks the database whether that is the lease in force. What
// slips through between the question and the call does no harm, as with clouds: Create is idempotent by its token, and a gang that nobody knows is ended after
// the next listing.
package hosted

import (
	"encoding/json"
	"fmt"
	"net/http"

	"fsub/cloud/provider"
)

// Path is below what the handler answers; site and call follow.
const Path = "/nodes/"

// The calls, by the name that stands in the path.
const (
	callOfferings = "offerings"
	callCreate    = "create"
	callWithdraw  = "withdraw"
	callList      = "list"
	callDelete    = "delete"
)

// headerEpoch names the epoch of the lease under which a call is made.
const headerEpoch = "Fsub-Epoch"

// mostBody bounds requests and answers, in bytes.
const mostBody = 16 << 20

// refusal is a provider.Error on its way; what an SDK has said stays where it was said.
type refusal struct {
	Kind  provider.ErrorKind
	Scope provider.Scope
	Code  string `json:",omitempty"`
	Text  string
}

// refuse answers with an error. All have one status: the kind says what the caller may do.
func refuse(w http.ResponseWriter, err error) {
	e := provider.AsError(err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusConflict)
	_ = json.NewEncoder(w).Encode(refusal{e.Kind, e.Scope, e.Code, e.Text})
}

// unavailable is an error that proves nothing.
func unavailable(format string, args ...any) error {
	return &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeCloud, Text: fmt.Sprintf(format, args...)}
}
