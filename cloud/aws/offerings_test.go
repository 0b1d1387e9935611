package aws

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/federation/decision"
	"fsub/testbed/ec2"
)

var quiet = slog.New(slog.DiscardHandler)

// TestOfferings shows what each of the kinds of machine is made to.
func TestOfferings(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	block := c.AddBlock("p5.48xlarge", "us-east-2a", 2, 24*time.Hour)
	cfg.Types = []string{"c7*.large", "g6.xlarge", "p5.48xlarge"}
	cfg.Contract = map[string]decision.Dollars{"p5*": 31}
	cfg.Reservations, cfg.AnyZone, cfg.SpotInterrupts, cfg.Boot = []string{block, "cr-0of0another0region"}, true, 0.02, time.Minute
	p := open(t, cfg)
	all, err := p.Offerings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, o := range all {
		ids = append(ids, o.ID)
	}
	if !slices.IsSorted(ids) {
		t.Errorf("not sorted: %v", ids)
	}
	find := func(id string) provider.Offering {
		i := slices.Index(ids, id)
		if i < 0 {
			t.Fatalf("no %s among %v", id, ids)
		}
		return all[i]
	}
	o := find("c7i.large/us-east-2b/on-demand")
	if o.CPUs != 2 || o.Mem != 3891 || o.GPUs != 0 || o.Arch != "x86_64" || o.Price != 0.08925 || o.Interrupts != 0 || o.Boot != time.Minute ||
		o.MaxGang == 0 || o.Zone != "us-east-2b" || o.PriceFrom != "table of 2026-07-20 (karpenter-provider-aws v1.15.1) for us-east-1" || !slices.Equal(o.Features, []string{"c7i.large"}) {
		t.Errorf("%+v", o)
	}
	if o := find("c7g.large/us-east-2a/on-demand"); o.Arch != "arm64" {
		t.Errorf("%+v", o)
	}
	o = find("g6.xlarge/us-east-2a/spot")
	if o.GPUs != 1 || o.GPUType != "l4" || o.Interrupts != 0.02 || !slices.Contains(o.Features, "spot") || o.PriceFrom != "spot price history" || o.Price <= 0 || o.Price >= 0.8048 || o.MaxGang != gangs {
		t.Errorf("%+v", o)
	}
	o = find("p5.48xlarge/us-east-2a/on-demand")
	if o.GPUs != 8 || o.GPUType != "h100" || !slices.Contains(o.Features, "efa") || o.Price != 31 || o.PriceFrom != "configuration" {
		t.Errorf("%+v", o)
	}
	o = find("p5.48xlarge/us-east-2a/block/" + block)
	if o.Market != provider.Block || o.Reservation != block || o.Max != 2 || o.Price != 0 || !strings.Contains(o.PriceFrom, block) || time.Until(o.Until) > 24*time.Hour-blockEnds || time.Until(o.Until) < 22*time.Hour {
		t.Errorf("%+v", o)
	}
	o = find("c7i.large/us-east-2/spot")
	dearest := max(find("c7i.large/us-east-2a/spot").Price, find("c7i.large/us-east-2b/spot").Price, find("c7i.large/us-east-2c/spot").Price)
	if o.Zone != "" || o.Price != dearest {
		t.Errorf("any zone costs %v, and the dearest zone %v: %+v", o.Price, dearest, o)
	}
	// The second look costs no calls but the reservations': they come and go.
	c.ResetCalls()
	if _, err := p.Offerings(t.Context()); err != nil || c.Count("") != c.Count("DescribeCapacityReservations") {
		t.Errorf("the second look: %v, %d calls", err, c.Count(""))
	}
}

// TestMarkets: types are offered in the markets that are asked for, on demand and spot if none are.
func TestMarkets(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	for want, asked := range map[string][]provider.Market{"[on-demand spot]": nil, "[spot]": {provider.Spot}, "[on-demand]": {provider.OnDemand, provider.Reserved}, "[]": {provider.Block}} {
		cfg.Markets = asked
		all, err := open(t, cfg).Offerings(t.Context())
		seen := map[provider.Market]bool{}
		for _, o := range all {
			seen[o.Market] = true
		}
		if got := fmt.Sprint(slices.Sorted(maps.Keys(seen))); err != nil || got != want {
			t.Errorf("of %v: %s, want %s, %v", asked, got, want, err)
		}
	}
}

