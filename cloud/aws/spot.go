package aws

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/federation"
)

// spotTTL is how long spot prices are taken to stay: AWS changes them a few times a day.
const spotTTL = 5 * time.Minute

// What a spot price can be, as a share of the on-demand one: AWS says down to 10 %, and no more
// than it. What is beyond these bounds is a fault of the source (a stand-in says 0.00001, dated 2006).
const (
	spotLeast = 0.05
	spotMost  = 1.1
	spotOld   = 100 * 24 * time.Hour // the history goes back 90 days
)

// spotPrices are a region's, by type and zone name.
type spotPrices struct {
	mu    sync.Mutex
	at    time.Time
	known map[[2]string]quote
}

// spot returns the region's current spot prices, as EC2 says them. What cannot be had is missing.
func (r *regional) spot(ctx context.Context, p *Provider, names []string) map[[2]string]quote {
	s := &r.spots
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known != nil && p.now().Sub(s.at) < spotTTL {
		return s.known
	}
	known, err := r.askSpot(ctx, p, names)
	if err != nil {
		p.log.Warn("the spot price history does not answer: prices are from before or from the table", "region", r.Name, "err", refused(err))
		if known = s.known; known == nil {
			known = map[[2]string]quote{}
		}
	}
	s.known, s.at = known, p.now()
	return known
}

func (r *regional) askSpot(ctx context.Context, p *Provider, names []string) (map[[2]string]quote, error) {
	known, now := map[[2]string]quote{}, p.now()
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
				key := [2]string{string(one.InstanceType), sdk.ToString(one.AvailabilityZone)}
				if at := sdk.ToTime(one.Timestamp); err == nil && !known[key].at.After(at) {
					known[key] = quote{federation.Dollars(usd), at, "spot price history"}
				}
			}
		}
	}
	return known, nil
}

// spotQuote returns the price of a spot machine: EC2's if there is one, else the table's for the
// zone, else the on-demand price, which it never exceeds. base is the list price; its usd is 0
// where there is none.
func spotQuote(live quote, typ, zoneID string, base quote, now time.Time) (quote, bool) {
	problem := "not known"
	if !live.at.IsZero() {
		if problem = spotProblem(live, base.usd, now); problem == "" {
			live.at = now // it is the price of now, whenever it came to be
			return live, true
		}
	}
	if q, ok := table().spot[[2]string{typ, zoneID}]; ok && (base.usd == 0 || q.usd <= base.usd*spotMost && q.usd >= base.usd*spotLeast) {
		q.from += " (live: " + problem + ")"
		return q, true
	}
	base.from = "on-demand price, the most it can be (spot price: " + problem + "), " + base.from
	return base, base.usd > 0
}

// spotProblem says why a spot price cannot be true, "" if it can.
func spotProblem(q quote, onDemand federation.Dollars, now time.Time) string {
	switch {
	case now.Sub(q.at) > spotOld:
		return "dated " + q.at.UTC().Format(time.DateOnly)
	case !(q.usd >= 0.0005):
		return fmt.Sprintf("$%g", q.usd)
	case onDemand > 0 && (q.usd < onDemand*spotLeast || q.usd > onDemand*spotMost):
		return fmt.Sprintf("$%g where on-demand is $%g", q.usd, onDemand)
	}
	return ""
}
