package aws

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation/decision"
)

// spotTTL is how long spot prices are taken to stay: AWS changes them a few times a day.
const spotTTL = 5 * time.Minute

// spotOld is how old the newest entry of the history may be: it goes back 90 days. (A stand-in answers with 2006.)
const spotOld = 100 * 24 * time.Hour

// spotPrices are a region's: when its history was asked for.
type spotPrices struct {
	mu sync.Mutex
	at time.Time
}

// spot has the catalogue learn the region's current spot prices, as EC2 says them.
func (r *regional) spot(ctx context.Context, p *Provider, c *catalog, names []string) {
	s := &r.spots
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.at.IsZero() && p.now().Sub(s.at) < spotTTL {
		return
	}
	s.at = p.now()
	list, err := r.askSpot(ctx, p, c, names)
	if err != nil {
		p.log.Warn("the spot price history does not answer: prices are from before or from the table", "region", r.Name, "err", refused(err))
		return
	}
	p.learn(list)
}

func (r *regional) askSpot(ctx context.Context, p *Provider, c *catalog, names []string) (list []prices.Price, err error) {
	now, newest := p.now(), map[prices.Key]time.Time{}
	for some := range slices.Chunk(names, 100) {
		in := &ec2.DescribeSpotPriceHistoryInput{ProductDescriptions: []string{"Linux/UNIX"}, StartTime: &now, EndTime: &now}
		for _, typ := range some {
			in.InstanceTypes = append(in.InstanceTypes, types.InstanceType(typ))
		}
		for pages := ec2.NewDescribeSpotPriceHistoryPaginator(r.ec2, in); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			for _, one := range page.SpotPriceHistory {
				usd, err := strconv.ParseFloat(sdk.ToString(one.SpotPrice), 64)
				key, at := c.spotKey(r.Name, sdk.ToString(one.AvailabilityZone), string(one.InstanceType)), sdk.ToTime(one.Timestamp)
				if now.Sub(at) > spotOld {
					p.log.Warn("a price is refused: the last good one stays", "type", key.Type, "zone", key.Zone, "market", key.Market, "why", "dated "+at.UTC().Format(time.DateOnly))
					continue
				}
				if err != nil || newest[key].After(at) {
					continue
				}
				if !newest[key].IsZero() {
					list = slices.DeleteFunc(list, func(p prices.Price) bool { return p.Key == key })
				}
				newest[key] = at
				// It is the price of now, whenever it came to be.
				list = append(list, prices.Price{Key: key, PerHour: decision.Dollars(usd), At: now, From: "spot price history"})
			}
		}
	}
	return list, nil
}

// spotKey names the spot price of a type in a zone: by the zone's ID, for its name is another one in each account.
func (c *catalog) spotKey(region, zone, typ string) prices.Key {
	return prices.Key{Cloud: prices.AWS, Type: typ, Region: region, Zone: cmp.Or(c.subnet[zone].zoneID, zone), Market: provider.Spot}
}
