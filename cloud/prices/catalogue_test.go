package prices

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/federation/decision"
)

// said is a Source that says what it is told to.
type said struct {
	list []Price
	err  error
	n    int
}

func (s *said) Name() string { return "a list" }

func (s *said) Prices(context.Context) ([]Price, error) { s.n++; return s.list, s.err }

func h100(market provider.Market, usd float64, at time.Time) Price {
	return Price{Key: Key{Cloud: Azure, Type: "Standard_ND96isr_H100_v5", Region: "eastus", Market: market}, PerHour: decision.Dollars(usd), At: at, From: "a list"}
}

func open(t *testing.T, cfg Config) *Catalogue {
	cfg.Logger = slog.New(slog.DiscardHandler)
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTables: each row has a price that can be true, a source and a date, and each shape is of a type that there is.
func TestTables(t *testing.T) {
	for k, p := range embedded() {
		var onDemand decision.Dollars
		if k.Market == provider.Spot {
			k.Market = provider.OnDemand
			onDemand = embedded()[k].PerHour
		}
		if why := Check(&p, onDemand, 0); why != "" {
			t.Errorf("%+v: %s", p, why)
		}
		if !strings.Contains(p.From, "(") || p.At.Year() < 2024 {
			t.Errorf("%+v: no source or date", p)
		}
	}
	for key, s := range shapes() {
		if key[0] != AWS && (s.Accelerator == "" || s.Count <= 0) {
			t.Errorf("%v: %+v", key, s)
		}
	}
	var none *Catalogue
	if kinds := none.Accelerators(); !kinds["h100"] || !kinds["tpu-v5p"] || kinds["h1000"] || kinds[""] {
		t.Errorf("accelerators: %v", kinds)
	}
	for _, c := range []struct {
		key  Key
		want decision.Dollars
	}{
		{Key{Google, "a3-highgpu-8g", "us-central1", "us-central1-a", provider.OnDemand}, 88.49},
		{Key{Google, TPU("v5p"), "us-east5", "us-east5-a", provider.Spot}, 2.415},
		{Key{Azure, "Standard_ND96isr_H100_v5", "eastus", "", provider.OnDemand}, 98.32},
	} {
		if p, ok := none.Price(c.key); !ok || p.PerHour != c.want || p.Key != c.key || p.Bound || !p.Stale(time.Now(), MaxAge{}) {
			t.Errorf("%+v: %+v", c.key, p)
		}
	}
}

// TestUnknown: what is not known is not known, and costs nothing never.
func TestUnknown(t *testing.T) {
	c := open(t, Config{})
	if p, ok := c.Price(Key{Google, "a4-highgpu-8g", "us-central1", "", provider.OnDemand}); ok {
		t.Errorf("a price from nowhere: %+v", p)
	}
	p, ok := c.Price(Key{Azure, "Standard_ND96isr_H100_v5", "eastus", "1", provider.Spot})
	if !ok || p.PerHour != 98.32 || !p.Bound || !strings.HasPrefix(p.From, "on-demand price, the most it can be") {
		t.Errorf("spot: %+v", p)
	}
}

// TestRefuse: prices that cannot be true are refused, whatever list says them, and the last good one stays.
func TestRefuse(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := &said{list: []Price{h100(provider.Spot, 30, now), h100(provider.OnDemand, 100, now)}}
	file := filepath.Join(t.TempDir(), "prices.json")
	c := open(t, Config{Sources: []Source{s}, File: file, Now: func() time.Time { return now }})
	if _, err := c.Refresh(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	is := func(c *Catalogue, market provider.Market, want decision.Dollars, age string) {
		t.Helper()
		if p, ok := c.Price(h100(market, 0, now).Key); !ok || p.PerHour != want || p.Age(now) != age || p.From != "a list" {
			t.Errorf("%+v, %s old", p, p.Age(now))
		}
	}
	is(c, provider.OnDemand, 100, "0 min")
	is(c, provider.Spot, 30, "0 min")
	for _, bad := range []struct {
		market provider.Market
		usd    float64
		why    string
	}{
		{provider.OnDemand, 0, "invalid price $0.00"}, {provider.OnDemand, 700, "$700 stands for"}, {provider.OnDemand, 1001, "tenfold"}, {provider.OnDemand, 9.9, "tenfold"},
		{provider.Spot, 100.5, "where on-demand costs $100"}, {provider.Spot, 4.9, "less than 5 %"}, {provider.Spot, -1, "invalid price"},
	} {
		now = now.Add(13 * time.Hour)
		s.list = []Price{h100(bad.market, bad.usd, now)}
		asked, err := c.Refresh(t.Context(), false)
		if err != nil || len(asked) != 1 || asked[0].Prices != 0 || len(asked[0].Refused) != 1 || !strings.Contains(asked[0].Refused[0].Why, bad.why) {
			t.Fatalf("%v at $%g: %+v, %v", bad.market, bad.usd, asked, err)
		}
	}
	is(c, provider.OnDemand, 100, "3 d")
	is(c, provider.Spot, 30, "3 d")
	again := open(t, Config{Sources: []Source{s}, File: file, Now: func() time.Time { return now }})
	is(again, provider.Spot, 30, "3 d")
	if a := again.Asked(); len(a) != 1 || !a[0].At.Equal(now) {
		t.Errorf("how the source answered is forgotten: %+v", a)
	}
}

// TestRefreshFails: a list that does not answer changes nothing, and is not asked again and again.
func TestRefreshFails(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := &said{err: errors.New("no route to host")}
	c := open(t, Config{Sources: []Source{s}, Now: func() time.Time { return now }})
	for range 3 {
		_, _ = c.Refresh(t.Context(), false)
	}
	if s.n != 1 {
		t.Errorf("asked %d times within the interval", s.n)
	}
	if asked, err := c.Refresh(t.Context(), true); err == nil || asked[0].Err == "" || !asked[0].At.IsZero() || s.n != 2 {
		t.Errorf("%+v, %v", asked, err)
	}
	if p, ok := c.Price(h100(provider.OnDemand, 0, now).Key); !ok || !strings.HasPrefix(p.From, "table of 2026-06-18 (") || !p.Stale(now, MaxAge{}) {
		t.Errorf("%+v", p)
	}
}

// TestBadFile: a file that cannot be read is set aside.
func TestBadFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := open(t, Config{File: file})
	if _, err := os.Stat(file + ".bad"); err != nil {
		t.Error(err)
	}
	if _, err := c.Refresh(t.Context(), true); err != nil {
		t.Error(err)
	}
}

// TestAmazon: of most types the table has us-east-1 alone, and spot prices by zone.
func TestAmazon(t *testing.T) {
	if n := len(embedded()); n < 2000 {
		t.Errorf("only %d prices in the tables", n)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	c := open(t, Config{Now: func() time.Time { return now }})
	spot := func(zone string) Key { return Key{AWS, "p5.48xlarge", "us-east-2", zone, provider.Spot} }
	is := func(k Key, usd decision.Dollars, from string) {
		t.Helper()
		if p, ok := c.Price(k); !ok || p.PerHour != usd || !strings.Contains(p.From, from) {
			t.Errorf("%+v: %+v, want $%v from %q", k, p, usd, from)
		}
	}
	is(Key{AWS, "g6.xlarge", "us-east-1", "", provider.OnDemand}, 0.8048, "table of 2026-07-20 (karpenter-provider-aws v1.15.1)")
	is(Key{AWS, "p5.48xlarge", "ap-northeast-1", "", provider.OnDemand}, 68.8, "skypilot-catalog")
	is(Key{AWS, "p5.48xlarge", "mars-north-1", "", provider.OnDemand}, 55.04, "for us-east-1")
	is(spot("use2-az1"), 11.2543, "table of 2026")
	is(spot("nowhere"), 55.04, "on-demand price, the most it can be")
	if p, ok := c.Price(Key{AWS, "trn2.48xlarge", "us-east-2", "", provider.OnDemand}); ok {
		t.Errorf("a price that nobody has published: %+v", p)
	}
	for usd, good := range map[float64]bool{0.00001: false, 0.5: false, 99: false, 14: true} {
		refused := c.Learn([]Price{{Key: spot("use2-az1"), PerHour: decision.Dollars(usd), At: now, From: "spot price history"}})
		if (len(refused) == 0) != good {
			t.Errorf("$%v: %+v", usd, refused)
		}
	}
	is(spot("use2-az1"), 14, "spot price history")
}

// TestBadTable: a row that cannot be read names itself.
func TestBadTable(t *testing.T) {
	for _, row := range []string{"x.y,us-east-1,cheap,,s,2026", "x.y,us-east-1,0,,s,2026", "x.y,us-east-1,1,,s,today", "x.y,us-east-1,1,,s"} {
		if err := (table{}).read(AWS, "type,place,ondemand,spot,source,as_of\n"+row+"\n"); err == nil {
			t.Errorf("%q was taken", row)
		}
	}
}
