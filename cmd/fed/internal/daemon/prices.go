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

	"fsub/cloud"
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
type priceBook struct {
	cat  *prices.Catalogue
	most prices.MaxAge // how old its prices may be
	// risks are those of what sites rent.
	risks []siteRisks
}

// siteRisks are how often machines are taken back that a site rents from a cloud.
type siteRisks struct {
	cloud string
	all   func() []cloud.Risk
}

// risk adds up what sites know of an offer's machines: of its zone where that is one of theirs, else of all zones of its region.
func (b priceBook) risk(o *prices.Offer, known map[string][]cloud.Risk) (perHour, taken, hours float64) {
	if o.Market != provider.Spot {
		return 0, 0, 0
	}
	var zone, region []cloud.Risk
	for _, k := range known[o.Cloud] {
		if k.Offering.Type != o.Type || k.Offering.Region != o.Region || k.Offering.Market != o.Market {
			continue
		}
		region = append(region, k)
		if k.Offering.Zone == o.Zone {
			zone = append(zone, k)
		}
	}
	if zone != nil {
		region = zone
	}
	for _, k := range region {
		perHour += k.PerHour / float64(len(region))
		taken, hours = taken+k.Taken, hours+k.Hours
	}
	return perHour, taken, hours
}

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
	now, known := time.Now(), map[string][]cloud.Risk{}
	for _, s := range b.risks {
		known[s.cloud] = append(known[s.cloud], s.all()...)
	}
	for _, o := range b.cat.Offers(ask) {
		if q.Limit > 0 && len(out) == q.Limit {
			break
		}
		perHour, taken, hours := b.risk(&o, known)
		out = append(out, v1.Offer{Cloud: o.Cloud, Type: o.Type, Region: o.Region, Zone: o.Zone, Market: string(o.Market), Accelerator: o.Shape.Accelerator, Count: o.Shape.Count,
			CPUs: o.Shape.CPUs, MemGiB: o.Shape.MemGiB, Machines: o.Machines, USD: float64(o.PerHour), Total: float64(o.Total), PricedAt: o.At.UTC(), From: o.From,
			Interrupts: perHour, Taken: taken, TakenIn: hours, Stale: o.Stale(now, b.most), Age: o.Age(now)})
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

func (p *parts) priceBook() priceBook {
	b := priceBook{cat: p.prices, most: p.config.PriceLists.MostAge()}
	if p.rented != nil {
		b.risks = p.rented.risks
	}
	return b
}
