package prices

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"fsub/cloud/provider"
	"fsub/federation/decision"
)

// summing is a source that puts prices together from parts.
type summing struct {
	c     *Catalogue
	asked int
}

func (s *summing) Name() string  { return "sums" }
func (s *summing) Cloud() string { return Google }

func (s *summing) Prices(context.Context) (list []Price, err error) {
	s.asked++
	for typ := range s.c.Shapes(Google) {
		list = append(list, Price{Key: Key{Cloud: Google, Type: typ, Region: "here", Market: provider.OnDemand}, PerHour: 0.1, At: time.Now(), From: "sums"})
	}
	return list, nil
}

// TestDescribe: a source that puts prices together is asked at once for types that were not known before, and not again for the same.
func TestDescribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		s := &summing{c: c}
		c.Add(s)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Follow(ctx) }()
		synctest.Wait()
		types := map[string]Shape{"c3-standard-4": {CPUs: 4, MemGiB: 16}, "g2-standard-4": {CPUs: 4, MemGiB: 16}} // the table has the second
		for range 2 {
			c.Describe(Google, types)
			synctest.Wait()
		}
		if _, ok := c.Price(Key{Cloud: Google, Type: "c3-standard-4", Region: "here", Market: provider.OnDemand}); !ok || s.asked != 2 || len(c.Shapes(Google)) != 1 {
			t.Errorf("priced: %t; the source was asked %d times; shapes: %v", ok, s.asked, c.Shapes(Google))
		}
		stop()
		<-done
	})
}

// TestContracted: a contract sets the on-demand price; a spot price of the cloud's own counts, and where there is none the contract's bounds it.
func TestContracted(t *testing.T) {
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	key := func(m provider.Market) Key {
		return Key{Cloud: Google, Type: TPU("v5p"), Region: "us-east5", Market: m}
	}
	own := func(m provider.Market) Price { p, _ := c.Price(key(m)); return p }
	for _, w := range []struct {
		market provider.Market
		usd    float64
		want   Price
	}{
		{provider.OnDemand, 3, Price{PerHour: 3, From: "configuration"}}, {provider.OnDemand, 0, own(provider.OnDemand)}, {provider.Flex, 3, Price{PerHour: 3, From: "configuration"}},
		{provider.Spot, 3, own(provider.Spot)}, {provider.Spot, 0, own(provider.Spot)},
	} {
		p, ok := c.Contracted(key(w.market), decision.Dollars(w.usd), now)
		if !ok || p.PerHour != w.want.PerHour || p.From != w.want.From || p.Bound != w.want.Bound {
			t.Errorf("%s at %v: %+v", w.market, w.usd, p)
		}
	}
	spot := Key{Cloud: Google, Type: "c3-standard-4", Region: "us-east5", Market: provider.Spot}
	if p, ok := c.Contracted(spot, 0.2, now); !ok || p.PerHour != 0.2 || !p.Bound {
		t.Errorf("spot without a price: %+v", p)
	}
	if _, ok := c.Contracted(spot, 0, now); ok {
		t.Error("a price of nothing")
	}
}
