package tpu

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	tpuapi "google.golang.org/api/tpu/v2alpha1"

	"fsub/cloud/google"
	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/federation/decision"
	"fsub/testbed/gce"
	"fsub/testbed/machines"
)

// TestMain hides the environment's own credentials from all tests.
func TestMain(m *testing.M) {
	os.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent")
	os.Exit(m.Run())
}

// world is a stand-in for Google that runs until the test ends, and a configuration for it.
func world(t *testing.T, cfg gce.Config) (*gce.Cloud, Config) {
	t.Helper()
	c := gce.New(cfg)
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
		Section: google.Section{Site: "tpus", Federation: "test", Project: c.Project(), Endpoint: url, Markets: []provider.Market{provider.OnDemand, provider.Spot, provider.Flex}},
		Zones:   []string{"us-central1-a", "us-central1-b"}, Slices: []string{"v5litepod-4", "v5litepod-16", "v5p-256"}, Reservations: []string{"projects/project-1/locations/us-central1-a/reservations/paid"},
		Contract: map[string]decision.Dollars{"v5p": 4.2},
	}
}

func open(t *testing.T, cfg Config) *Provider {
	t.Helper()
	p, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestConformance holds TPUs to what every provider keeps, in each of the ways in which they are asked for. Every request is queued: what a fault makes of it is
// told later, so that these promises are tested here and not in the suite.
func TestConformance(t *testing.T) {
	queued := "every request is queued, so that the first answer is pending: "
	for _, how := range []string{"on-demand", "spot", "flex", "reserved/paid"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			providertest.Run(t, func(t *testing.T) providertest.Harness {
				c, cfg := world(t, gce.Config{})
				stranger := cfg
				stranger.Site = "other"
				return providertest.Harness{
					Provider: open(t, cfg), Site: "tpus", Offering: "v5litepod-4/us-central1-a/" + how, Unknown: "us-central1-a/fsubtpu-0123456789/0",
					Again:    func(t *testing.T) provider.Provider { return open(t, cfg) },
					Stranger: func(t *testing.T) provider.Provider { return open(t, stranger) },
					Break:    func(t *testing.T, f providertest.Fault, o provider.Offering) (func(), error) { return breakIt(c, f) },
					Except: map[string]string{
						"FaultStockOut": queued + "TestStockOut", "FaultQuota": queued + "TestQuota", "CreateAtOnce": queued + "who asks meanwhile hears that it is pending",
						"LostReply": queued + "TestLostReplies", "LostReplyAndRestart": queued + "TestLostReplies", "CreateConflict": queued + "TestConflict",
					},
				}
			})
		})
	}
}

func breakIt(c *gce.Cloud, f providertest.Fault) (func(), error) {
	switch f {
	case providertest.Denied:
		c.Deny("")
	case providertest.Throttled:
		c.Inject(machines.Fault{Kind: machines.Refuse, Code: "rateLimitExceeded", Status: 429})
	case providertest.Unavailable:
		c.Inject(machines.Fault{Kind: machines.LoseRequest})
	default:
		return nil, errors.New("not known")
	}
	return c.ClearFaults, nil
}

// gang is a request for n machines.
func gang(o provider.Offering, token string, n int) provider.Request {
	r := provider.Request{Token: token, Site: "tpus", Offering: o, Count: n, Boot: google.Boot()}
	r.Boot.URL, r.Boot.Token = "https://127.0.0.1:9", "one-time"
	for i := range n {
		r.Names = append(r.Names, fmt.Sprintf("%s-%d", token, i+1))
	}
	return r
}

// made asks for a gang until it is there.
func made(t *testing.T, p *Provider, r provider.Request) []provider.Instance {
	t.Helper()
	var list []provider.Instance
	providertest.Wait(t, r.Token+" is made", func() bool {
		var err error
		if list, err = p.Create(t.Context(), r); err != nil && providertest.KindOf(err) != provider.KindPending && providertest.KindOf(err) != provider.KindUnavailable {
			t.Fatal(err)
		}
		return err == nil
	})
	return list
}

