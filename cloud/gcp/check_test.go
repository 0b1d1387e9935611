package gcp

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cloud/google"
	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/federation/driver"
	"fsub/testbed/gce"
	"fsub/testbed/machines"
)

// checked are the results of a check by their names. Whatever is not well says what to do.
func checked(t *testing.T, p *Provider) map[string]driver.SiteCheck {
	t.Helper()
	found := map[string]driver.SiteCheck{}
	for _, k := range p.Check(t.Context()) {
		found[k.Name] = k
		if k.Detail == "" || k.Result != driver.CheckOK && k.Advice == "" {
			t.Errorf("%+v tells too little", k)
		}
	}
	return found
}

// TestCheck: a project in which all is well, and whatever may be missing on the first day.
func TestCheck(t *testing.T) {
	c, url := world(t, gce.Config{})
	cfg := standIn(c, url)
	cfg.ServiceAccount = "jobs@project-1.iam.gserviceaccount.com"
	for name, k := range checked(t, open(t, cfg)) {
		if k.Result != driver.CheckOK && name != "types" { // flex-start of a G2 has no price in the table
			t.Errorf("%+v", k)
		}
	}

	short, none := open(t, cfg), cfg
	c.Withhold("compute.instances.create", "iam.serviceAccounts.actAs")
	c.SetQuota("spot", 3)
	c.Show("firewalls.list", "", map[string]any{"kind": "compute#firewallList"})
	got := checked(t, short)
	for name, want := range map[string]string{
		"rights": "lacks compute.instances.create", "service account": "may not give machines jobs@", "firewall": "no rule", "quotas": "PREEMPTIBLE_CPUS: 3 left, g2-standard-4 takes 4",
	} {
		if k := got[name]; k.Result == driver.CheckOK || !strings.Contains(k.Detail, want) {
			t.Errorf("%s: %+v", name, k)
		}
	}

	none.NoAddress, none.Images = true, map[string]string{"x86_64/gpu": "debian-cloud/debian-gone"}
	none.Types = []string{"g9-standard-4", "g2-standard-4", "a4-highgpu-8g"}
	c.Show("networks.get", "default", map[string]any{"kind": "compute#network", "name": "default", "subnetworks": []any{}})
	got = checked(t, open(t, none))
	for name, want := range map[string]string{
		"network": "no subnetwork in us-central1", "way out": "no Cloud NAT", "types": "not in the zones: g9-standard-4", "images": "debian-gone",
	} {
		if k := got[name]; k.Result == driver.CheckOK || !strings.Contains(k.Detail, want) {
			t.Errorf("%s: %+v", name, k)
		}
	}
	none.Types, none.Markets = none.Types[2:], []provider.Market{provider.OnDemand}
	if k := checked(t, open(t, none))["types"]; !strings.Contains(k.Detail, "no price is known, so that they are not offered: a4-highgpu-8g on-demand") {
		t.Errorf("%+v", k)
	}

	c.Deny("networks.get", "projects.testIamPermissions")
	got = checked(t, short)
	if got["network"].Result != driver.CheckFailed || !strings.Contains(got["network"].Advice, "cloud/gcp/role.yaml") || got["rights"].Result != driver.CheckWarning {
		t.Errorf("%+v\n%+v", got["network"], got["rights"])
	}
	if calls := c.Calls(); slices.ContainsFunc(calls, func(call machines.Call) bool {
		return !strings.HasSuffix(call.Action, ".get") && !strings.HasSuffix(call.Action, "List") && !strings.HasSuffix(call.Action, ".list") && !strings.HasSuffix(call.Action, "testIamPermissions") && !strings.HasSuffix(call.Action, ".getFromFamily")
	}) {
		t.Errorf("a check changes something: %v", calls)
	}
}

// TestCheckWithoutCredentials: the first line says so, and what to do.
func TestCheckWithoutCredentials(t *testing.T) {
	account := &google.Account{CredentialsFile: "/nonexistent"}
	c, err := account.Check(t.Context(), "project-1", "cloud/gcp/role.yaml")
	if err == nil {
		t.Fatal("credentials were found")
	}
	if k := c.Failed("project", "compute", err, ""); !strings.Contains(k.Advice, "credentials_file") {
		t.Errorf("%+v", k)
	}
}

