package client

import (
	"context"

	v1 "fsub/federation/api/v1"
)

// RefreshOffers has the clouds' price lists asked now; operators only.
func (c *Client) RefreshOffers(ctx context.Context) (lists []v1.PriceList, err error) {
	err = c.Do(ctx, "POST", "/fed/v1/offers/refresh", nil, &lists)
	return lists, err
}
