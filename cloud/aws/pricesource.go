package aws

import (
	"context"

	"fsub/cloud/prices"
)

// PriceSource has the provider's price list and spot history asked by a catalogue, when somebody says so: the provider asks them itself when it makes offers.
func (p *Provider) PriceSource() prices.Source { return priceSource{p} }

type priceSource struct{ p *Provider }

// Lazy keeps a catalogue from asking at intervals.
func (s priceSource) Lazy() bool { return true }

// Name implements prices.Source.
func (s priceSource) Name() string { return "Amazon price list (" + string(s.p.cfg.Site) + ")" }

// Prices implements prices.Source.
func (s priceSource) Prices(ctx context.Context) (list []prices.Price, err error) {
	p, r := s.p, s.p.region
	c, err := r.known(ctx, p)
	if err != nil {
		return nil, err
	}
	names := p.cfg.wanted(c.types)
	for _, typ := range names {
		if p.list.clients == nil {
			break
		}
		usd, err := fetchPrice(ctx, p.list.clients[endpoint(r.Name)], r.Name, typ)
		if err != nil {
			return list, refused(err)
		}
		if usd > 0 {
			list = append(list, prices.Price{Key: listKey(r.Name, typ), PerHour: usd, At: p.now(), From: fromList})
		}
	}
	spots, err := r.askSpot(ctx, p, c, names)
	if err != nil {
		return list, refused(err)
	}
	return append(list, spots...), nil
}
