package gcp

import (
	"strings"
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/testbed/gce"
	"fsub/testbed/machines"
)

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

func flex(t *testing.T, cfg gce.Config) (*gce.Cloud, *Provider, provider.Offering) {
	c, url := world(t, cfg)
	p := open(t, standIn(c, url))
	return c, p, providertest.Offer(t, p, "g2-standard-4/us-central1-c/flex")
}

// TestFlexWaits: what is out of stock is queued, each look is one call, and the machines come when there is stock, to a daemon that remembers nothing too.
func TestFlexWaits(t *testing.T) {
	c, p, o := flex(t, gce.Config{})
	c.SetStock(machines.Pool{Type: o.Type}, 1)
	r := gang(o, "g-1", 2)
	for range 3 {
		if _, err := p.Create(t.Context(), r); providertest.KindOf(err) != provider.KindPending {
			t.Fatalf("out of stock: %v", err)
		}
		time.Sleep(60 * time.Millisecond)
	}
	c.ResetCalls()
	if _, err := p.Create(t.Context(), r); providertest.KindOf(err) != provider.KindPending || c.Count("") != 1 {
		t.Errorf("a look at a queued request: %v, %d calls", err, c.Count(""))
	}
	if c.Live() != 0 {
		t.Errorf("%d of 2 machines were made", c.Live())
	}
	p = open(t, p.cfg)
	c.ClearFaults()
	if list := made(t, p, r); len(list) != 2 || list[0].Name != "g-1-a" || list[1].Name != "g-1-b" {
		t.Errorf("made %+v", list)
	}
}

// TestFlexRun: machines are asked for as long as they are wanted, within what Google and the configuration allow: in the template as in the request.
func TestFlexRun(t *testing.T) {
	c, p, o := flex(t, gce.Config{})
	if o.Run != 7*24*time.Hour {
		t.Errorf("they are had for %s", o.Run)
	}
	p.cfg.FlexRun = 48 * time.Hour
	for wanted, want := range map[time.Duration]string{0: "172800", 90 * time.Minute: "5400", 2 * time.Minute: "600", 72 * time.Hour: "172800"} {
		c.ResetCalls()
		r := gang(o, "g-"+want+wanted.String(), 1)
		r.Run = wanted
		made(t, p, r)
		found := 0
		for _, call := range c.Calls() {
			body := strings.ReplaceAll(call.Form.Get("Body"), `": `, `":`)
			for _, field := range []string{"maxRunDuration", "requestedRunDuration"} {
				if strings.Contains(body, `"`+field+`":{"seconds":"`+want+`"}`) {
					found++
				}
			}
		}
		if found != 2 {
			t.Errorf("%s: %d of template and request ask for %s s", wanted, found, want)
		}
	}
}

// TestFlexWithdrawn: a request that is taken back makes nothing, and leaves nothing.
func TestFlexWithdrawn(t *testing.T) {
	c, p, o := flex(t, gce.Config{})
	now := time.Now()
	p.now = func() time.Time { return now }
	c.SetStock(machines.Pool{Type: o.Type}, 0)
	r := gang(o, "g-1", 2)
	if _, err := p.Create(t.Context(), r); providertest.KindOf(err) != provider.KindPending {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	for range 3 { // its instance group is not swept while it is queued
		if _, err := p.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
	}
	if c.Left() != 2 {
		t.Fatalf("%d of template and group are there while the request is queued", c.Left())
	}
	p = open(t, p.cfg) // another daemon
	p.now = func() time.Time { return now }
	if err := p.Withdraw(t.Context(), r.Token); err != nil {
		t.Fatal(err)
	}
	c.ClearFaults()
	time.Sleep(150 * time.Millisecond)
	if c.Live() != 0 {
		t.Errorf("a request that was withdrawn made %d machines", c.Live())
	}
	if _, err := p.Create(t.Context(), r); providertest.KindOf(err) != provider.KindConflict {
		t.Errorf("asked again: %v", err)
	}
	providertest.Wait(t, "nothing is left", func() bool {
		now = now.Add(5 * time.Minute)
		if _, err := p.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		return c.Left() == 0
	})
}

// TestFlexLostReplies: the reply to any call that begins a queue is lost, and the daemon forgets all. There is one gang in the end.
func TestFlexLostReplies(t *testing.T) {
	for _, action := range []string{"instanceTemplates.insert", "instanceGroupManagers.insert", "instanceGroupManagerResizeRequests.insert", "instanceGroupManagerResizeRequests.get", "instances.list", "resourcePolicies.insert"} {
		t.Run(action, func(t *testing.T) {
			c, p, o := flex(t, gce.Config{})
			r := gang(o, "g-1", 2)
			r.Near = true
			c.Inject(machines.Fault{Action: action, Kind: machines.LoseReply, Times: 1})
			p.Create(t.Context(), r)
			p = open(t, p.cfg)
			if list := made(t, p, r); len(list) != 2 || c.Live() != 2 {
				t.Errorf("%d machines, %d live", len(list), c.Live())
			}
		})
	}
}

func TestFlexConflict(t *testing.T) {
	c, p, o := flex(t, gce.Config{})
	r := gang(o, "g-1", 2)
	made(t, p, r)
	other := gang(o, "g-1", 3)
	if _, err := p.Create(t.Context(), other); providertest.KindOf(err) != provider.KindConflict || c.Live() != 2 {
		t.Errorf("the token with another count: %v; %d live", err, c.Live())
	}
}

func TestFlexQuota(t *testing.T) {
	c, p, o := flex(t, gce.Config{})
	c.SetQuota("flex", o.CPUs)
	var err error
	providertest.Wait(t, "the request fails", func() bool {
		_, err = p.Create(t.Context(), gang(o, "g-1", 2))
		return providertest.KindOf(err) != provider.KindPending
	})
	if providertest.KindOf(err) != provider.KindQuota || c.Live() != 0 {
		t.Errorf("%v; %d live", err, c.Live())
	}
	providertest.Wait(t, "what was made for it is gone", func() bool { return c.Left() == 0 })
}