func TestAccelerators(t *testing.T) {
	gpu := func(maker, name string, n, mib int32) types.InstanceTypeInfo {
		return types.InstanceTypeInfo{GpuInfo: &types.GpuInfo{Gpus: []types.GpuDeviceInfo{{
			Manufacturer: &maker, Name: &name, Count: &n, MemoryInfo: &types.GpuDeviceMemoryInfo{SizeInMiB: &mib}}}}}
	}
	part := gpu("NVIDIA", "L4", 0, 2861)
	part.GpuInfo.Gpus[0].GpuPartitionSize, part.GpuInfo.Gpus[0].LogicalGpuCount = sdk.Float64(0.125), sdk.Int32(1)
	for _, c := range []struct {
		info     types.InstanceTypeInfo
		n        int
		gpu      string
		features []string
	}{
		{gpu("NVIDIA", "H100", 8, 81920), 8, "h100", nil},
		{gpu("NVIDIA", "A100", 8, 40960), 8, "a100", []string{"a100-40gb"}},
		{gpu("NVIDIA", "A100", 8, 81920), 8, "a100", []string{"a100-80gb"}},
		{gpu("NVIDIA", "V100", 8, 32768), 8, "v100", []string{"v100-32gb"}},
		{gpu("NVIDIA", "L40S", 1, 45776), 1, "l40s", nil},
		{gpu("NVIDIA", "RTX PRO Server 6000", 2, 98304), 2, "rtx-pro-6000", nil},
		{gpu("AMD", "Radeon Pro V520", 1, 8192), 1, "radeon-pro-v520", nil},
		{part, 1, "l4-3gb", nil},
		{gpu("Habana", "Gaudi HL-205", 8, 32768), 0, "", []string{"gaudi-hl-205"}},
		{types.InstanceTypeInfo{NeuronInfo: &types.NeuronInfo{NeuronDevices: []types.NeuronDeviceInfo{{Name: sdk.String("Trainium2"), Count: sdk.Int32(16)}}}}, 0, "", []string{"neuron", "trainium2"}},
		{types.InstanceTypeInfo{}, 0, "", nil},
	} {
		n, name, features := accelerators(&c.info)
		if n != c.n || name != c.gpu || !slices.Equal(features, c.features) {
			t.Errorf("%d %q %v, want %d %q %v", n, name, features, c.n, c.gpu, c.features)
		}
	}
}

