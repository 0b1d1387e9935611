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

	"fsub/federation"
)

const (
	pricesTTL    = 12 * time.Hour // list prices change a few times a year
	pricesRest   = time.Hour      // after a failure
	pricesBudget = 30 * time.Second
)

// prices asks AWS's price list, which only three regions have, and remembers.
type prices struct {
	p       *Provider
	clients map[string]*pricing.Client // by the region of the endpoint; nil: it is not asked

	mu    sync.Mutex
	known map[[2]string]quote // by type and region
	rest  time.Time           // no call before that
}

func newPrices(p *Provider, base sdk.Config) *prices {
	l := &prices{p: p, known: map[[2]string]quote{}}
	if p.cfg.Endpoint != "" && p.cfg.PricingEndpoint == "" {
		return l
	}
	l.clients = map[string]*pricing.Client{}
	for _, r := range []string{"us-east-1", "eu-central-1", "ap-south-1"} {
		l.clients[r] = pricing.NewFromConfig(base, func(o *pricing.Options) {
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
func (l *prices) onDemand(ctx context.Context, region string, names []string) map[string]quote {
	ctx, cancel := context.WithTimeout(ctx, pricesBudget)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	found := make(map[string]quote, len(names))
	for _, typ := range names {
		if q, ok := l.live(ctx, region, typ); ok {
			found[typ] = q
		} else if q, ok := listed(typ, region); ok {
			found[typ] = q
		}
	}
	return found
}

func (l *prices) live(ctx context.Context, region, typ string) (quote, bool) {
	key, now := [2]string{typ, region}, l.p.now()
	q, ok := l.known[key]
	if ok && now.Sub(q.at) < pricesTTL || l.clients == nil || now.Before(l.rest) || strings.HasPrefix(region, "cn-") {
		return q, ok && q.usd > 0
	}
	usd, err := fetchPrice(ctx, l.clients[endpoint(region)], region, typ)
	if err != nil {
		l.rest = now.Add(pricesRest)
		l.p.log.Warn("the price list does not answer: prices are from the table", "region", region, "err", refused(err))
		return q, ok && q.usd > 0
	}
	q = quote{usd, now, "price list"}
	l.known[key] = q // 0: the list has none either
	return q, usd > 0
}

// fetchPrice returns what one machine costs per hour, 0 if the list has no such product.
func fetchPrice(ctx context.Context, c *pricing.Client, region, typ string) (federation.Dollars, error) {
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
	return federation.Dollars(best), nil
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
			if usd > 0 {
				return usd, nil
			}
		}
	}
	return 0, nil
}
