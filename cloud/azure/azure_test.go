package azure

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/federation/decision"
	"fsub/federation/driver"
	standin "fsub/testbed/azure"
	"fsub/testbed/machines"
)

// world is a stand-in for Azure that runs until the test ends, and a configuration for it.
func world(t *testing.T, cfg standin.Config) (*standin.Cloud, Config) {
	t.Helper()
	cfg.Page = 2
	c := standin.New(cfg)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	url, err := c.Start("")
	if err != nil {
		t.Fatal(err)
	}
	return c, Config{
		Site: "azure", Federation: "test", Subscription: standin.Subscription, ResourceGroup: "fsub", Location: "eastus", Subnet: standin.Subnet,
		Endpoint: url, Credential: Token(c.Token()), AnyZone: true,
		Sizes: []string{"Standard_*"}, Contract: map[string]decision.Dollars{"Standard_*": 1},
		Images: map[string]string{"Standard_NV*_A10_v5": "me:grid:24:latest"},
	}
}

func open(t *testing.T, cfg Config) *Provider {
	t.Helper()
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestConformance holds Azure to what every provider keeps, in each of the ways in which machines are asked for.
func TestConformance(t *testing.T) {
	for name, how := range map[string]struct {
		offering string
		near     bool
		unknown  provider.InstanceID
	}{
		"Zone":       {offering: "Standard_NC40ads_H100_v5/eastus-2/on-demand", unknown: "fsub-0123456789abcdef01234567_0a1b2c3d"},
		"Spot":       {offering: "Standard_NV12ads_A10_v5/eastus/spot"},
		"InfiniBand": {offering: "Standard_ND96isr_H100_v5/eastus/on-demand", near: true, unknown: "fsubib-0123456789abcdef01234567_9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			providertest.Run(t, func(t *testing.T) providertest.Harness {
				c, cfg := world(t, standin.Config{})
				stranger := cfg
				stranger.Site = "other"
				brief := func(t *testing.T) provider.Provider {
					p := open(t, cfg)
					p.wait = 3 * time.Second // that what is queued is told sooner
					return p
				}
				return providertest.Harness{
					Provider: brief(t), Site: "azure", Offering: how.offering, Near: how.near, Unknown: how.unknown,
					Again:    brief,
					Stranger: func(t *testing.T) provider.Provider { return open(t, stranger) },
					Break:    func(t *testing.T, f providertest.Fault, o provider.Offering) (func(), error) { return breakIt(c, f, o) },
				}
			})
		})
	}
}

func breakIt(c *standin.Cloud, f providertest.Fault, o provider.Offering) (func(), error) {
	switch f {
	case providertest.StockOut:
		c.SetStock(machines.Pool{Type: o.Type}, 1) // of a gang of two one is made
	case providertest.Quota:
		c.SetQuota(string(o.Market), o.CPUs-1)
	case providertest.Denied:
		c.Deny("")
	case providertest.Throttled:
		c.Inject(machines.Fault{Kind: machines.Refuse, Code: "TooManyRequests", Text: "The request is being throttled.", Status: http.StatusTooManyRequests})
	case providertest.Unavailable:
		c.Inject(machines.Fault{Kind: machines.LoseRequest})
	case providertest.LostReply:
		c.Inject(machines.Fault{Action: "PUT virtualMachineScaleSets", Kind: machines.LoseReply, Times: 1})
	case providertest.Queued:
		c.Hold(true)
		return func() { c.Hold(false) }, nil
	default:
		return nil, errors.New("not known")
	}
	return c.ClearFaults, nil
}

func asked(o provider.Offering, token string, count int) provider.Request {
	r := provider.Request{Token: token, Site: "azure", Offering: o, Count: count, Boot: Boot()}
	for i := range count {
		r.Names = append(r.Names, "azure-"+string(rune('a'+i)))
	}
	return r
}

