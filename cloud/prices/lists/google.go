package lists

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation/decision"
)

// Google is the Cloud Billing Catalog. It has no prices of machines, but of cores, memory, GPUs and local disks; a machine is the sum of its parts. Each part must be there
// exactly once for its region, or the machine has no price: public catalogues that took whatever SKU came near have machines at three times their price.
type Google struct {
	Regions []string // "us-central1"; none: all
	// Types returns machine types beyond those with accelerators that the table knows; nil: there are none.
	Types func() map[string]prices.Shape
	// Key is an API key; or HTTP has a client that proves who it is. The catalogue is public, but asks for either.
	Key      string
	HTTP     *http.Client
	Endpoint string // stands in for https://cloudbilling.googleapis.com
	Now      func() time.Time
}

var _ prices.Source = (*Google)(nil)

// Name implements prices.Source.
func (g *Google) Name() string { return "Google billing catalog" }

// Cloud is whose types it puts prices together for.
func (g *Google) Cloud() string { return prices.Google }

// compute is the service with the SKUs of Compute Engine, and of TPUs from v5e on. (E000-3F24-B8AA has the older ones, by the device and the continent.)
const compute = "services/6F81-5844-456A"

// googlePage is an answer, as far as it matters here. See services.skus.list in the reference of the Cloud Billing API.
type googlePage struct {
	SKUs          []sku  `json:"skus"`
	NextPageToken string `json:"nextPageToken"`
}

type sku struct {
	Description string `json:"description"`
	Category    struct {
		ResourceGroup string `json:"resourceGroup"` // CPU, RAM, GPU, TPU, LocalSSD
		UsageType     string `json:"usageType"`     // OnDemand, Preemptible, Commit1Yr
	} `json:"category"`
	ServiceRegions []string `json:"serviceRegions"`
	PricingInfo    []struct {
		PricingExpression struct {
			UsageUnit   string `json:"usageUnit"` // h, GiBy.h, GiBy.mo
			TieredRates []struct {
				StartUsageAmount float64 `json:"startUsageAmount"`
				UnitPrice        struct {
					CurrencyCode string `json:"currencyCode"`
					Units        string `json:"units"`
					Nanos        int64  `json:"nanos"`
				} `json:"unitPrice"`
			} `json:"tieredRates"`
		} `json:"pricingExpression"`
	} `json:"pricingInfo"`
}

// usd is what one unit costs an hour; false: it is not sold so.
func (s *sku) usd() (float64, bool) {
	if len(s.PricingInfo) == 0 {
		return 0, false
	}
	e := &s.PricingInfo[len(s.PricingInfo)-1].PricingExpression // the newest is the last
	if len(e.TieredRates) != 1 || e.TieredRates[0].UnitPrice.CurrencyCode != "USD" {
		return 0, false
	}
	units, err := strconv.ParseFloat(cmp.Or(e.TieredRates[0].UnitPrice.Units, "0"), 64)
	usd := units + float64(e.TieredRates[0].UnitPrice.Nanos)/1e9
	switch e.UsageUnit {
	case "h", "GiBy.h", "GBy.h":
	case "GiBy.mo":
		usd /= 730
	default:
		return 0, false
	}
	return usd, err == nil
}

// Prices implements prices.Source.
func (g *Google) Prices(ctx context.Context) ([]prices.Price, error) {
	now := time.Now
	if g.Now != nil {
		now = g.Now
	}
	c := client(g.HTTP, cmp.Or(g.Endpoint, "https://cloudbilling.googleapis.com"))
	parts, token := newParts(g.Regions), ""
	for page := 0; ; page++ {
		if page == mostPages {
			return nil, fmt.Errorf("more than %d pages", mostPages)
		}
		r := c.R().SetContext(ctx).SetQueryParams(map[string]string{"currencyCode": "USD", "pageSize": "5000"})
		if token != "" {
			r.SetQueryParam("pageToken", token)
		}
		if g.Key != "" {
			r.SetHeader("X-Goog-Api-Key", g.Key) // in the URL it would be in logs and errors
		}
		var got googlePage
		if err := answered(r.SetResult(&got).Get("/v1/" + compute + "/skus")); err != nil {
			return nil, err // half a catalogue makes no machine
		}
		for i := range got.SKUs {
			parts.add(&got.SKUs[i])
		}
		if token = got.NextPageToken; token == "" {
			var more map[string]prices.Shape
			if g.Types != nil {
				more = g.Types()
			}
			return parts.machines(more, now().UTC()), nil
		}
	}
}

// part is what of a machine is sold for itself, in a region and market.
type part struct {
	name   string // "A3 Instance Core", "Nvidia H100 80GB GPU", "tpu-v5p"
	region string
	market provider.Market
}

