package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation/decision"
)

const (
	pricesTTL    = 12 * time.Hour // list prices change a few times a year
	pricesRest   = time.Hour      // after a failure
	pricesBudget = 30 * time.Second
)

// priceList asks AWS's price list, which only three regions have. What it says the catalogue remembers.
type priceList struct {
	p       *Provider
	clients map[string]*pricing.Client // by the region of the endpoint; nil: it is not asked

	mu   sync.Mutex
	none map[prices.Key]time.Time // what the list does not have, and since when that is known
	rest time.Time                // no call before that
}

func newPriceList(p *Provider, base sdk.Config) *priceList {
	l := &priceList{p: p, none: map[prices.Key]time.Time{}}
	if p.cfg.Endpoint != "" && p.cfg.PricingEndpoint == "" {
		return l
	}
	l.clients = map[string]*pricing.Client{}
	for _, r := range []string{"us-east-1", "eu-central-1", "ap-south-1"} {
		l.clients[r] = pricing.NewFromConfig(base, func(o *pricing.Options) {
			o.Retryer = sdk.NopRetryer{}
			o.Region = r
			if p.cfg.PricingEndpoint != "" {
				o.BaseEndpoint = sdk.String(p.cfg.PricingEndpoint)
			}
		})
	}
	return l
}

// endpoint is the region whose price list is nearest. All of them have the prices of all regions.
func endpoint(region string) string {
	switch {
	case strings.HasPrefix(region, "ap-"):
		return "ap-south-1"
	case strings.HasPrefix(region, "eu-"), strings.HasPrefix(region, "me-"), strings.HasPrefix(region, "af-"), strings.HasPrefix(region, "il-"):
		return "eu-central-1"
	}
	return "us-east-1"
}

// onDemand returns the on-demand prices of types in a region: from the price list where it answers,
// else from the table. A type that neither has is missing.
func (l *priceList) onDemand(ctx context.Context, region string, names []string) map[string]prices.Price {
	ctx, cancel := context.WithTimeout(ctx, pricesBudget)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	found := make(map[string]prices.Price, len(names))
	var learnt []prices.Price
	for _, typ := range names {
		learnt = append(learnt, l.ask(ctx, region, typ)...)
	}
	l.p.learn(learnt)
	for _, typ := range names {
		if q, ok := l.p.catalogue.Price(listKey(region, typ)); ok {
			found[typ] = q
		}
	}
	return found
}

const fromList = "price list"

func listKey(region, typ string) prices.Key {
	return prices.Key{Cloud: prices.AWS, Type: typ, Region: region, Market: provider.OnDemand}
}

// ask asks the list for a price, unless it has said it, or refused, lately.
func (l *priceList) ask(ctx context.Context, region, typ string) []prices.Price {
	key, now := listKey(region, typ), l.p.now()
	if l.clients == nil || now.Before(l.rest) || strings.HasPrefix(region, "cn-") || now.Sub(l.none[key]) < pricesTTL {
		return nil
	}
	if q, ok := l.p.catalogue.Price(key); ok && q.From == fromList && now.Sub(q.At) < pricesTTL {
		return nil
	}
	usd, err := fetchPrice(ctx, l.clients[endpoint(region)], region, typ)
	if err != nil {
		l.rest = now.Add(pricesRest)
		l.p.log.Warn("the price list does not answer: prices are from before or from the table", "region", region, "err", refused(err))
		return nil
	}
	delete(l.none, key)
	if usd == 0 {
		l.none[key] = now
		return nil
	}
	return []prices.Price{{Key: key, PerHour: usd, At: now, From: fromList}}
}

// fetchPrice returns what one machine costs per hour, 0 if the list has no such product.
func fetchPrice(ctx context.Context, c *pricing.Client, region, typ string) (decision.Dollars, error) {
	in := &pricing.GetProductsInput{ServiceCode: sdk.String("AmazonEC2"), FormatVersion: sdk.String("aws_v1")}
	tenancy := "Shared"
	if strings.Contains(typ, ".metal") {
		tenancy = "Dedicated" // so are they listed, though they cost no more for it
	}
	for _, f := range [][2]string{
		{"instanceType", typ}, {"regionCode", region}, {"operatingSystem", "Linux"}, {"tenancy", tenancy}, {"preInstalledSw", "NA"},
		{"capacitystatus", "Used"}, {"marketoption", "OnDemand"},
	} {
		in.Filters = append(in.Filters, types.Filter{Field: sdk.String(f[0]), Value: sdk.String(f[1]), Type: types.FilterTypeTermMatch})
	}
	best := math.Inf(1)
	for pages := pricing.NewGetProductsPaginator(c, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, err
		}
		for _, text := range page.PriceList {
			usd, err := productPrice(text)
			if err != nil {
				return 0, fmt.Errorf("price list of %s in %s: %w", typ, region, err)
			}
			if usd > 0 && usd < best {
				best = usd
			}
		}
	}
	if math.IsInf(best, 1) {
		return 0, nil
	}
	return decision.Dollars(best), nil
}

// productPrice reads the hourly on-demand price of one product of the list, 0 if it has none.
func productPrice(text string) (float64, error) {
	var product struct {
		Terms struct {
			OnDemand map[string]struct {
				PriceDimensions map[string]struct {
					Unit         string
					PricePerUnit struct{ USD string }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &product); err != nil {
		return 0, err
	}
	for _, term := range product.Terms.OnDemand {
		for _, d := range term.PriceDimensions {
			if d.Unit != "Hrs" || d.PricePerUnit.USD == "" {
				continue
			}
			usd, err := strconv.ParseFloat(d.PricePerUnit.USD, 64)
			if err != nil {
				return 0, err
			}
			if usd > 0 && !math.IsInf(usd, 0) {
				return usd, nil
			}
		}
	}
	return 0, nil
}

// learn has the catalogue take in prices. Those that cannot be true are logged.
func (p *Provider) learn(list []prices.Price) {
	for _, r := range p.catalogue.Learn(list) {
		p.log.Warn("a price is refused: the last good one stays", "type", r.Type, "region", r.Region, "zone", r.Zone, "market", r.Market, "why", r.Why)
	}
}
