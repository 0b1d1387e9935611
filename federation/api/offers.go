package api

import (
	"context"
	"net/http"

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
func (o *offers) Get(ctx context.Context, _ identity.Caller, q v1.OfferQuery) ([]v1.Offer, error) {
	out := []v1.Offer{}
	if o.Prices != nil {
		q.Limit = 0 // it is of the page
		list, err := o.Prices.Offers(q)
		if err != nil {
			return nil, answer.BadBody(err.Error())
		}
		out = append(out, list...)
	}
	return out, nil
}

// Refresh is POST /fed/v1/offers/refresh.
func (o *offers) Refresh(r *http.Request, _ identity.Caller) ([]v1.PriceList, error) {
	out := []v1.PriceList{}
	if o.Prices != nil {
		again := share.Idle(r.Context())
		out = append(out, o.Prices.Refresh(r.Context())...)
		again()
	}
	return out, nil
}
