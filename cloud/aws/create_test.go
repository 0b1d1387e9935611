package aws

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/testbed/ec2"
)

func gang(o provider.Offering, token string, count int) provider.Request {
	r := provider.Request{Token: token, Site: "aws", Offering: o, Count: count, Boot: agentapi.Boot{
		URL: "https://10.0.0.1:6820", Pin: "cGlu", Token: "one-time", Agent: strings.Repeat("ab", 32), Lease: time.Minute, Metadata: "ec2", PowerOff: true,
		Expires: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
	}}
	for i := range count {
		r.Names = append(r.Names, fmt.Sprintf("aws-pool-%d", 7+i))
	}
	return r
}

// last returns the parameters of the last call of an action.
func last(t *testing.T, c *ec2.Cloud, action string) url.Values {
	t.Helper()
	all := c.Calls()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Action == action {
			return all[i].Form
		}
	}
	t.Fatalf("%s was not called", action)
	return nil
}

func wants(t *testing.T, form url.Values, want map[string]string) {
	t.Helper()
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if got := form.Get(k); got != want[k] {
			t.Errorf("%s is %q, want %q", k, got, want[k])
		}
	}
}

// tagsIn are the tags of the n-th specification (from 1) of a request.
func tagsIn(form url.Values, prefix string, n int) map[string]string {
	tags := map[string]string{}
	for i := 1; form.Has(fmt.Sprintf("%sTagSpecification.%d.Tag.%d.Key", prefix, n, i)); i++ {
		at := fmt.Sprintf("%sTagSpecification.%d.Tag.%d.", prefix, n, i)
		tags[form.Get(at+"Key")] = form.Get(at + "Value")
	}
	return tags
}

func TestRunInstances(t *testing.T) {
	c, url := world(t, ec2.Config{Profiles: []string{"fsub-node"}})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	cfg.Tags, cfg.KeyName, cfg.InstanceProfile, cfg.VolumeGiB, cfg.RootDevice = map[string]string{"cost-center": "42/b"}, "", "fsub-node", 200, "/dev/xvda"
	p := open(t, cfg)
	r := gang(providertest.Offer(t, p, "c7i.large/us-east-2a/spot"), "job-1-1", 3)
	made, err := p.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	form := last(t, c, "RunInstances")
	wants(t, form, map[string]string{
		"MinCount": "3", "MaxCount": "3", "ClientToken": "job-1-1", "InstanceType": "c7i.large",
		"ImageId": defaultImages["x86_64"], "InstanceInitiatedShutdownBehavior": "terminate",
		"MetadataOptions.HttpTokens": "required", "MetadataOptions.InstanceMetadataTags": "enabled",
		"InstanceMarketOptions.MarketType": "spot", "InstanceMarketOptions.SpotOptions.SpotInstanceType": "one-time",
		"InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior": "terminate", "InstanceMarketOptions.SpotOptions.MaxPrice": "",
		"IamInstanceProfile.Name": "fsub-node", "BlockDeviceMapping.1.Ebs.VolumeSize": "200", "BlockDeviceMapping.1.Ebs.VolumeType": "gp3",
		"BlockDeviceMapping.1.Ebs.DeleteOnTermination": "true", "BlockDeviceMapping.1.DeviceName": "/dev/xvda", "Placement.GroupName": "", "KeyName": "",
	})
	kinds := map[string]bool{}
	for i := 1; i <= 4; i++ {
		kinds[form.Get(fmt.Sprintf("TagSpecification.%d.ResourceType", i))] = true
		want := map[string]string{
			"fsub-federation": "test", "fsub-site": "aws", "fsub-gang": "job-1-1", "fsub-offering": r.Offering.ID, "fsub-names": "aws-pool-[7-9]",
			"Name": "aws-pool-[7-9]", "fsub-request": r.Hash(), "cost-center": "42/b",
		}
		if got := tagsIn(form, "", i); !maps.Equal(got, want) {
			t.Errorf("tags %d: %v, want %v", i, got, want)
		}
	}
	if len(kinds) != 4 || !kinds["instance"] || !kinds["volume"] || !kinds["network-interface"] || !kinds["spot-instances-request"] {
		t.Errorf("what is tagged: %v", kinds)
	}
	script, err := base64.StdEncoding.DecodeString(form.Get("UserData"))
	if err != nil || string(script) != r.Boot.Script() || !strings.HasPrefix(string(script), "#!") {
		t.Errorf("user data %q: %v", script, err)
	}
	for i, m := range made {
		if m.Name != r.Names[i] || m.Token != "job-1-1" || m.Offering != r.Offering.ID || m.State != provider.InstancePending {
			t.Errorf("machine %d: %+v", i, m)
		}
	}
	if n := c.Count("RunInstances"); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestTriesOnce: the SDK's own retryer sends a stock-out, which comes with status 500, three times.
func TestTriesOnce(t *testing.T) {
	c, url := world(t, ec2.Config{})
	p := open(t, standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey())))
	r := gang(providertest.Offer(t, p, "c7i.large/us-east-2a/on-demand"), "g", 1)
	for code, kind := range map[string]provider.ErrorKind{
		"InsufficientInstanceCapacity": provider.KindStockOut, "RequestLimitExceeded": provider.KindThrottled, "InternalError": provider.KindUnavailable,
	} {
		c.ResetCalls()
		c.Inject(ec2.Fault{Kind: ec2.Refuse, Code: code})
		if _, err := p.Create(t.Context(), r); providertest.KindOf(err) != kind {
			t.Errorf("%s: %v", code, err)
		}
		if _, err := p.List(t.Context()); err == nil {
			t.Errorf("%s: List went well", code)
		}
		if n, m := c.Count("RunInstances"), c.Count("DescribeInstances"); n != 1 || m != 1 {
			t.Errorf("%s: %d calls of RunInstances, %d of DescribeInstances", code, n, m)
		}
		c.ClearFaults()
	}
}