// parts are the prices that the catalogue has.
type parts struct {
	regions []string
	usd     map[part]float64
	doubt   map[part]bool // several SKUs of different prices, or one that is free
	places  map[string]bool
}

func newParts(regions []string) *parts {
	return &parts{regions: regions, usd: map[part]float64{}, doubt: map[part]bool{}, places: map[string]bool{}}
}

// A SKU is described as "A3 Instance Core running in Americas", "Spot Preemptible A3 Instance Core running in Americas", "Nvidia H100 80GB GPU attached to Spot Preemptible VMs
// running in Americas", "TpuV5p attached to DWS Defined Duration VMs running in Americas". Commitments, calendar mode and sole tenancy have words of their own, and are not
// sold by the hour to everybody.
var (
	spotBefore  = "Spot Preemptible "
	spotBehind  = " attached to Spot Preemptible VMs"
	flexBehind  = " attached to DWS Defined Duration VMs"
	localSSD    = "SSD backed Local Storage"
	tpuName     = regexp.MustCompile(`^Tpu-?[vV](\d+[a-z]*)( Pod)?$`)
	runningIn   = regexp.MustCompile(` (running|hosted) in .*$`)
	groupsOfUse = []string{"CPU", "RAM", "GPU", "TPU", "LocalSSD", "N1Standard"}
)

// add takes in a SKU, if it is a part of machines that anybody can rent by the hour.
func (p *parts) add(s *sku) {
	if !slices.Contains(groupsOfUse, s.Category.ResourceGroup) || s.Category.UsageType != "OnDemand" && s.Category.UsageType != "Preemptible" {
		return
	}
	name, market := runningIn.ReplaceAllString(s.Description, ""), provider.OnDemand
	for _, mark := range []struct {
		text   string
		market provider.Market
	}{{spotBehind, provider.Spot}, {flexBehind, provider.Flex}} {
		if rest, ok := strings.CutSuffix(name, mark.text); ok {
			name, market = rest, mark.market
		}
	}
	if rest, ok := strings.CutPrefix(name, spotBefore); ok {
		name, market = rest, provider.Spot
	}
	if s.Category.ResourceGroup == "TPU" {
		m := tpuName.FindStringSubmatch(name)
		if m == nil || m[2] != "" {
			return
		}
		name = prices.TPU("v" + m[1])
	}
	usd, ok := s.usd()
	if !ok || (market == provider.Spot) != (s.Category.UsageType == "Preemptible") {
		return
	}
	for _, region := range s.ServiceRegions {
		if len(p.regions) > 0 && !slices.Contains(p.regions, region) {
			continue
		}
		k := part{name, region, market}
		if before, ok := p.usd[k]; ok && before != usd || usd <= 0 {
			p.doubt[k] = true
		}
		p.usd[k], p.places[region] = usd, true
	}
}

// family says what machines of a series are made of. A part may have one of several names.
type family struct {
	core, ram, gpu []string
	ssd            float64 // GiB of local disks that each accelerator brings along
}