// TestSlices: two slices of v5e, and one of v5p in the shape 4x4x8, get their nodes, hosts, names and order.
func TestSlices(t *testing.T) {
	c, cfg := world(t, gce.Config{})
	p := open(t, cfg)
	v5e := providertest.Offer(t, p, "v5litepod-16/us-central1-a/spot")
	if v5e.Hosts != 4 || v5e.GRES[0].Count != 4 || v5e.CPUs != 112 || !slices.Contains(v5e.Features, "tpu-v5e-4x4") {
		t.Errorf("%+v", v5e)
	}
	list := made(t, p, gang(v5e, "two", 8))
	for i, m := range list {
		gang, slice, _ := gangOf(strings.Split(string(m.ID), "/")[1])
		if m.Name != fmt.Sprintf("two-%d", i+1) || slice != i/4 || !strings.HasSuffix(string(m.ID), fmt.Sprintf("/%d", i%4)) || gang != p.gangName("two") {
			t.Errorf("machine %d: %+v", i, m)
		}
	}
	v5p := providertest.Offer(t, p, "v5p-256/us-central1-b/on-demand")
	if v5p.Hosts != 32 || v5p.Price != 4*4.2 || !slices.Contains(v5p.Features, "tpu-v5p-4x4x8") {
		t.Errorf("%+v", v5p)
	}
	if list := made(t, p, gang(v5p, "cube", 32)); len(list) != 32 || c.Live() != 40 {
		t.Errorf("%d hosts, %d live", len(list), c.Live())
	}
	if _, err := p.Create(t.Context(), gang(v5e, "half", 6)); providertest.KindOf(err) != provider.KindInvalid {
		t.Errorf("a slice and a half: %v", err)
	}
	where, err := p.Topology(t.Context(), []provider.InstanceID{list[0].ID, list[3].ID, list[4].ID})
	if err != nil || where[list[0].ID][1] != where[list[3].ID][1] || where[list[0].ID][1] == where[list[4].ID][1] {
		t.Errorf("%v, %v", where, err)
	}
	if err := p.Delete(t.Context(), []provider.InstanceID{list[5].ID}); err != nil { // one host: its slice goes, and no other
		t.Fatal(err)
	}
	providertest.Wait(t, "the slice is gone", func() bool { return c.Live() == 36 })
}

// TestContract: a contract's price is that on demand; spot slices cost what Google asks.
func TestContract(t *testing.T) {
	_, cfg := world(t, gce.Config{})
	cfg.Contract = map[string]decision.Dollars{"v5e": 1.1, "v5p": 4}
	p := open(t, cfg)
	if on, spot := providertest.Offer(t, p, "v5litepod-4/us-central1-a/on-demand"), providertest.Offer(t, p, "v5litepod-4/us-central1-a/spot"); on.Price != 4*1.1 || spot.Price >= on.Price {
		t.Errorf("on demand $%v, spot $%v from %s", on.Price, spot.Price, spot.PriceFrom)
	}
}