// listServer stands in for the price list: it answers what a filter on instanceType asks.
func listServer(t *testing.T, prices map[string]string, calls *atomic.Int32, status *atomic.Int32) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		body, _ := io.ReadAll(r.Body)
		var in struct {
			Filters []struct{ Field, Value string }
		}
		if err := json.Unmarshal(body, &in); err != nil || r.Header.Get("X-Amz-Target") != "AWSPriceListService.GetProducts" {
			t.Errorf("%s: %s: %v", r.Header.Get("X-Amz-Target"), body, err)
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		if n := int(status.Load()); n != 0 {
			w.WriteHeader(n)
			fmt.Fprint(w, `{"__type":"AccessDeniedException","message":"not for you"}`)
			return
		}
		var list []string
		for _, f := range in.Filters {
			if usd := prices[f.Value]; f.Field == "instanceType" && usd != "" {
				list = append(list, `{"product":{},"terms":{"OnDemand":{"A.B":{"priceDimensions":{"A.B.C":{"unit":"Hrs","pricePerUnit":{"USD":"`+usd+`"}}}}},"Reserved":{}}}`)
			}
		}
		json.NewEncoder(w).Encode(map[string]any{"FormatVersion": "aws_v1", "PriceList": list})
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestPriceList: it is asked once in twelve hours, and left alone for an hour when it does not answer.
func TestPriceList(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	cfg.Types = []string{"c7i.large", "g6.xlarge"}
	var calls, status atomic.Int32
	cfg.PricingEndpoint = listServer(t, map[string]string{"c7i.large": "0.1071000000"}, &calls, &status)
	cfg.Logger = quiet
	now := time.Now()
	cfg.Now = func() time.Time { return now }
	p := open(t, cfg)
	const a, b = "c7i.large/us-east-2a/on-demand", "g6.xlarge/us-east-2a/on-demand"
	if o := providertest.Offer(t, p, a); o.Price != 0.1071 || o.PriceFrom != "price list" || !o.PricedAt.Equal(now) {
		t.Errorf("%+v", o)
	}
	if o := providertest.Offer(t, p, b); o.Price != 0.8048 || o.PriceFrom != "table of 2026-07-20 (karpenter-provider-aws v1.15.1) for us-east-1" {
		t.Errorf("what the list has not: %+v", o)
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("%d calls for two types", n)
	}
	now = now.Add(pricesTTL)
	status.Store(400)
	if o := providertest.Offer(t, p, a); o.Price != 0.1071 {
		t.Errorf("when the list is closed: %+v", o)
	}
	now = now.Add(pricesRest - time.Second)
	providertest.Offer(t, p, a)
	if n := calls.Load(); n != 3 {
		t.Errorf("%d calls: a list that is closed is asked once an hour", n)
	}
	now = now.Add(time.Second)
	status.Store(0)
	providertest.Offer(t, p, a)
	if n := calls.Load(); n != 5 {
		t.Errorf("%d calls after the hour", n)
	}
}

func TestEndpoint(t *testing.T) {
	for region, want := range map[string]string{"us-west-2": "us-east-1", "eu-north-1": "eu-central-1", "ap-southeast-2": "ap-south-1", "sa-east-1": "us-east-1", "me-central-1": "eu-central-1"} {
		if got := endpoint(region); got != want {
			t.Errorf("%s: %s, want %s", region, got, want)
		}
	}
}

// TestOldCatalog: when EC2 cannot be asked, what it said before is good; when it never said anything, its refusal is told.
func TestOldCatalog(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	cfg.Logger = quiet
	now := time.Now()
	cfg.Now = func() time.Time { return now }
	p := open(t, cfg)
	first, err := p.Offerings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Deny("")
	now = now.Add(catalogTTL)
	second, err := p.Offerings(t.Context())
	if err != nil || len(second) != len(first) {
		t.Errorf("%d offerings, and %d when EC2 refuses: %v", len(first), len(second), err)
	}
	if _, err := open(t, cfg).Offerings(t.Context()); providertest.KindOf(err) != provider.KindDenied {
		t.Errorf("without permission: %v", err)
	}
}

func TestNoSubnet(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	cfg.Region.Zones = []string{"us-east-2z"}
	if _, err := open(t, cfg).Offerings(t.Context()); providertest.KindOf(err) != provider.KindInvalid || !strings.Contains(err.Error(), "create-default-vpc") {
		t.Errorf("a region without subnets: %v", err)
	}
}

// TestPriceListOfTheStandIn: it answers the pricing API as well, and knows what a market is.
func TestPriceListOfTheStandIn(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	cfg.PricingEndpoint = url
	if o := providertest.Offer(t, open(t, cfg), "c7i.large/us-east-2a/on-demand"); o.Price != 0.08925 || o.PriceFrom != "price list" {
		t.Errorf("%+v", o)
	}
	p := open(t, cfg)
	list, err := p.PriceSource().Prices(t.Context())
	if err != nil || !slices.ContainsFunc(list, func(q prices.Price) bool {
		return q.Key == prices.Key{Cloud: prices.AWS, Type: "c7i.large", Region: "us-east-2", Market: provider.OnDemand} && q.PerHour == 0.08925
	}) || !slices.ContainsFunc(list, func(q prices.Price) bool { return q.Market == provider.Spot && q.Zone != "" }) {
		t.Errorf("asked by a catalogue: %v, %v", list, err)
	}
	c.Deny("pricing:GetProducts")
	if _, err := p.PriceSource().Prices(t.Context()); providertest.KindOf(err) != provider.KindDenied {
		t.Errorf("without permission: %v", err)
	}
	cfg.Logger = quiet
	if o := providertest.Offer(t, open(t, cfg), "c7i.large/us-east-2a/on-demand"); o.Price != 0.08925 || o.PriceFrom != "table of 2026-07-20 (karpenter-provider-aws v1.15.1) for us-east-1" {
		t.Errorf("without permission: %+v", o)
	}
}
