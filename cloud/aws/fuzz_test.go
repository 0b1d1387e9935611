package aws

import (
	"math"
	"testing"
)

// FuzzProductPrice reads products of Amazon's price list: a price is a number that is not negative.
func FuzzProductPrice(f *testing.F) {
	f.Add(`{"terms":{"OnDemand":{"A":{"priceDimensions":{"A.B":{"unit":"Hrs","pricePerUnit":{"USD":"98.3200000000"}}}}}}}`)
	f.Add(`{"terms":{"OnDemand":{"A":{"priceDimensions":{"A.B":{"unit":"Hrs","pricePerUnit":{"USD":"Inf"}}}}}}}`)
	f.Add(`{}`)
	f.Fuzz(func(t *testing.T, text string) {
		usd, err := productPrice(text)
		if err == nil && (usd < 0 || math.IsNaN(usd) || math.IsInf(usd, 0)) {
			t.Errorf("%q costs $%g", text, usd)
		}
	})
}