// TestShapes: what does not exist is refused with the nearest that does, and another shape than the best of its size is asked for by its topology.
func TestShapes(t *testing.T) {
	for text, want := range map[string]string{"v5p:4x4x6": "nearest", "v5litepod-24": "nearest", "v9-8": "no such generation", "tpu7x-8": "Kubernetes", "v5p:4x": "invalid TPU topology"} {
		if _, err := parseSlice(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	c, cfg := world(t, gce.Config{})
	cfg.Slices = []string{"v5p:4x4x16", "v5p:4x8x8"}
	p := open(t, cfg)
	made(t, p, gang(providertest.Offer(t, p, "v5p-512-4x4x16/us-central1-a/on-demand"), "long", 64))
	made(t, p, gang(providertest.Offer(t, p, "v5p-512/us-central1-a/on-demand"), "square", 64))
	var bodies []string
	for _, call := range c.Calls() {
		if strings.HasSuffix(call.Action, "queuedResources.create") {
			bodies = append(bodies, call.Form.Get("Body"))
		}
	}
	if !strings.Contains(bodies[0], `"topology":"4x4x16"`) || !strings.Contains(bodies[0], `"V5P"`) || !strings.Contains(bodies[1], `"acceleratorType":"v5p-512"`) {
		t.Errorf("asked for: %s", bodies)
	}
}

// TestFlexRun: slices of the market flex are asked for as long as they are wanted, within what Google and the configuration allow.
func TestFlexRun(t *testing.T) {
	c, cfg := world(t, gce.Config{})
	p := open(t, cfg)
	o := providertest.Offer(t, p, "v5litepod-4/us-central1-a/flex")
	for wanted, want := range map[time.Duration]string{0: "86400s", 90 * time.Minute: "5400s", time.Minute: "600s", 72 * time.Hour: "86400s"} {
		c.ResetCalls()
		r := gang(o, "g-"+want+wanted.String(), 1)
		r.Run = wanted
		made(t, p, r)
		if body := c.Calls()[1].Form.Get("Body"); o.Run != 24*time.Hour || !strings.Contains(body, `"maxRunDuration":"`+want+`"`) {
			t.Errorf("%s of %s: asked for %s", wanted, o.Run, body)
		}
	}
}

// TestSeenLate: a queued resource that Google shows only some time after it has accepted it is pending, and made once.
func TestSeenLate(t *testing.T) {
	c, cfg := world(t, gce.Config{Lag: 300 * time.Millisecond})
	p := open(t, cfg)
	r := gang(providertest.Offer(t, p, "v5litepod-4/us-central1-a/spot"), "g-1", 2)
	if _, err := p.Create(t.Context(), r); providertest.KindOf(err) != provider.KindPending {
		t.Errorf("not shown yet: %v", err)
	}
	if list := made(t, open(t, cfg), r); len(list) != 2 || c.Live() != 2 || c.Left() != 1 {
		t.Errorf("%d machines, %d live, %d left", len(list), c.Live(), c.Left())
	}
}

// TestStockOut: a request waits in the queue, each look is one call, and when its time is over it has failed for want of stock, and leaves nothing.
func TestStockOut(t *testing.T) {
	c, cfg := world(t, gce.Config{})
	cfg.Queue = time.Second
	p := open(t, cfg)
	c.SetStock(machines.Pool{Type: "v5litepod-16"}, 4)
	r := gang(providertest.Offer(t, p, "v5litepod-16/us-central1-a/spot"), "g-1", 8)
	var err error
	providertest.Wait(t, "it waits", func() bool {
		_, err = p.Create(t.Context(), r)
		return strings.Contains(fmt.Sprint(err), "WAITING_FOR_RESOURCES by SERVICE")
	})
	c.ResetCalls()
	if p.Create(t.Context(), r); c.Count("") != 1 || c.Live() != 0 {
		t.Errorf("a look took %d calls; %d live", c.Count(""), c.Live())
	}
	providertest.Wait(t, "it has failed", func() bool {
		_, err = p.Create(t.Context(), r)
		return providertest.KindOf(err) != provider.KindPending
	})
	if e := provider.AsError(err); e.Kind != provider.KindStockOut || e.Scope != provider.ScopeOffering || e.Code != "8" {
		t.Errorf("%+v", e)
	}
	if c.Left() != 0 {
		t.Error("the queued resource is left")
	}
}

func TestQuota(t *testing.T) {
	c, cfg := world(t, gce.Config{})
	p := open(t, cfg)
	c.SetQuota("spot", 3)
	var err error
	providertest.Wait(t, "it has failed", func() bool {
		_, err = p.Create(t.Context(), gang(providertest.Offer(t, p, "v5litepod-16/us-central1-a/spot"), "g-1", 4))
		return providertest.KindOf(err) != provider.KindPending
	})
	if providertest.KindOf(err) != provider.KindQuota || c.Left() != 0 {
		t.Errorf("%v; %d left", err, c.Left())
	}
}

// TestWithdrawn: a request that is taken back makes nothing, and its token makes nothing again.
func TestWithdrawn(t *testing.T) {
	c, cfg := world(t, gce.Config{})
	p := open(t, cfg)
	c.SetStock(machines.Pool{}, 0)
	r := gang(providertest.Offer(t, p, "v5litepod-4/us-central1-b/flex"), "g-1", 2)
	if _, err := p.Create(t.Context(), r); providertest.KindOf(err) != provider.KindPending {
		t.Fatal(err)
	}
	p = open(t, cfg)
	if err := p.Withdraw(t.Context(), r.Token); err != nil {
		t.Fatal(err)
	}
	c.ClearFaults()
	time.Sleep(150 * time.Millisecond)
	if _, err := p.Create(t.Context(), r); providertest.KindOf(err) != provider.KindConflict || c.Live() != 0 || c.Left() != 0 {
		t.Errorf("asked again: %v; %d live, %d left", err, c.Live(), c.Left())
	}
}

// TestLostReplies: the reply to any call is lost, and the daemon forgets all. There is one gang in the end.
func TestLostReplies(t *testing.T) {
	for _, action := range []string{"queuedResources.create", "queuedResources.get", "nodes.list"} {
		t.Run(action, func(t *testing.T) {
			c, cfg := world(t, gce.Config{})
			p := open(t, cfg)
			r := gang(providertest.Offer(t, p, "v5litepod-4/us-central1-a/spot"), "g-1", 2)
			c.Inject(machines.Fault{Action: "projects.locations." + action, Kind: machines.LoseReply, Times: 1})
			p.Create(t.Context(), r)
			p = open(t, cfg)
			if list := made(t, p, r); len(list) != 2 || c.Live() != 2 {
				t.Errorf("%d machines, %d live", len(list), c.Live())
			}
		})
	}
}

func TestConflict(t *testing.T) {
	c, cfg := world(t, gce.Config{})
	p := open(t, cfg)
	o := providertest.Offer(t, p, "v5litepod-4/us-central1-a/spot")
	made(t, p, gang(o, "g-1", 2))
	if _, err := p.Create(t.Context(), gang(o, "g-1", 3)); providertest.KindOf(err) != provider.KindConflict || c.Live() != 2 {
		t.Errorf("the token with another count: %v; %d live", err, c.Live())
	}
}

// TestPreempted: Google leaves a preempted node where it is. The listing says why it ended, and deletes it; then its queued resource goes too.
func TestPreempted(t *testing.T) {
	c, cfg := world(t, gce.Config{Lead: 10 * time.Millisecond})
	p := open(t, cfg)
	list := made(t, p, gang(providertest.Offer(t, p, "v5litepod-16/us-central1-a/spot"), "g-1", 4))
	providertest.Wait(t, "it runs", func() bool { return c.Instances()[3].Status == "RUNNING" })
	if err := c.Preempt(c.Instances()[1].ID, 0); err != nil {
		t.Fatal(err)
	}
	said := map[string]int{}
	providertest.Wait(t, "nothing is left", func() bool {
		all, err := p.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			said[m.Reason]++
		}
		return len(all) == 0 && c.Left() == 0 && c.Live() == 0
	})
	if said["PREEMPTED: the spot slice was taken back"] < len(list) {
		t.Errorf("reasons: %v", said)
	}
}

// TestFailures: what queued resources fail for.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		code int64
		text string
		want provider.ErrorKind
	}{
		{8, "There is no more capacity in the zone", provider.KindStockOut}, {8, "Quota limit 'TPUV5sLitepodPerProjectPerZone' has been exceeded", provider.KindQuota},
		{9, "insufficient reserved capacity", provider.KindStockOut}, {3, "the node was preempted during creation", provider.KindStockOut}, {7, "permission", provider.KindDenied},
		{3, "invalid runtime version", provider.KindInvalid}, {13, "internal", provider.KindStockOut},
	} {
		if e := provider.AsError(failed(&tpuapi.Status{Code: c.code, Message: c.text})); e.Kind != c.want {
			t.Errorf("%d %s: %s", c.code, c.text, e.Kind)
		}
	}
}