// families are series by the beginning of their types. The GPU of an A4 is sold with its part of the host. What shares cores, or has local disks in its type
// (c3-standard-8-lssd), is sold otherwise, and has no price here.
var families = map[string]family{
	"a2-highgpu-":  {[]string{"A2 Instance Core"}, []string{"A2 Instance Ram"}, []string{"Nvidia Tesla A100 GPU"}, 0},
	"a2-megagpu-":  {[]string{"A2 Instance Core"}, []string{"A2 Instance Ram"}, []string{"Nvidia Tesla A100 GPU"}, 0},
	"a2-ultragpu-": {[]string{"A2 Instance Core"}, []string{"A2 Instance Ram"}, []string{"Nvidia Tesla A100 80GB GPU"}, 375},
	"a3-highgpu-":  {[]string{"A3 Instance Core"}, []string{"A3 Instance Ram"}, []string{"Nvidia H100 80GB GPU"}, 750},
	"a3-megagpu-":  {[]string{"A3Plus Instance Core"}, []string{"A3Plus Instance Ram"}, []string{"Nvidia H100 80GB Plus GPU", "Nvidia H100 80GB Mega GPU"}, 750},
	"a3-ultragpu-": {[]string{"A3Ultra Instance Core"}, []string{"A3Ultra Instance Ram"}, []string{"H200 141GB GPU", "Nvidia H200 141GB GPU"}, 0},
	"a4-highgpu-":  {nil, nil, []string{"A4 Nvidia B200 (1 gpu slice)"}, 0},
	"g2-standard-": {[]string{"G2 Instance Core"}, []string{"G2 Instance Ram"}, []string{"Nvidia L4 GPU"}, 0},
	"g4-standard-": {[]string{"G4 Instance Core"}, []string{"G4 Instance Ram"}, []string{"RTX 6000 96GB"}, 0},
	"n1-":          {[]string{"N1 Predefined Instance Core"}, []string{"N1 Predefined Instance Ram"}, nil, 0},
	"n2-":          {[]string{"N2 Instance Core"}, []string{"N2 Instance Ram"}, nil, 0},
	"n2d-":         {[]string{"N2D AMD Instance Core"}, []string{"N2D AMD Instance Ram"}, nil, 0},
	"n4-":          {[]string{"N4 Instance Core"}, []string{"N4 Instance Ram"}, nil, 0},
	"e2-":          {[]string{"E2 Instance Core"}, []string{"E2 Instance Ram"}, nil, 0},
	"c2-":          {[]string{"Compute optimized Core"}, []string{"Compute optimized Ram"}, nil, 0},
	"c2d-":         {[]string{"C2D AMD Instance Core"}, []string{"C2D AMD Instance Ram"}, nil, 0},
	"c3-":          {[]string{"C3 Instance Core"}, []string{"C3 Instance Ram"}, nil, 0},
	"c3d-":         {[]string{"C3D Instance Core"}, []string{"C3D Instance Ram"}, nil, 0},
	"c4-":          {[]string{"C4 Instance Core"}, []string{"C4 Instance Ram"}, nil, 0},
	"c4a-":         {[]string{"C4A Arm Instance Core", "C4A Instance Core"}, []string{"C4A Arm Instance Ram", "C4A Instance Ram"}, nil, 0},
	"c4d-":         {[]string{"C4D Instance Core"}, []string{"C4D Instance Ram"}, nil, 0},
	"h3-":          {[]string{"H3 Instance Core"}, []string{"H3 Instance Ram"}, nil, 0},
	"h4d-":         {[]string{"H4D Instance Core"}, []string{"H4D Instance Ram"}, nil, 0},
	"t2d-":         {[]string{"T2D AMD Instance Core"}, []string{"T2D AMD Instance Ram"}, nil, 0},
	"t2a-":         {[]string{"T2A Arm Instance Core"}, []string{"T2A Arm Instance Ram"}, nil, 0},
}

// machines adds up what the machines cost for which each part has one price.
func (p *parts) machines(more map[string]prices.Shape, at time.Time) (list []prices.Price) {
	types := map[string]prices.Shape{}
	for _, t := range prices.Types(prices.Google) {
		types[t], _ = prices.ShapeOf(prices.Google, t)
	}
	for t, s := range more {
		types[t] = s
	}
	for t, shape := range types {
		for region := range p.places {
			for _, market := range []provider.Market{provider.OnDemand, provider.Spot, provider.Flex} {
				if usd, ok := p.machine(t, shape, region, market); ok {
					list = append(list, prices.Price{Key: prices.Key{Cloud: prices.Google, Type: t, Region: region, Market: market},
						PerHour: decision.Dollars(usd), At: at, From: "billing catalog"})
				}
			}
		}
	}
	return list
}

func (p *parts) machine(typ string, shape prices.Shape, region string, market provider.Market) (float64, bool) {
	if strings.HasPrefix(typ, "tpu-") {
		return p.one([]string{typ}, 1, region, market)
	}
	var of *family
	for prefix, f := range families {
		if strings.HasPrefix(typ, prefix) {
			of = &f
		}
	}
	if of == nil || shape.Count > 0 && of.gpu == nil || strings.HasSuffix(typ, "-lssd") {
		return 0, false
	}
	sum, all := 0.0, true
	for _, one := range []struct {
		names []string
		n     float64
	}{{of.core, float64(shape.CPUs)}, {of.ram, shape.MemGiB}, {of.gpu, shape.Count}} {
		if one.names != nil && one.n > 0 {
			usd, ok := p.one(one.names, one.n, region, market)
			sum, all = sum+usd, all && ok
		}
	}
	if of.ssd > 0 { // a disk that is not listed for the market costs as on demand
		usd, ok := p.one([]string{localSSD}, of.ssd*shape.Count, region, market)
		if !ok {
			usd, ok = p.one([]string{localSSD}, of.ssd*shape.Count, region, provider.OnDemand)
		}
		sum, all = sum+usd, all && ok
	}
	return sum, all && sum > 0
}

// one is what n of the part cost that has one of the names; false: it has no price, or several.
func (p *parts) one(names []string, n float64, region string, market provider.Market) (float64, bool) {
	for _, name := range names {
		k := part{name, region, market}
		if usd, ok := p.usd[k]; ok {
			return usd * n, !p.doubt[k]
		}
	}
	return 0, false
}
