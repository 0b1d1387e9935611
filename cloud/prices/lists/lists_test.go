package lists

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return now }

// answers serves a list's pages: choose says which one a request is for.
func answers(t *testing.T, choose func(r *http.Request) string) (url string, calls *atomic.Int32) {
	calls = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		page := choose(r)
		if page == "" {
			http.Error(w, `{"Error":{"Code":"TooManyRequests","Message":"slower"}}`, http.StatusBadRequest)
			return
		}
		data, err := os.ReadFile("testdata/" + page)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write([]byte(strings.ReplaceAll(string(data), "https://prices.azure.com:443", "http://"+r.Host)))
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

func refresh(t *testing.T, s prices.Source) (*prices.Catalogue, prices.Asked) {
	t.Helper()
	c, err := prices.New(prices.Config{Sources: []prices.Source{s}, Now: clock, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := c.Refresh(context.Background(), true)
	if err != nil || len(asked) != 1 {
		t.Fatalf("%+v, %v", asked, err)
	}
	return c, asked[0]
}

type wanted struct {
	prices.Key
	usd  float64
	from string // what the price is from, in part
}

func is(t *testing.T, c *prices.Catalogue, list []wanted) {
	t.Helper()
	for _, w := range list {
		p, ok := c.Price(w.Key)
		if !ok || math.Abs(float64(p.PerHour)-w.usd) > 1e-6 || !strings.Contains(p.From, w.from) {
			t.Errorf("%+v: $%v from %q, want $%v from %q", w.Key, p.PerHour, p.From, w.usd, w.from)
		}
	}
}

func refusedAs(t *testing.T, a prices.Asked, want map[string]string) {
	t.Helper()
	for _, r := range a.Refused {
		key := r.Type + "/" + string(r.Market)
		if why := want[key]; why == "" || !strings.Contains(r.Why, why) {
			t.Errorf("%s was refused: %s; want %q", key, r.Why, why)
		}
		delete(want, key)
	}
	for key := range want {
		t.Errorf("%s was not refused", key)
	}
}

// TestAzure: the list's pages are read to the end; Windows, low priority and reservations are not what is asked for; what cannot be true is refused and the table's price stays.
func TestAzure(t *testing.T) {
	url, calls := answers(t, func(r *http.Request) string {
		filter := r.URL.Query().Get("$filter")
		if strings.Contains(r.URL.RawQuery, "skip=1000") {
			return "azure-2.json"
		}
		if !strings.Contains(filter, "priceType eq 'Consumption' and armRegionName eq 'eastus' and (armSkuName eq 'Standard_ND96isr_H100_v5' or armSkuName eq ") {
			t.Errorf("the filter is %q", filter)
		}
		return "azure-1.json"
	})
	c, asked := refresh(t, &Azure{Regions: []string{"eastus"}, Types: []string{"Standard_ND96isr_H100_v5", "Standard_NC24ads_A100_v4"}, Endpoint: url, Now: clock})
	if calls.Load() != 2 || asked.Prices != 3 || !asked.At.Equal(now) {
		t.Errorf("%d calls, %+v", calls.Load(), asked)
	}
	key := func(typ string, m provider.Market) prices.Key {
		return prices.Key{Cloud: prices.Azure, Type: typ, Region: "eastus", Market: m}
	}
	is(t, c, []wanted{
		{key("Standard_ND96isr_H100_v5", provider.OnDemand), 98.32, "retail price list"},
		{key("Standard_ND96isr_H100_v5", provider.Spot), 39.5, "retail price list"},
		{key("Standard_NC24ads_A100_v4", provider.OnDemand), 3.9, "retail price list"},
		{key("Standard_NC24ads_A100_v4", provider.Spot), 3.9, "on-demand price, the most it can be"},
		{key("Standard_NC48ads_A100_v4", provider.OnDemand), 7.346, "table of 2026-06-18"},
		{key("Standard_NC96ads_A100_v4", provider.OnDemand), 14.692, "table of 2026-06-18"},
		{key("Standard_ND96amsr_A100_v4", provider.OnDemand), 32.77, "table of 2026-06-18"},
	})
	refusedAs(t, asked, map[string]string{"Standard_NC24ads_A100_v4/spot": "where on-demand costs $3.9", "Standard_NC48ads_A100_v4/on-demand": "invalid price $0.00",
		"Standard_NC96ads_A100_v4/on-demand": "$700 stands for", "Standard_ND96amsr_A100_v4/on-demand": "tenfold"})
}

// TestGoogle: a machine is the sum of its parts, or has no price.
func TestGoogle(t *testing.T) {
	url, _ := answers(t, func(r *http.Request) string {
		if r.URL.Path != "/v1/services/6F81-5844-456A/skus" || r.Header.Get("X-Goog-Api-Key") != "the-key" || strings.Contains(r.URL.RawQuery, "the-key") {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		if r.URL.Query().Get("pageToken") == "CAE=" {
			return "google-2.json"
		}
		return "google-1.json"
	})
	c, asked := refresh(t, &Google{Key: "the-key", Endpoint: url, Now: clock, Types: func() map[string]prices.Shape {
		return map[string]prices.Shape{"n2-standard-8": {CPUs: 8, MemGiB: 32}, "e2-standard-4": {CPUs: 4, MemGiB: 16}, "h3-standard-88": {CPUs: 88, MemGiB: 352}, "e2-standard-4-lssd": {CPUs: 4, MemGiB: 16}}
	}})
	key := func(typ, region string, m provider.Market) prices.Key {
		return prices.Key{Cloud: prices.Google, Type: typ, Region: region, Market: m}
	}
	ssd := 6000 * 0.08 / 730
	is(t, c, []wanted{
		{key("a3-highgpu-8g", "us-central1", provider.OnDemand), 208*0.0293 + 1872*0.00255 + 8*9.796550569 + ssd, "billing catalog"},
		{key("a3-highgpu-8g", "us-central1", provider.Spot), 208*0.0117 + 1872*0.00102 + 8*3.9 + ssd, "billing catalog"},
		{key("g2-standard-4", "us-central1", provider.OnDemand), 4*0.024988 + 16*0.002927 + 0.56004, "billing catalog"},
		{key("g2-standard-4", "us-west1", provider.OnDemand), 0.706832, "table of 2026-08-03"},    // two prices of its GPU
		{key("a2-highgpu-8g", "us-central1", provider.OnDemand), 29.38708, "table of 2026-08-03"}, // its memory is not listed
		{key("e2-standard-4", "us-central1", provider.OnDemand), 4*0.02181159 + 16*0.00292353, "billing catalog"},
		{key("e2-standard-4", "us-central1", provider.Spot), 4*0.008724636 + 16*0.001169412, "billing catalog"},
		{key(prices.TPU("v5p"), "us-east5", provider.OnDemand), 4.2, "billing catalog"},
		{key(prices.TPU("v5p"), "us-east5", provider.Flex), 2.1, "billing catalog"},
		{key(prices.TPU("v5p"), "us-east5", provider.Spot), 2.415, "table of 2024-12-23"},
		{key(prices.TPU("v6e"), "us-east5", provider.OnDemand), 2.7, "table of 2026"},
	})
	for _, k := range []prices.Key{key("a3-megagpu-8g", "us-central1", provider.OnDemand), key("n2-standard-8", "us-central1", provider.OnDemand),
		key("h3-standard-88", "us-central1", provider.OnDemand), key("e2-standard-4-lssd", "us-central1", provider.OnDemand)} {
		if p, ok := c.Price(k); ok {
			t.Errorf("a price without its parts: %+v", p)
		}
	}
	refusedAs(t, asked, map[string]string{"tpu-v5p/spot": "where on-demand costs $4.2", "tpu-v6e/on-demand": "$700 stands for"})
}

// TestListFails: a list that refuses leaves what was known, and its key is in no error.
func TestListFails(t *testing.T) {
	url, _ := answers(t, func(*http.Request) string { return "" })
	for _, s := range []prices.Source{&Google{Key: "the-key", Endpoint: url}, &Azure{Endpoint: url, Regions: []string{"eastus"}}} {
		list, err := s.Prices(t.Context())
		if err == nil || len(list) != 0 || strings.Contains(err.Error(), "the-key") || !strings.Contains(err.Error(), "slower") {
			t.Errorf("%s: %v, %v", s.Name(), list, err)
		}
	}
	dead := &Azure{Endpoint: "http://127.0.0.1:1", Regions: []string{"eastus"}}
	if _, err := dead.Prices(t.Context()); err == nil {
		t.Error("no error where nobody listens")
	}
}
