package gcp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/cloud/google"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/federation/decision"
	"fsub/testbed/gce"
	"fsub/testbed/machines"
)

// TestNearLeavesNothing: a placement policy goes with its gang, also where the daemon forgot it, and stays while machines use it.
func TestNearLeavesNothing(t *testing.T) {
	c, url := world(t, gce.Config{})
	p := open(t, standIn(c, url))
	now := time.Now()
	p.now = func() time.Time { return now }
	r := gang(providertest.Offer(t, p, "g2-standard-4/us-central1-a/spot"), "g-1", 2)
	r.Near = true
	list := made(t, p, r)
	look := func(p *Provider) {
		t.Helper()
		now = now.Add(3 * time.Minute)
		if _, err := p.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		look(p)
	}
	if c.Left() != 1 {
		t.Fatalf("%d policies while the machines run", c.Left())
	}
	where, err := p.Topology(t.Context(), []provider.InstanceID{list[0].ID, list[1].ID})
	providertest.Wait(t, "they run", func() bool {
		where, err = p.Topology(t.Context(), []provider.InstanceID{list[0].ID, list[1].ID})
		return err != nil || len(where) == 2
	})
	if groups := where[list[0].ID]; err != nil || len(groups) != 4 || groups[0] != "us-central1-a-c1" || groups[1] != "b1" {
		t.Errorf("topology %v, %v", where, err)
	}
	p = open(t, p.cfg)
	p.now = func() time.Time { return now }
	if err := p.Delete(t.Context(), []provider.InstanceID{list[0].ID, list[1].ID}); err != nil {
		t.Fatal(err)
	}
	providertest.Wait(t, "nothing is left", func() bool { look(p); return c.Left() == 0 && c.Live() == 0 })
}

// TestSwitchedOff: a machine that has switched itself off, or whose host failed, is only stopped, and its disk is paid for: the listing deletes it.
func TestSwitchedOff(t *testing.T) {
	c, url := world(t, gce.Config{})
	p := open(t, standIn(c, url))
	list := made(t, p, gang(providertest.Offer(t, p, "g2-standard-4/us-central1-a/on-demand"), "g-1", 2))
	providertest.Wait(t, "both run", func() bool { return c.Instances()[0].Status == "RUNNING" && c.Instances()[1].Status == "RUNNING" })
	if err := c.Kill(string(list[0].ID)); err != nil {
		t.Fatal(err)
	}
	providertest.Wait(t, "it is gone", func() bool {
		all, err := p.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if m.ID == list[0].ID && m.State != provider.InstanceEnding {
				if m.State != provider.InstanceEnding {
					t.Fatalf("a stopped machine is %+v", m)
				}
			}
		}
		return len(all) == 1
	})
	if c.Live() != 1 {
		t.Errorf("%d live", c.Live())
	}
}

// TestPreempted: a spot machine that is taken back goes by itself.
func TestPreempted(t *testing.T) {
	c, url := world(t, gce.Config{Lead: 20 * time.Millisecond})
	p := open(t, standIn(c, url))
	list := made(t, p, gang(providertest.Offer(t, p, "g2-standard-4/us-central1-a/spot"), "g-1", 1))
	providertest.Wait(t, "it runs", func() bool { return c.Instances()[0].Status == "RUNNING" })
	if err := c.Preempt(string(list[0].ID), 0); err != nil {
		t.Fatal(err)
	}
	providertest.Wait(t, "it is gone", func() bool {
		all, err := p.List(t.Context())
		return err == nil && len(all) == 0
	})
}

// TestNoSecretInErrors: what Google echoes of a request is shown without the token that the machines start with.
func TestNoSecretInErrors(t *testing.T) {
	c, url := world(t, gce.Config{})
	p := open(t, standIn(c, url))
	r := gang(providertest.Offer(t, p, "g2-standard-4/us-central1-a/on-demand"), "g-1", 1)
	r.Boot.Token = "secret-of-the-gang"
	c.Inject(machines.Fault{Action: "instances.bulkInsert", Kind: machines.Refuse, Status: 400, Code: "invalid", Text: "Invalid value for field 'resource.metadata': 'token=secret-of-the-gang'", Times: 1})
	_, err := p.Create(t.Context(), r)
	if providertest.KindOf(err) != provider.KindInvalid || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	e := provider.AsError(err)
	for _, wrapped := range e.Unwrap() {
		if strings.Contains(wrapped.Error(), "secret") {
			t.Errorf("wrapped: %v", wrapped)
		}
	}
}

