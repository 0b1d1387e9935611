package aws

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"fsub/cloud/leftovers"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
)

// Provider rents machines from EC2. It remembers prices, types and images for some hours, and
// nothing that a crash would make worse.
type Provider struct {
	cfg    Config
	log    *slog.Logger
	now    func() time.Time
	region *regional
	list   *priceList
	base   sdk.Config
	// catalogue keeps what lists have said.
	catalogue *prices.Catalogue
}

var (
	_ provider.Provider   = (*Provider)(nil)
	_ provider.Topologist = (*Provider)(nil)
	_ provider.Consoler   = (*Provider)(nil)
)

// regional is the region that is rented in.
type regional struct {
	Region
	ec2    *ec2.Client
	memory memory
	spots  spotPrices
	left   leftovers.Tracker
}

// New makes a Provider. It calls nobody, except the metadata service where no region is configured.
func New(ctx context.Context, cfg Config) (*Provider, error) {
	if cfg.Site == "" || cfg.Federation == "" {
		return nil, errors.New("aws: the site and the federation need names: machines are known by them")
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	base, err := cfg.load(ctx)
	if err != nil {
		return nil, err
	}
	if cfg.Region.Name == "" {
		if base.Region == "" {
			if base.Region, err = region(ctx, base); err != nil {
				return nil, err
			}
		}
		cfg.Region.Name = base.Region
	}
	if cfg.HTTP == nil {
		// A connection that neither answers nor breaks must not block a round forever. None of our
		// calls takes EC2 that long. The SDK's own client has the certificates of AWS_CA_BUNDLE.
		client, ok := base.HTTPClient.(*awshttp.BuildableClient)
		if !ok {
			client = awshttp.NewBuildableClient()
		}
		base.HTTPClient = client.WithTimeout(time.Minute).WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = 8 })
	}
	base.HTTPClient = ownBody{base.HTTPClient}
	if cfg.SpotInterrupts == 0 {
		cfg.SpotInterrupts = DefaultInterrupts
	}
	if cfg.Boot == 0 {
		cfg.Boot = 90 * time.Second
	}
	p := &Provider{cfg: cfg, log: cfg.Logger, now: cfg.Now}
	if p.log == nil {
		p.log = slog.Default()
	}
	if p.now == nil {
		p.now = time.Now
	}
	p.log = p.log.With("site", cfg.Site)
	p.base = base
	p.list = newPriceList(p, base)
	if p.catalogue = cfg.Prices; p.catalogue == nil {
		if p.catalogue, err = prices.New(prices.Config{Now: p.now, Logger: p.log}); err != nil {
			return nil, err
		}
	}
	p.region = &regional{Region: cfg.Region, ec2: client(base, cfg.Region.Name, cfg.Endpoint)}
	return p, nil
}

func client(base sdk.Config, region, endpoint string) *ec2.Client {
	return ec2.NewFromConfig(base, func(o *ec2.Options) {
		o.Region = region
		// Nothing is retried here: the callers of a Provider do that, and EC2 says InsufficientInstanceCapacity with status 500, which the SDK's own
		// retryer would send three times.
		o.Retryer = sdk.NopRetryer{}
		if endpoint != "" {
			o.BaseEndpoint = sdk.String(endpoint)
		}
	})
}

// List asks once, in pages of 1,000. It also clears away what machines have left behind
// (see sweep).
func (p *Provider) List(ctx context.Context) ([]provider.Instance, error) {
	all, err := p.find(ctx, p.region, tagFilter(tagFederation, p.cfg.Federation), tagFilter(tagSite, string(p.cfg.Site)))
	if err != nil {
		return nil, err
	}
	p.region.sweep(ctx, p, all)
	return all, nil
}

// find lists the machines of a region that the filters take.
func (p *Provider) find(ctx context.Context, r *regional, filters ...filter) ([]provider.Instance, error) {
	pages := ec2.NewDescribeInstancesPaginator(r.ec2, &ec2.DescribeInstancesInput{Filters: filters, MaxResults: sdk.Int32(1000)})
	var found []provider.Instance
	names := nameLists{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, refused(err)
		}
		for _, res := range page.Reservations {
			for i := range res.Instances {
				if p.others(res.Instances[i].Tags) {
					continue
				}
				found = append(found, names.instance(&res.Instances[i]))
			}
		}
	}
	return found, nil
}
