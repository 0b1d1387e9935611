package aws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/federation/driver"
	"fsub/testbed/ec2"
)

// Two daemons with the same names leave each other's machines alone; what was made before there was the tag is everybody's.
func TestInstallations(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	old := open(t, cfg)
	cfg.Installation = "one"
	one := open(t, cfg)
	cfg.Installation = "two"
	two := open(t, cfg)
	var ids []provider.InstanceID
	for i, p := range []*Provider{old, one, two} {
		made, err := p.Create(t.Context(), gang(providertest.Offer(t, p, "c7i.large/us-east-2a/on-demand"), fmt.Sprintf("job-%d", i), 1))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, made[0].ID)
	}
	for name, k := range map[string]struct {
		p    *Provider
		want []provider.InstanceID
	}{"old": {old, slices.Clone(ids)}, "one": {one, slices.Clone(ids[:2])}, "two": {two, []provider.InstanceID{ids[0], ids[2]}}} {
		all, err := k.p.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []provider.InstanceID
		for _, m := range all {
			got = append(got, m.ID)
		}
		slices.Sort(got)
		slices.Sort(k.want)
		if !slices.Equal(got, k.want) {
			t.Errorf("%s sees %v, want %v", name, got, k.want)
		}
	}
	for _, id := range ids {
		if err := old.Delete(t.Context(), []provider.InstanceID{id}); err != nil {
			t.Error(err)
		}
	}
}

// Types that the agent cannot run on are not offered.
func TestArchitectures(t *testing.T) {
	known := map[string]types.InstanceTypeInfo{}
	for name, a := range map[string]types.ArchitectureType{"c7i.large": types.ArchitectureTypeX8664, "c7g.large": types.ArchitectureTypeArm64} {
		known[name] = types.InstanceTypeInfo{InstanceType: types.InstanceType(name), ProcessorInfo: &types.ProcessorInfo{SupportedArchitectures: []types.ArchitectureType{a}}}
	}
	c := &Config{Types: []string{"c7*.large"}}
	if n := len(c.wanted(known)); n != 2 {
		t.Errorf("%d types without a word about the agent, want 2", n)
	}
	c.Arches = []string{"x86_64"}
	if w := c.wanted(known); len(w) != 1 || w[0] != "c7i.large" {
		t.Errorf("with an agent for x86_64: %v", w)
	}
}

// A capacity block is near by itself: no placement group is made for it.
func TestBlockWithoutGroup(t *testing.T) {
	c, url := world(t, ec2.Config{})
	p := open(t, standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey())))
	r := gang(providertest.Offer(t, p, "c7i.large/us-east-2a/on-demand"), "job-1", 2)
	r.Near = true
	for market, group := range map[provider.Market]bool{provider.OnDemand: true, provider.Spot: true, provider.Block: false} {
		r.Offering.Market = market
		_, l, err := p.prepare(t.Context(), &r)
		if err != nil || (l.group != "") != group {
			t.Errorf("%s: group %q, %v", market, l.group, err)
		}
	}
}

// The default images get a root volume that jobs have room on; others stay as they are.
func TestDefaultVolume(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	p := open(t, cfg)
	r := gang(providertest.Offer(t, p, "c7i.large/us-east-2a/on-demand"), "job-1", 1)
	volume := func(p *Provider) string {
		t.Helper()
		reg, l, err := p.prepare(t.Context(), &r)
		if err != nil {
			t.Fatal(err)
		}
		if all := p.runInput(reg, l).BlockDeviceMappings; len(all) == 1 {
			return fmt.Sprint(sdk.ToString(all[0].DeviceName), " ", sdk.ToInt32(all[0].Ebs.VolumeSize))
		}
		return ""
	}
	if got := volume(p); got != "/dev/xvda 100" {
		t.Errorf("default image: %q", got)
	}
	cfg.VolumeGiB = 30
	if got := volume(open(t, cfg)); got != "/dev/xvda 30" {
		t.Errorf("default image with volume_gib: %q", got)
	}
	cfg.VolumeGiB, cfg.Images = 0, map[string]string{"x86_64": "ami-0123"}
	if got := volume(open(t, cfg)); got != "" {
		t.Errorf("an image of one's own: %q", got)
	}
}

// Credentials that cannot be fetched because of the network, or a server's fault, pass; those that are refused deny the cloud.
func TestHiccupOfCredentials(t *testing.T) {
	for want, cause := range map[provider.ErrorKind]error{
		provider.KindUnavailable: &net.OpError{Op: "dial", Err: errors.New("connection reset by peer")},
		provider.KindDenied:      errors.New("no EC2 IMDS role found"),
	} {
		err := refused(fmt.Errorf("operation error EC2: RunInstances, get identity: get credentials: failed to refresh cached credentials, %w", cause))
		if got := providertest.KindOf(err); got != want {
			t.Errorf("%v is %v, want %v", cause, got, want)
		}
	}
	cfg, err := (&Config{}).load(context.Background())
	if err != nil || cfg.Retryer != nil {
		t.Errorf("STS is not asked with the SDK's own retries: %v", err)
	}
	if o := client(cfg, "us-east-2", "").Options(); o.Retryer.MaxAttempts() != 1 {
		t.Errorf("EC2 is asked %d times", o.Retryer.MaxAttempts())
	}
}

// fed site test asks for a dry run of each kind of machine, and starts none.
func TestCheck(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	failed := func(cfg Config) (n int, text string) {
		for _, k := range open(t, cfg).Check(t.Context()) {
			if text += fmt.Sprintln(k); k.Result != driver.CheckOK {
				n++
			}
			if k.Result == driver.CheckFailed && k.Advice == "" {
				t.Errorf("%s: no advice", k.Name)
			}
		}
		return n, text
	}
	if n, text := failed(cfg); n > 0 || !strings.Contains(text, "start c7i.large/us-east-2a/spot") {
		t.Errorf("%d failed:\n%s", n, text)
	}
	if c.Live() != 0 {
		t.Errorf("%d machines were started", c.Live())
	}
	for name, change := range map[string]func(*Config){
		"nobody": func(cfg *Config) { cfg.InstanceProfile = "nobody" },
		"subnet-0123456789abcdef": func(cfg *Config) {
			cfg.Region = Region{Name: c.Region(), Subnets: []string{"subnet-0123456789abcdef"}}
		},
		"sg-0123456789abcdef0": func(cfg *Config) {
			cfg.Region = Region{Name: c.Region(), SecurityGroups: []string{"sg-0123456789abcdef0"}}
		},
		"ami-0123456789abcdef0": func(cfg *Config) { cfg.Images = map[string]string{"x86_64": "ami-0123456789abcdef0"} },
		"nobodys-key":           func(cfg *Config) { cfg.KeyName = "nobodys-key" },
	} {
		wrong := cfg
		change(&wrong)
		if n, text := failed(wrong); n == 0 || !strings.Contains(text, name) {
			t.Errorf("%s, which is not there:\n%s", name, text)
		}
	}
	cfg.CredentialsFile = credentials(t, c.AccessKey(), "wrong")
	if n, text := failed(cfg); n != 1 || !strings.Contains(text, "credentials") {
		t.Errorf("wrong credentials:\n%s", text)
	}
}