// TestRole: everything that the driver calls is allowed, and what is allowed beyond that is what Google asks for besides.
func TestRole(t *testing.T) {
	c, url := world(t, gce.Config{})
	cfg := standIn(c, url)
	cfg.NoAddress, cfg.Reservations = true, []string{"paid"}
	p := open(t, cfg)
	checked(t, p)
	for i, m := range []provider.Market{provider.OnDemand, provider.Flex} {
		r := gang(providertest.Offer(t, p, "g2-standard-4/us-central1-a/"+string(m)), "role-"+string(rune('a'+i)), 2)
		r.Near = true
		var made []provider.Instance
		providertest.Wait(t, "machines", func() bool {
			var err error
			made, err = p.Create(t.Context(), r)
			return err == nil
		})
		if _, err := p.Console(t.Context(), made[0].ID); err != nil {
			t.Error(err)
		}
		if err := p.Delete(t.Context(), []provider.InstanceID{made[0].ID, made[1].ID}); err != nil {
			t.Fatal(err)
		}
	}
	queued := gang(providertest.Offer(t, p, "g2-standard-4/us-central1-a/flex"), "role-w", 2)
	p.Create(t.Context(), queued)
	if err := p.Withdraw(t.Context(), queued.Token); err != nil {
		t.Fatal(err)
	}
	looks := time.Duration(0)
	providertest.Wait(t, "nothing is left", func() bool {
		looks++
		p.now = func() time.Time { return time.Now().Add(looks * time.Hour) }
		_, err := p.List(t.Context())
		return err == nil && c.Left() == 0
	})
	allowed := google.Permissions(Role)
	called := map[string]bool{}
	for _, call := range c.Calls() {
		called[permission(call.Action)] = true
	}
	for right := range called {
		if right != "" && !slices.Contains(allowed, right) {
			t.Errorf("%s is called and not allowed", right)
		}
	}
	for _, right := range allowed {
		_, verb, _ := strings.Cut(strings.TrimPrefix(right, "compute."), ".")
		if !called[right] && !strings.HasPrefix(verb, "use") && !strings.HasPrefix(verb, "set") && right != "compute.subnetworks.get" && right != "compute.disks.create" && right != "compute.instances.get" &&
			!strings.HasPrefix(right, "compute.instanceGroups.") && !strings.HasPrefix(right, "compute.instanceGroupManagers.") && right != "compute.instanceTemplates.get" {
			t.Errorf("%s is allowed and never called", right)
		}
	}
}

// permission is what a call takes, as the reference of each method tells; "": none in the project.
func permission(action string) string {
	kind, verb, _ := strings.Cut(action, ".")
	switch {
	case strings.HasSuffix(verb, "testIamPermissions"), kind == "images":
		return ""
	case verb == "wait":
		verb = "get"
	case verb == "aggregatedList":
		verb = "list"
	case verb == "insert", verb == "bulkInsert":
		verb = "create"
	case verb == "deleteInstances":
		verb = "update"
	}
	if kind == "instanceGroupManagerResizeRequests" { // judged as a change of its group
		kind = "instanceGroupManagers"
		if verb != "get" && verb != "list" {
			verb = "update"
		} else {
			verb = "get"
		}
	}
	return "compute." + kind + "." + verb
}

// TestConsole: what a machine has written on its serial port can be read while Google shows it.
func TestConsole(t *testing.T) {
	c, url := world(t, gce.Config{})
	c.SetBoot(machines.Pool{}, machines.Boot{Never: true, Console: "fsub: the machine has no agent\n"})
	p := open(t, standIn(c, url))
	made, err := p.Create(t.Context(), gang(providertest.Offer(t, p, "g2-standard-4/us-central1-a/spot"), "g", 1))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := p.Console(t.Context(), made[0].ID); err != nil || !strings.Contains(text, "no agent") {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := p.Console(t.Context(), "us-central1-a/nobody"); providertest.KindOf(err) != provider.KindNotFound {
		t.Errorf("of no machine: %q, %v", text, err)
	}
}
