package api

import (
	"context"
	"net/http"
	"strconv"

	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/share"
)

// Prices knows what machines cost.
type Prices interface {
	// Offers are those that a query asks for, the cheapest first; an error is about the query.
	Offers(q v1.OfferQuery) ([]v1.Offer, error)
	// Refresh asks the price lists now, and tells how each has answered.
	Refresh(ctx context.Context) []v1.PriceList
}

// offers answers for prices.
type offers struct {
	Prices Prices // nil: there are none
}

// Get is GET /fed/v1/offers.
func (o *offers) Get(w http.ResponseWriter, r *http.Request, _ identity.Caller) error {
	v := r.URL.Query()
	q := v1.OfferQuery{GPU: v.Get("gpu"), TPU: v.Get("tpu"), Cloud: v.Get("cloud"), Region: v.Get("region"), Market: v.Get("market")}
	if text := v.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return answer.BadBody("invalid limit " + strconv.Quote(text) + ": want a number")
		}
		q.Limit = n
	}
	out := []v1.Offer{}
	if o.Prices != nil {
		list, err := o.Prices.Offers(q)
		if err != nil {
			return answer.BadBody(err.Error())
		}
		out = append(out, list...)
	}
	return answer.JSON(w, out)
}

// Refresh is POST /fed/v1/offers/refresh.
func (o *offers) Refresh(w http.ResponseWriter, r *http.Request, _ identity.Caller) error {
	out := []v1.PriceList{}
	if o.Prices != nil {
		again := share.Idle(r.Context())
		out = append(out, o.Prices.Refresh(r.Context())...)
		again()
	}
	return answer.JSON(w, out)
}
