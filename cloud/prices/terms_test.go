package prices

import (
	"context"
	"strings"
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/federation/decision"
	"fsub/federation/driver"
)

// renter is a Provider that has whatever it is asked for.
type renter struct {
	offers []provider.Offering
	have   []provider.Instance
	err    error
}

func (r *renter) Offerings(context.Context) ([]provider.Offering, error) { return r.offers, nil }
func (r *renter) Withdraw(context.Context, string) error                 { return nil }
func (r *renter) Delete(context.Context, []provider.InstanceID) error    { r.have = nil; return nil }
func (r *renter) List(context.Context) ([]provider.Instance, error)      { return r.have, nil }
func (r *renter) Create(_ context.Context, q provider.Request) (made []provider.Instance, err error) {
	if r.err != nil {
		return nil, r.err
	}
	for _, name := range q.Names {
		made = append(made, provider.Instance{ID: provider.InstanceID(name), Token: q.Token, Offering: q.Offering.ID, State: provider.InstanceRunning})
	}
	r.have = append(r.have, made...)
	return made, nil
}

// looker is a renter that can be looked at.
type looker struct{ *renter }

func (looker) Check(context.Context) []driver.SiteCheck {
	return []driver.SiteCheck{{Name: "rights"}}
}
func (looker) Console(context.Context, provider.InstanceID) (string, error) {
	return "login:", nil
}

// TestTermsPass: what a provider can do beyond renting is not lost by a contract.
func TestTermsPass(t *testing.T) {
	w := Terms{Disk: 0.02}.Wrap(looker{&renter{}}, time.Now)
	if c, ok := w.(provider.Checker); !ok || len(c.Check(t.Context())) != 1 {
		t.Error("it is not checked any more")
	}
	if c, ok := w.(provider.Consoler); !ok {
		t.Error("its console is gone")
	} else if text, err := c.Console(t.Context(), "m"); text != "login:" || err != nil {
		t.Errorf("its console shows %q, %v", text, err)
	}
}

// TestTerms: a contract changes prices; a machine costs nothing only if it is paid for and idle.
func TestTerms(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	offer := func(zone string, m provider.Market, usd decision.Dollars) provider.Offering {
		return provider.Offering{ID: "a3-highgpu-8g/" + zone + "/" + string(m), Type: "a3-highgpu-8g", Region: zone[:len(zone)-2], Zone: zone, Market: m, Price: usd, PriceFrom: "billing catalog"}
	}
	r := &renter{offers: []provider.Offering{offer("us-central1-a", provider.OnDemand, 100), offer("us-central1-b", provider.OnDemand, 100), offer("us-west1-a", provider.Spot, 40)}}
	w := Terms{Discounts: []Discount{{Types: "a3-*", Markets: []provider.Market{provider.OnDemand}, Off: 0.25}}, Disk: 0.02,
		Paid: []Paid{{Name: "CUD-7", Types: "a3-highgpu-8g", Region: "us-central1", Machines: 3, Until: now.Add(24 * time.Hour)}}}.Wrap(r, func() time.Time { return now })
	find := func(id string) *provider.Offering {
		list, err := w.Offerings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			if list[i].ID == id {
				return &list[i]
			}
		}
		return nil
	}
	const a, b = "a3-highgpu-8g/us-central1-a/on-demand", "a3-highgpu-8g/us-central1-b/on-demand"
	if o := find(a); o.Price != 75.02 || o.PriceFrom != "billing catalog, less 25 %, with a disk for $0.02 an hour" {
		t.Errorf("%+v", o)
	}
	if o := find("a3-highgpu-8g/us-west1-a/spot"); o.Price != 40.02 {
		t.Errorf("%+v", o)
	}
	if o := find(a + "/paid"); o.Price != 0.02 || o.PriceFrom != "paid for with CUD-7" || o.Max != 3 || !o.Until.Equal(now.Add(24*time.Hour)) {
		t.Errorf("%+v", o)
	}
	create := func(token, id string, names ...string) error {
		_, err := w.Create(t.Context(), provider.Request{Token: token, Offering: *find(id), Count: len(names), Names: names})
		return err
	}
	if err := create("one", a+"/paid", "x", "y"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // before a listing shows them, and after
		if o := find(b + "/paid"); o.Max != 1 {
			t.Errorf("one of three is idle: %+v", o)
		}
		if o := find(a + "/paid"); o.Max != 3 {
			t.Errorf("two run there, one more may: %+v", o)
		}
		if _, err := w.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	late := *find(b + "/paid")
	if _, err := w.Create(t.Context(), provider.Request{Token: "two", Offering: late, Count: 2, Names: []string{"p", "q"}}); err == nil || provider.AsError(err).Kind != provider.KindStockOut || len(r.have) != 2 {
		t.Errorf("more than are paid for: %v, %+v", err, r.have)
	}
	r.err = &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeZone, Text: "none left"}
	if err := create("three", b+"/paid", "p"); err == nil || find(b+"/paid").Max != 1 {
		t.Errorf("what was refused counts: %v", err)
	}
	r.err = &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeCloud, Text: "no answer"}
	if err := create("four", b+"/paid", "p"); err == nil || find(a+"/paid").Max != 2 {
		t.Errorf("what may exist does not count: %v", err)
	}
	now = now.Add(25 * time.Hour)
	if o := find(a + "/paid"); o != nil {
		t.Errorf("the contract is over: %+v", o)
	}
	if p := (Terms{}).Wrap(r, time.Now); p != provider.Provider(r) {
		t.Error("no terms change something")
	}
}

// TestOffers: what is looked for comes by price, whoever has it.
func TestOffers(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	c := open(t, Config{Now: func() time.Time { return now }})
	c.Learn([]Price{{Key: Key{AWS, "p5.48xlarge", "us-east-1", "use1-az4", provider.Spot}, PerHour: 18, At: now, From: "spot price history"}})
	ask, err := ParseAsk("H100:16", false)
	if err != nil {
		t.Fatal(err)
	}
	ask.Region = "us-*"
	list := c.Offers(ask)
	clouds := map[string]bool{}
	for i, o := range list {
		clouds[o.Cloud] = true
		if i > 0 && o.Total < list[i-1].Total || float64(o.Machines)*o.Shape.Count < 16 || o.Total != o.PerHour*decision.Dollars(o.Machines) || !strings.HasPrefix(o.Region, "us-") {
			t.Fatalf("%d: %+v", i, o)
		}
	}
	if !clouds[AWS] || !clouds[Google] || clouds[Azure] {
		t.Errorf("offers of %v", clouds) // Azure's regions are eastus and so on
	}
	ask = Ask{Accelerator: "h100", Cloud: AWS, Market: provider.Spot}
	found := false
	for _, o := range c.Offers(ask) {
		if o.Zone == "use1-az4" {
			if o.Region == "" || o.PerHour != 18 {
				t.Errorf("what the table had of the zone is there still: %+v", o)
			}
			found = true
		}
	}
	if !found {
		t.Error("what was learnt is not offered")
	}
	if ask, err = ParseAsk("v5p:128", true); err != nil || ask.Accelerator != "tpu-v5p" {
		t.Errorf("%+v, %v", ask, err)
	}
	if list := c.Offers(ask); len(list) != 4 || list[0].Machines != 128 || list[0].Total != 2.1*128 || list[0].Market != provider.Spot {
		t.Errorf("%+v", list)
	}
	for text, want := range map[string]string{"h900:8": "there are: ", "h100:many": `invalid number "many"`, "h100:0": "invalid number", "": ""} {
		if _, err := ParseAsk(text, false); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
