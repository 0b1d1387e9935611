package aws

import (
	"fmt"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	sdkec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/cloud/providertest"
	"fsub/testbed/ec2"
)

func TestNear(t *testing.T) {
	c, url := world(t, ec2.Config{SelfEgress: true})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	cfg.Types = append(cfg.Types, "p5.48xlarge")
	cfg.Region.SecurityGroups = []string{group(t, c, url)}
	p := open(t, cfg)
	r := gang(providertest.Offer(t, p, "p5.48xlarge/us-east-2a/on-demand"), "near-1", 2)
	r.Near = true
	if _, err := p.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	wants(t, last(t, c, "CreatePlacementGroup"), map[string]string{"GroupName": "fsub-aws-near-1", "Strategy": "cluster", "TagSpecification.1.ResourceType": "placement-group"})
	form := last(t, c, "RunInstances")
	want := map[string]string{"Placement.GroupName": "fsub-aws-near-1", "SubnetId": "", "SecurityGroupId.1": "", "NetworkInterface.33.NetworkCardIndex": ""}
	for i := range 32 {
		at := fmt.Sprintf("NetworkInterface.%d.", i+1)
		want[at+"NetworkCardIndex"], want[at+"DeviceIndex"], want[at+"InterfaceType"] = fmt.Sprint(i), "1", "efa-only"
		want[at+"SecurityGroupId.1"] = cfg.Region.SecurityGroups[0]
	}
	want["NetworkInterface.1.DeviceIndex"], want["NetworkInterface.1.InterfaceType"] = "0", "efa"
	wants(t, form, want)
	if form.Get("NetworkInterface.1.SubnetId") == "" {
		t.Error("no subnet")
	}
	// Alone, or not near, it has one plain interface.
	if _, err := p.Create(t.Context(), gang(r.Offering, "far-1", 2)); err != nil {
		t.Fatal(err)
	}
	wants(t, last(t, c, "RunInstances"), map[string]string{"Placement.GroupName": "", "NetworkInterface.1.NetworkCardIndex": "", "SecurityGroupId.1": cfg.Region.SecurityGroups[0]})
}

// group is the ID of the stand-in's security group.
func group(t *testing.T, c *ec2.Cloud, url string) string {
	t.Helper()
	p := open(t, standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey())))
	out, err := p.region.ec2.DescribeSecurityGroups(t.Context(), &sdkec2.DescribeSecurityGroupsInput{})
	if err != nil || len(out.SecurityGroups) == 0 {
		t.Fatalf("no security group: %v", err)
	}
	return sdk.ToString(out.SecurityGroups[0].GroupId)
}

// TestEFACards: the first card carries IP, and EFA too unless the type has one card more than EFA interfaces.
func TestEFACards(t *testing.T) {
	info := func(efas, cards int32) *types.InstanceTypeInfo {
		return &types.InstanceTypeInfo{NetworkInfo: &types.NetworkInfo{EfaSupported: sdk.Bool(true), EfaInfo: &types.EfaInfo{MaximumEfaInterfaces: &efas}, MaximumNetworkCards: &cards}}
	}
	for _, c := range []struct {
		efas, cards int32
		first       string
		n           int
	}{{1, 1, "efa", 1}, {4, 4, "efa", 4}, {32, 32, "efa", 32}, {16, 17, "interface", 17}} {
		got := efaCards(info(c.efas, c.cards))
		efas := 0
		for _, one := range got {
			if one.kind != "interface" {
				efas++
			}
		}
		if got[0] != (card{0, 0, c.first}) || len(got) != c.n || efas != int(c.efas) || c.n > 1 && got[c.n-1] != (card{int32(c.n - 1), 1, "efa-only"}) {
			t.Errorf("%d EFA interfaces on %d cards: %v", c.efas, c.cards, got)
		}
	}
}