// TestResume: a request that takes long is gone on with by another Provider from what the first one's answer holds, and by one that has lost that. There is one gang.
func TestResume(t *testing.T) {
	c, cfg := world(t, standin.Config{Making: 700 * time.Millisecond})
	p := open(t, cfg)
	p.wait = 0
	r := asked(providertest.Offer(t, p, "Standard_D4s_v5/eastus/on-demand"), "long", 2)
	_, err := p.Create(t.Context(), r)
	e := provider.AsError(err)
	if err == nil || e.Kind != provider.KindPending || e.Resume == "" || strings.Contains(e.Resume, c.Token()) {
		t.Fatalf("%v, resumed by %q", err, e.Resume)
	}
	again := open(t, cfg)
	again.wait = 0
	lost := r
	if _, err := again.Create(t.Context(), lost); provider.AsError(err).Kind != provider.KindPending {
		t.Errorf("without its token: %v", err)
	}
	r.Resume = e.Resume
	again.wait = time.Minute
	made, err := again.Create(t.Context(), r)
	if err != nil || len(made) != 2 || c.Sets() != 1 {
		t.Fatalf("%v, %v, %d sets", made, err, c.Sets())
	}
	if n := c.Count("PUT virtualMachineScaleSets"); n != 2 {
		t.Errorf("%d requests for a set", n)
	}
	r.Resume = "not JSON"
	if same, err := p.Create(t.Context(), r); err != nil || len(same) != 2 || same[0].ID != made[0].ID || same[1].ID != made[1].ID {
		t.Errorf("%v, %v", same, err)
	}
}

// TestFailedSet: a set that could not be filled is told as what it was only when nothing of it is left, and Withdraw ends one whose asker has gone.
func TestFailedSet(t *testing.T) {
	c, cfg := world(t, standin.Config{Ending: 300 * time.Millisecond})
	p := open(t, cfg)
	p.wait = 0
	c.SetStock(machines.Pool{Zone: "eastus-1"}, 3)
	r := asked(providertest.Offer(t, p, "Standard_D4s_v5/eastus-1/spot"), "half", 4)
	var kinds []string
	for {
		_, err := p.Create(t.Context(), r)
		e := provider.AsError(err)
		kinds = append(kinds, string(e.Kind))
		if e.Kind != provider.KindPending {
			if e.Kind != provider.KindStockOut || e.Code != "ZonalAllocationFailed" || c.Live() != 0 || c.Sets() != 0 {
				t.Fatalf("%v with %d machines and %d sets", e, c.Live(), c.Sets())
			}
			break
		}
		r.Resume = e.Resume
		time.Sleep(50 * time.Millisecond)
	}
	if len(kinds) < 3 {
		t.Errorf("%v", kinds)
	}
	r = asked(r.Offering, "gone", 4)
	p.Create(t.Context(), r)
	if err := p.Withdraw(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	providertest.Wait(t, "nothing is left", func() bool { return c.Sets() == 0 && c.Live() == 0 })
}

// TestSweep: a set without machines stays as long as its token can come again, and is then deleted.
func TestSweep(t *testing.T) {
	c, cfg := world(t, standin.Config{})
	now := time.Now()
	cfg.Now = func() time.Time { return now }
	p := open(t, cfg)
	r := asked(providertest.Offer(t, p, "Standard_D4s_v5/eastus/on-demand"), "short", 2)
	made, err := p.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Delete(t.Context(), []provider.InstanceID{made[0].ID, made[1].ID}); err != nil {
		t.Fatal(err)
	}
	providertest.Wait(t, "no machines", func() bool { return c.Live() == 0 })
	for _, left := range []int{1, 0} {
		providertest.Wait(t, "a listing without machines", func() bool {
			all, err := p.List(t.Context())
			return err == nil && len(all) == 0
		})
		providertest.Wait(t, "the set", func() bool { return c.Sets() == left })
		now = now.Add(createMost + remembered + time.Minute)
	}
}

// TestOfferings: zones, prices, what the subscription may not have, InfiniBand and what is reserved.
func TestOfferings(t *testing.T) {
	ptrs := func(s ...string) (out []*string) {
		for _, one := range s {
			out = append(out, &one)
		}
		return out
	}
	reserved := &armcompute.CapacityReservation{
		Name: ptr("h100s"), Location: ptr("eastus"), SKU: &armcompute.SKU{Name: ptr("Standard_ND96isr_H100_v5"), Capacity: ptr(int64(16))}, Zones: ptrs("1"),
		Properties: &armcompute.CapacityReservationProperties{ProvisioningState: ptr("Succeeded"), ScheduleProfile: &armcompute.ScheduleProfile{Start: ptr("2026-11-01"), End: ptr("2026-11-15")}},
	}
	_, cfg := world(t, standin.Config{Reservations: map[string][]*armcompute.CapacityReservation{"group": {reserved}}})
	cfg.Reservations, cfg.AnyZone = []string{"group", "none"}, false
	cfg.Sizes, cfg.Contract = []string{"Standard_N*"}, nil
	cfg.Now = func() time.Time { return time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC) }
	all, err := open(t, cfg).Offerings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]provider.Offering{}
	for _, o := range all {
		got[o.ID] = o
	}
	if len(got) != 6+2+2+1 {
		t.Errorf("%d offerings: %v", len(got), slices.Sorted(func(yield func(string) bool) {
			for id := range got {
				if !yield(id) {
					return
				}
			}
		}))
	}
	if o := got["Standard_NC40ads_H100_v5/eastus-3/spot"]; o.GPUType != "h100-nvl" || o.GPUs != 1 || o.Zone != "eastus-3" || o.Price <= 0 || o.Interrupts <= 0 || o.MaxGang != 0 {
		t.Errorf("%+v", o)
	}
	if o := got["Standard_NV12ads_A10_v5/eastus/on-demand"]; o.GPUType != "a10-8gb" || o.Price != decision.Dollars(0.908) || o.PriceFrom == "" || o.Quota != "StandardNVADSA10v5Family" {
		t.Errorf("%+v", o)
	}
	if o := got["Standard_ND96isr_H100_v5/eastus-1/block/group"]; o.Market != provider.Block || o.Price != 0 || o.Max != 16 || o.MaxGang != groupMost || !o.Until.Equal(time.Date(2026, 11, 14, 23, 30, 0, 0, time.UTC)) {
		t.Errorf("%+v", o)
	}
}

