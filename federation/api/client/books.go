package client

import (
	"context"
	"encoding/json"
	"net/url"

	v1 "fsub/federation/api/v1"
)

// BookedSums are sums of the ledger: see GET /fed/v1/books/sums for the query.
func (c *Client) BookedSums(ctx context.Context, q url.Values) (out []v1.BookedSum, err error) {
	err = c.EachBookedSum(ctx, q, func(s *v1.BookedSum) { out = append(out, *s) })
	return out, err
}

// EachBookedSum calls take with each of the same as it comes: there may be half a million.
func (c *Client) EachBookedSum(ctx context.Context, q url.Values, take func(*v1.BookedSum)) error {
	resp, err := c.open(ctx, "/fed/v1/books/sums?"+q.Encode())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := json.NewDecoder(resp.Body)
	if _, err = lines.Token(); err == nil {
		for lines.More() && err == nil {
			var s v1.BookedSum
			if err = lines.Decode(&s); err == nil {
				take(&s)
			}
		}
	}
	if err == nil {
		_, err = lines.Token()
	}
	if err != nil {
		return c.noAnswer(ctx, err)
	}
	return nil
}

// CheckBooks has the ledger compared with what sites say; operators only.
func (c *Client) CheckBooks(ctx context.Context, q url.Values) ([]v1.BooksCheck, error) {
	var out []v1.BooksCheck
	err := c.Do(ctx, "POST", "/fed/v1/books/check?"+q.Encode(), nil, &out)
	return out, err
}

// ImportBill takes a provider's bill into the ledger; operators only.
func (c *Client) ImportBill(ctx context.Context, b v1.ImportBill) (out v1.Bill, err error) {
	err = c.Do(ctx, "POST", "/fed/v1/books/bills", b, &out)
	return out, err
}
