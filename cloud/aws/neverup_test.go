package aws

import (
	"strings"
	"testing"

	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/federation/driver"
	"fsub/testbed/ec2"
)

// find returns a machine as a listing shows it.
func find(t *testing.T, p *Provider, id provider.InstanceID) (found provider.Instance) {
	t.Helper()
	all, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.ID == id {
			found = m
		}
	}
	return found
}

// TestConsole: what a machine has written can be read while it lives and after it has ended; of one that nobody knows it is an error.
func TestConsole(t *testing.T) {
	c, url := world(t, ec2.Config{})
	c.SetBoot(ec2.Pool{}, ec2.Boot{Never: true, Console: "curl: (6) Could not resolve host: login1\n"})
	p := open(t, standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey())))
	made, err := p.Create(t.Context(), gang(providertest.Offer(t, p, "c7i.large/us-east-2a/on-demand"), "g", 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, ended := range []bool{false, true} {
		if ended {
			if err := p.Delete(t.Context(), idsOf(made)); err != nil {
				t.Fatal(err)
			}
			providertest.Wait(t, "it has ended", func() bool { return find(t, p, made[0].ID).State == provider.InstanceEnded })
		}
		if text, err := p.Console(t.Context(), made[0].ID); err != nil || !strings.Contains(text, "resolve host: login1") {
			t.Errorf("ended %t: %q, %v", ended, text, err)
		}
	}
	if text, err := p.Console(t.Context(), "i-0123456789abcdef0"); providertest.KindOf(err) != provider.KindNotFound {
		t.Errorf("of no machine: %q, %v", text, err)
	}
}

// TestKeyOfDisks: a key that cannot be used is found out after RunInstances has answered. It is a refusal of its own kind, with what to do; other ends are none.
func TestKeyOfDisks(t *testing.T) {
	for why, refused := range map[string]bool{"Client.InvalidKMSKey.InvalidState": true, "Client.InternalError": true, "Server.InternalError": false} {
		c, url := world(t, ec2.Config{})
		c.SetBoot(ec2.Pool{}, ec2.Boot{Die: 1, Why: why})
		p := open(t, standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey())))
		made, err := p.Create(t.Context(), gang(providertest.Offer(t, p, "c7i.large/us-east-2a/on-demand"), "g", 1))
		if err != nil {
			t.Fatal(err)
		}
		providertest.Wait(t, "it has ended", func() bool { return find(t, p, made[0].ID).State == provider.InstanceEnded })
		e := find(t, p, made[0].ID).Refused
		if (e != nil) != refused || refused && (e.Kind != provider.KindKey || e.Code != why || !strings.Contains(e.Text, "policy-kms.json")) {
			t.Errorf("%s: %v", why, e)
		}
	}
}