// TestNoDriver: sizes whose GPUs the default image has no driver for are not offered, and refused where they are named, until an image is named for them.
func TestNoDriver(t *testing.T) {
	_, cfg := world(t, standin.Config{})
	const a10 = "Standard_NV12ads_A10_v5"
	offered := func(images map[string]string, size string) (bool, error) {
		cfg.Images, cfg.Sizes = images, []string{size}
		p, err := New(cfg)
		if err != nil {
			return false, err
		}
		all, err := p.Offerings(t.Context())
		return slices.ContainsFunc(all, func(o provider.Offering) bool { return o.Type == a10 }), err
	}
	if _, err := offered(nil, a10); err == nil || !strings.Contains(err.Error(), "its part of an A10 needs NVIDIA's GRID driver, which the default image lacks: name an image") {
		t.Errorf("%v", err)
	}
	if there, err := offered(nil, "Standard_N*"); there || err != nil {
		t.Errorf("offered: %t, %v", there, err)
	}
	for _, k := range open(t, cfg).Check(t.Context()) {
		if k.Name == "sizes" && (k.Result == driver.CheckOK || !strings.Contains(k.Detail, a10+" (its part of an A10") || k.Advice == "") {
			t.Errorf("%+v", k)
		}
	}
	for _, key := range []string{a10, "Standard_NV*", "x86_64/gpu"} {
		if there, err := offered(map[string]string{key: "me:grid:24:latest"}, a10); !there || err != nil {
			t.Errorf("with an image for %s: offered: %t, %v", key, there, err)
		}
	}
}

