package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/cmd/fed/internal/config"
	v1 "fsub/federation/api/v1"
)

// openPrices makes the catalogue of prices. It asks nobody yet.
func openPrices(c *config.Config, log *slog.Logger) (*prices.Catalogue, error) {
	l := &c.PriceLists
	cat, err := prices.New(prices.Config{File: filepath.Join(c.StateDir, "prices.json"), Every: l.Every, Logger: log})
	if err != nil {
		return nil, err
	}
	return cat, l.Open(cat, c.Lists(), log)
}

// priceBook tells of prices.
type priceBook struct{ cat *prices.Catalogue }

// Offers are those that a query asks for.
func (b priceBook) Offers(q v1.OfferQuery) (out []v1.Offer, err error) {
	var ask prices.Ask
	switch {
	case q.GPU != "" && q.TPU != "":
		return nil, errors.New("give a GPU or a TPU, not both")
	case q.TPU != "":
		ask, err = prices.ParseAsk(q.TPU, true)
	case q.GPU != "":
		ask, err = prices.ParseAsk(q.GPU, false)
	}
	if err != nil {
		return nil, err
	}
	if q.Cloud != "" && !slices.Contains(prices.Clouds(), q.Cloud) {
		return nil, fmt.Errorf("invalid cloud %q: want one of %s", q.Cloud, strings.Join(prices.Clouds(), ", "))
	}
	if !slices.Contains([]string{"", string(provider.OnDemand), string(provider.Spot), string(provider.Flex)}, q.Market) {
		return nil, fmt.Errorf("invalid market %q: want on-demand, spot or flex", q.Market)
	}
	ask.Cloud, ask.Region, ask.Market = q.Cloud, q.Region, provider.Market(q.Market)
	now := time.Now()
	for _, o := range b.cat.Offers(ask) {
		if q.Limit > 0 && len(out) == q.Limit {
			break
		}
		out = append(out, v1.Offer{Cloud: o.Cloud, Type: o.Type, Region: o.Region, Zone: o.Zone, Market: string(o.Market), Accelerator: o.Shape.Accelerator, Count: o.Shape.Count,
			CPUs: o.Shape.CPUs, MemGiB: o.Shape.MemGiB, Machines: o.Machines, USD: float64(o.PerHour), Total: float64(o.Total), PricedAt: o.At.UTC(), From: o.From,
			Stale: o.Stale(now), Age: o.Age(now)})
	}
	return out, nil
}

// Refresh asks the price lists now.
func (b priceBook) Refresh(ctx context.Context) (out []v1.PriceList) {
	asked, _ := b.cat.Refresh(ctx, true) // each says itself why it does not answer
	for _, a := range asked {
		l := v1.PriceList{Name: a.Source, Prices: a.Prices, Error: a.Err}
		if !a.At.IsZero() {
			l.At = &a.At
		}
		for _, r := range a.Refused {
			l.Refused = append(l.Refused, v1.RefusedPrice{Cloud: r.Cloud, Type: r.Type, Region: r.Region, Zone: r.Zone, Market: string(r.Market), USD: finite(float64(r.PerHour)), Why: r.Why})
		}
		out = append(out, l)
	}
	return out
}

// finite is f as JSON can have it.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}
