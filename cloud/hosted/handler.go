package hosted

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"fsub/cloud/provider"
	"fsub/federation"
)

// Handler answers the calls of a [Client] on the daemon that has the machines. Who calls is not its business: it is for connections of other daemons alone.
type Handler struct {
	// Provider is that of a site whose machines are here; nil: they are not.
	Provider func(federation.SiteName) provider.Provider
	// InForce reports whether the lease of an epoch is in force; an error says why that is not known.
	InForce func(ctx context.Context, epoch int64) (bool, error)
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Path+"{site}/{call}", h.call)
	mux.ServeHTTP(w, r)
}

// call answers one call of the daemon that leads.
func (h *Handler) call(w http.ResponseWriter, r *http.Request) {
	epoch, err := strconv.ParseInt(r.Header.Get(headerEpoch), 10, 64)
	if err != nil {
		http.Error(w, "the epoch of the caller's lease is missing", http.StatusBadRequest)
		return
	}
	switch held, err := h.InForce(r.Context(), epoch); {
	case err != nil:
		refuse(w, unavailable("it cannot ask the database who leads: %v", err))
		return
	case !held:
		refuse(w, unavailable("another daemon leads by now: the lease of epoch %d is over", epoch))
		return
	}
	p := h.Provider(federation.SiteName(r.PathValue("site")))
	if p == nil {
		refuse(w, unavailable("it has no nodes of site %s in its configuration: restart it if they are new there", r.PathValue("site")))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if err != nil {
		return // the caller has gone, or sends what no caller does
	}
	result, err := carryOut(r.Context(), p, r.PathValue("call"), body)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(result)
}

// carryOut makes a call of the provider.
func carryOut(ctx context.Context, p provider.Provider, call string, body []byte) (result any, err error) {
	switch call {
	case callOfferings:
		return p.Offerings(ctx)
	case callCreate:
		var q provider.Request
		if err := json.Unmarshal(body, &q); err != nil {
			return nil, provider.Invalid("create: %v", err)
		}
		// What was begun is finished, whatever becomes of the caller: half a gang is of no use.
		return p.Create(context.WithoutCancel(ctx), q)
	case callWithdraw:
		var token string
		if err := json.Unmarshal(body, &token); err != nil {
			return nil, provider.Invalid("withdraw: %v", err)
		}
		return nil, p.Withdraw(ctx, token)
	case callList:
		return p.List(ctx)
	case callDelete:
		var ids []provider.InstanceID
		if err := json.Unmarshal(body, &ids); err != nil {
			return nil, provider.Invalid("delete: %v", err)
		}
		return nil, p.Delete(context.WithoutCancel(ctx), ids)
	}
	return nil, provider.Invalid("unknown call %q: the daemons are of different versions", call)
}
