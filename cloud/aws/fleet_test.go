package aws

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/testbed/ec2"
)

func TestFleet(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	cfg.AnyZone = true
	p := open(t, cfg)
	c.SetStock(ec2.Pool{Zone: "us-east-2a"}, 1) // not enough for the gang
	c.SetStock(ec2.Pool{Zone: "us-east-2b"}, 0)
	r := gang(providertest.Offer(t, p, "c7i.large/us-east-2/spot"), "f-1", 3)
	made, err := p.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	form := last(t, c, "CreateFleet")
	wants(t, form, map[string]string{
		"TagSpecification.1.ResourceType": "fleet", "TagSpecification.2.ResourceType": "instance", "TagSpecification.3.ResourceType": "",
		"Type": "instant", "ClientToken": "f-1", "TargetCapacitySpecification.TotalTargetCapacity": "3", "TargetCapacitySpecification.DefaultTargetCapacityType": "spot",
		"SpotOptions.MinTargetCapacity": "3", "SpotOptions.SingleAvailabilityZone": "true", "SpotOptions.SingleInstanceType": "true",
		"SpotOptions.AllocationStrategy": "price-capacity-optimized", "SpotOptions.InstanceInterruptionBehavior": "terminate",
		"LaunchTemplateConfigs.1.LaunchTemplateSpecification.Version":            "1",
		"LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName": "fsub-aws-f-1-" + r.Hash()[:8],
		"LaunchTemplateConfigs.1.Overrides.3.InstanceType":                       "c7i.large", "LaunchTemplateConfigs.1.Overrides.4.InstanceType": "",
	})
	template := last(t, c, "CreateLaunchTemplate")
	wants(t, template, map[string]string{
		"LaunchTemplateData.ImageId": defaultImages["x86_64"], "LaunchTemplateData.InstanceInitiatedShutdownBehavior": "terminate",
		"LaunchTemplateData.MetadataOptions.HttpTokens": "required", "LaunchTemplateData.MetadataOptions.InstanceMetadataTags": "enabled",
		"LaunchTemplateData.TagSpecification.1.ResourceType": "volume", "LaunchTemplateData.TagSpecification.2.ResourceType": "network-interface",
		"LaunchTemplateData.TagSpecification.3.ResourceType": "", "LaunchTemplateData.InstanceType": "", "LaunchTemplateData.NetworkInterface.1.NetworkCardIndex": "",
	})
	for _, i := range c.Instances() {
		if i.Zone != "us-east-2c" || i.Market != "spot" || i.Tags["fsub-gang"] != "f-1" || i.Tags["fsub-site"] != "aws" || i.UserData != r.Boot.Script() {
			t.Errorf("%+v", i)
		}
	}
	names := map[provider.InstanceID]string{}
	for _, m := range made {
		names[m.ID] = m.Name
	}
	listed, err := p.List(t.Context())
	if err != nil || len(listed) != 3 {
		t.Fatalf("%v, %v", listed, err)
	}
	for _, m := range listed {
		if m.Name == "" || m.Name != names[m.ID] || m.Offering != r.Offering.ID {
			t.Errorf("the listing shows %+v, Create said %q", m, names[m.ID])
		}
	}
	if n := c.Count("DeleteLaunchTemplate"); n != 1 {
		t.Errorf("%d templates deleted", n)
	}
}

// TestFleetWithoutNames: a machine that could not be named has no name, and not that of the whole gang.
func TestFleetWithoutNames(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	cfg.AnyZone, cfg.Logger = true, quiet
	p := open(t, cfg)
	o := providertest.Offer(t, p, "c7i.large/us-east-2/on-demand")
	c.Deny("CreateTags")
	made, err := p.Create(t.Context(), gang(o, "f-1", 2))
	if err != nil || made[1].Name != "aws-pool-8" {
		t.Fatalf("%+v, %v", made, err)
	}
	listed, err := p.List(t.Context())
	if err != nil || len(listed) != 2 || listed[0].Name != "" || listed[1].Name != "" {
		t.Errorf("%+v, %v", listed, err)
	}
}

// TestFleetError: of several zones' errors that is told which the next call can do least about.
func TestFleetError(t *testing.T) {
	for codes, want := range map[string]string{
		"InsufficientInstanceCapacity InvalidParameterValue":     "InsufficientInstanceCapacity",
		"InvalidParameterValue InsufficientInstanceCapacity":     "InsufficientInstanceCapacity",
		"InsufficientInstanceCapacity VcpuLimitExceeded":         "VcpuLimitExceeded",
		"VcpuLimitExceeded UnauthorizedOperation":                "UnauthorizedOperation",
		"InvalidParameterValue Unsupported":                      "Unsupported",
		"InternalError InvalidParameterValue":                    "InternalError",
		"UnfulfillableCapacity InsufficientInstanceCapacity":     "UnfulfillableCapacity",
		"InsufficientFreeAddressesInSubnet UnsupportedOperation": "InsufficientFreeAddressesInSubnet",
	} {
		var all []types.CreateFleetError
		for code := range strings.FieldsSeq(codes) {
			all = append(all, types.CreateFleetError{ErrorCode: &code})
		}
		var e *provider.Error
		if err := fleetError(all); !asError(err, &e) || e.Code != want {
			t.Errorf("%s: %v, want %s", codes, err, want)
		}
	}
	if err := fleetError(nil); err != nil {
		t.Error(err)
	}
}
