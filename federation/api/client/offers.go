package client

import (
	"context"
	"net/url"
	"strconv"

	v1 "fsub/federation/api/v1"
)

// Offers lists what clouds ask for machines with accelerators, the cheapest first.
func (c *Client) Offers(ctx context.Context, q v1.OfferQuery) ([]v1.Offer, error) {
	v := url.Values{}
	for key, text := range map[string]string{"gpu": q.GPU, "tpu": q.TPU, "cloud": q.Cloud, "region": q.Region, "market": q.Market} {
		if text != "" {
			v.Set(key, text)
		}
	}
	v.Set("limit", strconv.Itoa(q.Limit))
	out, err := get[[]v1.Offer](ctx, c, "/fed/v1/offers?"+v.Encode())
	return *out, err
}

// RefreshOffers has the clouds' price lists asked now; operators only.
func (c *Client) RefreshOffers(ctx context.Context) (lists []v1.PriceList, err error) {
	err = c.Do(ctx, "POST", "/fed/v1/offers/refresh", nil, &lists)
	return lists, err
}