func TestImages(t *testing.T) {
	c, url := world(t, ec2.Config{Images: []ec2.Image{
		{ID: "ami-00000000000000001", Name: "ours-1", Arch: "x86_64"}, {ID: "ami-00000000000000002", Name: "ours-2", Arch: "x86_64"}, {ID: "ami-00000000000000003", Name: "ours-3", Arch: "arm64"},
	}})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	cfg.Types = append(cfg.Types, "c7g.large", "g6.xlarge")
	cfg.VolumeGiB = 10
	cfg.Images = map[string]string{"x86_64": "ami-00000000000000001", "arm64": "amazon/ours-*", "x86_64/gpu": "amazon/ours-2"}
	p := open(t, cfg)
	for id, want := range map[string]string{"c7i.large": "ami-00000000000000001", "c7g.large": "ami-00000000000000003", "g6.xlarge": "ami-00000000000000002"} {
		if _, err := p.Create(t.Context(), gang(providertest.Offer(t, p, id+"/us-east-2a/on-demand"), "g-"+strings.ReplaceAll(id, ".", "-"), 1)); err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		form := last(t, c, "RunInstances")
		if form.Get("ImageId") != want || form.Get("BlockDeviceMapping.1.DeviceName") == "" {
			t.Errorf("%s boots %s, want %s; root volume %q", id, form.Get("ImageId"), want, form.Get("BlockDeviceMapping.1.DeviceName"))
		}
	}
	cfg.Images = map[string]string{"x86_64": "amazon/theirs-*"}
	p = open(t, cfg)
	if _, err := p.Create(t.Context(), gang(providertest.Offer(t, p, "c7i.large/us-east-2a/on-demand"), "g", 1)); providertest.KindOf(err) != provider.KindInvalid || !strings.Contains(err.Error(), "amazon/theirs-*") {
		t.Errorf("an image that is not there: %v", err)
	}
	cfg.Images = map[string]string{"x86_64": "resolve:ssm:/ours/image"}
	p = open(t, cfg)
	if _, err := p.Create(t.Context(), gang(providertest.Offer(t, p, "c7i.large/us-east-2a/on-demand"), "g", 1)); providertest.KindOf(err) != provider.KindInvalid || !strings.Contains(err.Error(), "/dev/xvda") {
		t.Errorf("a volume without its name: %v", err)
	}
}

// TestSameRequestInOtherWords: a gang that is asked for again after the configuration has changed is the same gang.
func TestSameRequestInOtherWords(t *testing.T) {
	for _, zone := range []string{"us-east-2a", "us-east-2"} {
		c, url := world(t, ec2.Config{})
		cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
		cfg.AnyZone = true
		p := open(t, cfg)
		r := gang(providertest.Offer(t, p, "c7i.large/"+zone+"/on-demand"), "g", 3)
		made, err := p.Create(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Tags, cfg.VolumeGiB, cfg.RootDevice = map[string]string{"new": "yes"}, 50, "/dev/xvda"
		cfg.Markets = []provider.Market{provider.OnDemand}
		again, err := open(t, cfg).Create(t.Context(), r)
		if err != nil || !slices.Equal(idsOf(made), idsOf(again)) || again[2].Name != r.Names[2] {
			t.Errorf("%s: %v became %v, %v", zone, made, again, err)
		}
		if c.Live() != 3 {
			t.Errorf("%s: %d machines", zone, c.Live())
		}
	}
}

func idsOf(all []provider.Instance) []provider.InstanceID {
	var ids []provider.InstanceID
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	return ids
}