// TestWhatIsAsked: the request says what the configuration and the market want of it.
func TestWhatIsAsked(t *testing.T) {
	c, url := world(t, gce.Config{})
	c.Reserve("us-central1-b", "calendar", "g2-standard-4", 2, "2026-12-01T00:00:00Z")
	cfg := standIn(c, url)
	cfg.Reservations, cfg.NoAddress, cfg.DiskGiB, cfg.Labels = []string{"calendar"}, true, 200, map[string]string{"team": "ml"}
	cfg.Types = append(cfg.Types, "a4-*")
	cfg.Contract = map[string]decision.Dollars{"a4-*": 120}
	p := open(t, cfg)
	for id, wants := range map[string][]string{
		"g2-standard-4/us-central1-a/spot":           {`"provisioningModel":"SPOT"`, `"instanceTerminationAction":"DELETE"`, `"diskSizeGb":"200"`, `"team":"ml"`, `"NO_RESERVATION"`, "pd-balanced", "startup-script"},
		"g2-standard-4/us-central1-b/block/calendar": {`"provisioningModel":"RESERVATION_BOUND"`, `"SPECIFIC_RESERVATION"`, `"calendar"`},
		"a4-highgpu-8g/us-central1-b/on-demand":      {"hyperdisk-balanced", "with-nvidia"},
		"g2-standard-4/us-central1-c/on-demand":      {`"automaticRestart":false`, `"minCount":"2"`, `"count":"2"`},
	} {
		c.ResetCalls()
		made(t, p, gang(providertest.Offer(t, p, id), "g-"+google.LabelValue(id)[:20], 2))
		for _, call := range c.Calls() {
			body := strings.ReplaceAll(call.Form.Get("Body"), `": `, `":`)
			if call.Action != "instances.bulkInsert" {
				continue
			}
			for _, want := range wants {
				if !strings.Contains(body, want) {
					t.Errorf("%s: %s is not in %s", id, want, body)
				}
			}
			if strings.Contains(body, "accessConfigs") {
				t.Errorf("%s: a public address is asked for", id)
			}
		}
	}
	if o := providertest.Offer(t, p, "g2-standard-4/us-central1-b/block/calendar"); !o.Until.Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) || o.Price != 0 || o.Max != 2 {
		t.Errorf("%+v", o)
	}
	if o := providertest.Offer(t, p, "a4-highgpu-8g/us-central1-b/on-demand"); o.GPUType != "b200" || o.GPUs != 8 || o.Price != 120 {
		t.Errorf("%+v", o)
	}
}

// TestNoGPUs: types without accelerators are offered, at the price that the configuration sets for the type or by a pattern; what they hold is told to those who ask Google's list.
func TestNoGPUs(t *testing.T) {
	c, url := world(t, gce.Config{})
	cfg := standIn(c, url)
	var err error
	if cfg.Prices, err = prices.New(prices.Config{}); err != nil {
		t.Fatal(err)
	}
	cfg.Types = []string{"e2-standard-*"}
	for _, entry := range []string{"e2-standard-2", "e2-*"} {
		cfg.Contract = map[string]decision.Dollars{entry: 0.07}
		p := open(t, cfg)
		for i, market := range []string{"on-demand", "spot"} {
			o := providertest.Offer(t, p, "e2-standard-2/us-central1-a/"+market)
			if o.Price != 0.07 || o.CPUs != 2 || o.GPUs != 0 {
				t.Errorf("%s: %+v", entry, o)
			}
			made(t, p, gang(o, fmt.Sprintf("g-%d-%d", len(entry), i), 1))
		}
	}
	if s := cfg.Prices.Shapes(prices.Google)["e2-standard-2"]; s.CPUs != 2 || s.MemGiB != 8 {
		t.Errorf("Google's list is asked for %+v", s)
	}
	asked := 0
	for _, call := range c.Calls() {
		if call.Action == "instances.bulkInsert" && strings.Contains(call.Form.Get("Body"), "debian-12") && strings.Contains(strings.ReplaceAll(call.Form.Get("Body"), `": `, `":`), `"diskSizeGb":"100"`) {
			asked++
		}
	}
	if asked != 4 {
		t.Errorf("%d of 4 gangs got a disk of 100 GiB with the default image", asked)
	}
}

// TestReservations: machines of a reservation have its policies, and one of ours only if it is dense; dense ones are bound to it; one of another project goes by its path.
func TestReservations(t *testing.T) {
	c, url := world(t, gce.Config{})
	for name, as := range map[string][3]string{"plain": {}, "dense": {"DENSE"}, "with-policy": {"", "their-policy"}, "dense-with-policy": {"DENSE", "their-policy"}, "shared": {"", "", "owner-1"}} {
		c.Reserve("us-central1-a", name, "g2-standard-4", 10, "")
		c.ReserveAs("us-central1-a", name, as[0], as[1], as[2])
	}
	cfg := standIn(c, url)
	cfg.Reservations = []string{"plain", "dense", "with-policy", "dense-with-policy", "projects/owner-1/reservations/shared/reservationBlocks/block-1"}
	for id, want := range map[string]struct {
		near  bool
		parts []string
		no    string
	}{
		"plain":             {false, []string{`"values":["plain"]`}, "RESERVATION_BOUND"},
		"dense":             {true, []string{`"RESERVATION_BOUND"`, `"resourcePolicies":["fsub-`}, "their-policy"},
		"with-policy":       {true, []string{`"resourcePolicies":["their-policy"]`}, "RESERVATION_BOUND"},
		"dense-with-policy": {true, []string{`"RESERVATION_BOUND"`, `"resourcePolicies":["their-policy"]`}, `["fsub-`},
		"block-1":           {false, []string{`"values":["projects/owner-1/reservations/shared/reservationBlocks/block-1"]`}, "RESERVATION_BOUND"},
	} {
		p := open(t, cfg)
		o := providertest.Offer(t, p, "g2-standard-4/us-central1-a/reserved/"+id)
		if (o.MaxGang > 0) != want.near {
			t.Errorf("%s: near to each other: %d", id, o.MaxGang)
		}
		r := gang(o, "g-"+id, 2)
		r.Near = want.near
		c.ResetCalls()
		made(t, open(t, cfg), r) // another daemon, which has not listed them yet
		for _, call := range c.Calls() {
			body := strings.NewReplacer(`": `, `":`, `, "`, `,"`).Replace(call.Form.Get("Body"))
			for _, part := range want.parts {
				if call.Action == "instances.bulkInsert" && (!strings.Contains(body, part) || strings.Contains(body, want.no)) {
					t.Errorf("%s: want %s and no %s in %s", id, part, want.no, body)
				}
			}
		}
	}
}