// TestRole: everything that is called is allowed, and what is allowed beyond that is what Azure itself does for a scale set.
func TestRole(t *testing.T) {
	c, cfg := world(t, standin.Config{})
	cfg.Reservations = []string{"group"}
	now := time.Now()
	cfg.Now = func() time.Time { return now }
	p := open(t, cfg)
	for i, id := range []string{"Standard_D4s_v5/eastus/spot", "Standard_ND96isr_H100_v5/eastus/on-demand"} {
		r := asked(providertest.Offer(t, p, id), "role-"+string(rune('a'+i)), 2)
		r.Near = i == 1
		made, err := p.Create(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Console(t.Context(), made[0].ID); err != nil {
			t.Error(err)
		}
		if err := p.Delete(t.Context(), []provider.InstanceID{made[0].ID, made[1].ID, made[0].ID[:strings.Index(string(made[0].ID), "_")] + "_77"}); err != nil {
			t.Fatal(err)
		}
	}
	providertest.Wait(t, "no machines", func() bool { return c.Live() == 0 })
	c.SetStock(machines.Pool{}, 0)
	r := asked(providertest.Offer(t, p, "Standard_D4s_v5/eastus/spot"), "role-none", 1)
	c.Inject(machines.Fault{Action: "GET locations/operations", Kind: machines.Refuse, Code: "InternalServerError", Times: 1})
	for range 2 { // the set is found as it failed
		p.Create(t.Context(), r)
		time.Sleep(100 * time.Millisecond)
	}
	p.Check(t.Context())
	var role struct{ Actions []string }
	if err := json.Unmarshal([]byte(Role), &role); err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	for _, call := range c.Calls() {
		verb, what, _ := strings.Cut(call.Action, " ")
		space := "Microsoft.Compute/"
		if what == "networkInterfaces" || strings.HasPrefix(what, "virtualNetworks") {
			space = "Microsoft.Network/"
		}
		called[space+what+map[string]string{"GET": "/read", "PUT": "/write", "DELETE": "/delete", "POST": "/action"}[verb]] = true
	}
	for action := range called {
		if !slices.Contains(role.Actions, action) {
			t.Errorf("%s is called and not allowed", action)
		}
	}
	for _, action := range role.Actions {
		part := strings.Split(action, "/")
		own := slices.Contains([]string{"disks", "networkInterfaces", "publicIPAddresses"}, part[1]) || action == "Microsoft.Compute/virtualMachines/write"
		link := slices.Contains([]string{"join", "deploy", "assign"}, part[len(part)-2])
		if !called[action] && !own && !link {
			t.Errorf("%s is allowed and never called", action)
		}
	}
}

// TestCheck: what is missing on the first day is named, with what to do.
func TestCheck(t *testing.T) {
	c, cfg := world(t, standin.Config{})
	p := open(t, cfg)
	results := func() map[string]driver.SiteCheck {
		found := map[string]driver.SiteCheck{}
		for _, k := range p.Check(t.Context()) {
			found[k.Name] = k
			if k.Result != driver.CheckOK && (k.Detail == "" || k.Advice == "") {
				t.Errorf("%+v tells too little", k)
			}
		}
		return found
	}
	got := results()
	for name, want := range map[string]driver.CheckResult{
		"list scale sets": driver.CheckOK, "make scale sets": driver.CheckOK, "delete scale sets": driver.CheckOK, "delete machines": driver.CheckOK,
		"subnet": driver.CheckWarning, "read sizes": driver.CheckOK, "sizes": driver.CheckWarning, "quotas": driver.CheckOK,
	} {
		if got[name].Result != want {
			t.Errorf("%s: %+v", name, got[name])
		}
	}
	if !strings.Contains(got["sizes"].Detail, "Standard_ND96isr_H200_v5 (NotAvailableForSubscription)") {
		t.Errorf("%+v", got["sizes"])
	}
	c.Deny("PUT virtualMachineScaleSets", "DELETE virtualMachines")
	c.SetQuota("on-demand", 10)
	p.cfg.Subnet = "net/none"
	got = results()
	for _, name := range []string{"make scale sets", "delete machines", "subnet"} {
		if got[name].Result != driver.CheckFailed {
			t.Errorf("%s: %+v", name, got[name])
		}
	}
	if !strings.Contains(got["quotas"].Detail, "standardNDSH100v5Family: 10 left") || c.Sets() != 0 {
		t.Errorf("%+v, %d sets", got["quotas"], c.Sets())
	}
}

// TestConsole: what a machine has written on its serial port can be read, of both kinds of sets.
func TestConsole(t *testing.T) {
	c, cfg := world(t, standin.Config{})
	c.SetBoot(machines.Pool{}, machines.Boot{Never: true, Console: "fsub: the machine has no agent\n"})
	p := open(t, cfg)
	for id, near := range map[string]bool{"Standard_NC40ads_H100_v5/eastus-2/on-demand": false, "Standard_ND96isr_H100_v5/eastus/on-demand": true} {
		r := asked(providertest.Offer(t, p, id), map[bool]string{false: "apart", true: "near"}[near], 1)
		r.Near = near
		made, err := p.Create(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := p.Console(t.Context(), made[0].ID); err != nil || !strings.Contains(text, "no agent") {
			t.Errorf("%s: %q, %v", id, text, err)
		}
	}
	if text, err := p.Console(t.Context(), "fsub-0123456789abcdef01234567_0a1b2c3d"); providertest.KindOf(err) != provider.KindNotFound {
		t.Errorf("of no machine: %q, %v", text, err)
	}
}