// TestSubnetWithoutRoute: of several subnets in a zone the first that machines get out of is taken, and fed site test warns of what has none.
func TestSubnetWithoutRoute(t *testing.T) {
	c, url := world(t, ec2.Config{Zones: []string{"us-east-2a"}, Subnets: []ec2.Subnet{
		{ID: "subnet-0a", Zone: "us-east-2a"}, {ID: "subnet-0b", Zone: "us-east-2a", Route: "igw-1", NoAddress: true}, {ID: "subnet-0c", Zone: "us-east-2a", Route: "nat-1"}, {ID: "subnet-0d", Zone: "us-east-2a", Route: "nat-1"},
	}})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	chosen := func(subnets ...string) (string, driver.SiteCheck) {
		t.Helper()
		cfg.Region.Subnets = subnets
		p := open(t, cfg)
		known, err := p.region.known(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return known.subnet["us-east-2a"].id, p.checkRoutes(t.Context(), p.region, known, false)
	}
	for want, k := range map[string]struct {
		of     []string
		result driver.CheckResult
	}{
		"subnet-0c": {nil, driver.CheckOK}, "subnet-0d": {[]string{"subnet-0a", "subnet-0b", "subnet-0d"}, driver.CheckOK},
		"subnet-0a": {[]string{"subnet-0a", "subnet-0b"}, driver.CheckWarning}, "subnet-0b": {[]string{"subnet-0b"}, driver.CheckWarning},
	} {
		if got, check := chosen(k.of...); got != want || check.Result != k.result || (check.Result == driver.CheckWarning) != (check.Advice != "") {
			t.Errorf("of %v: %s, %+v", k.of, got, check)
		}
	}
	c.Deny("DescribeRouteTables") // a role of before
	if got, check := chosen(); got != "subnet-0a" || check.Result != driver.CheckWarning {
		t.Errorf("unseen: %s, %+v", got, check)
	}
}

// TestGroupsForEFA: the group that Amazon makes lets no EFA traffic out to itself. Near machines with EFA are refused until it does, and fed site test says so.
func TestGroupsForEFA(t *testing.T) {
	for good, want := range map[bool]driver.CheckResult{false: driver.CheckFailed, true: driver.CheckOK} {
		c, url := world(t, ec2.Config{SelfEgress: good})
		cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
		cfg.Types = []string{"p5.48xlarge"}
		p := open(t, cfg)
		r := gang(providertest.Offer(t, p, "p5.48xlarge/us-east-2a/spot"), "g", 2)
		r.Near = true
		_, err := p.Create(t.Context(), r)
		if (err == nil) != good || !good && (providertest.KindOf(err) != provider.KindInvalid || !strings.Contains(err.Error(), "authorize-security-group-egress")) {
			t.Errorf("self egress %t: %v", good, err)
		}
		if c.Count("CreatePlacementGroup") > 0 != good {
			t.Errorf("self egress %t: %d placement groups", good, c.Count("CreatePlacementGroup"))
		}
		var got driver.SiteCheck
		for _, k := range p.Check(t.Context()) {
			if strings.HasPrefix(k.Name, "efa") {
				got = k
			}
		}
		if got.Result != want {
			t.Errorf("self egress %t: %+v", good, got)
		}
		c.Deny("DescribeSecurityGroups") // a role of before: nothing is known against them
		r.Token = "h"
		if _, err := open(t, cfg).Create(t.Context(), r); err != nil {
			t.Errorf("unseen: %v", err)
		}
	}
}

// TestQuotas: fed site test says what a new account may have, in machines, and how to get more.
func TestQuotas(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	cfg.PricingEndpoint = url
	cfg.Types = append(cfg.Types, "p5.48xlarge")
	got := func() (ok, short []driver.SiteCheck) {
		for _, k := range open(t, cfg).Check(t.Context()) {
			if strings.HasPrefix(k.Name, "quota") && k.Result == driver.CheckOK {
				ok = append(ok, k)
			} else if strings.HasPrefix(k.Name, "quota") {
				short = append(short, k)
			}
		}
		return ok, short
	}
	ok, short := got()
	if len(ok) != 2 || !strings.Contains(ok[0].Detail, "32 vCPUs, which is 16 x c7i.large") || len(short) != 1 ||
		short[0].Detail != "Running On-Demand P instances: 0 vCPUs, which is 0 x p5.48xlarge" || !strings.Contains(short[0].Advice, "--quota-code L-417A185B") {
		t.Errorf("a new account:\n%+v\n%+v", ok, short)
	}
	c.SetQuota("on-demand", 384)
	if ok, short = got(); len(short) != 0 || len(ok) != 3 || !strings.Contains(ok[2].Detail, "2 x p5.48xlarge") {
		t.Errorf("with more:\n%+v\n%+v", ok, short)
	}
	c.Deny("servicequotas:ListServiceQuotas")
	if ok, short = got(); len(ok) != 0 || len(short) != 1 || !strings.Contains(short[0].Advice, "servicequotas:ListServiceQuotas") {
		t.Errorf("not allowed to look:\n%+v\n%+v", ok, short)
	}
}
