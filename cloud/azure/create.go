package azure

import (
	"context"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"fsub/cloud/provider"
)

var tokenForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// maxCustomData is what Azure takes, before base64.
const maxCustomData = 64 << 10

// Create makes the gang's scale set, or finds it, and waits for a while until its machines are there. The machines' order is that of their names.
func (p *Provider) Create(ctx context.Context, r provider.Request) ([]provider.Instance, error) {
	name, set, err := p.prepare(ctx, &r)
	if err != nil {
		return nil, err
	}
	return p.goOn(ctx, &gang{p: p, name: name, set: set, count: r.Count}, r.Resume)
}

// prepare checks a request and puts it into Azure's words.
func (p *Provider) prepare(ctx context.Context, r *provider.Request) (string, *armcompute.VirtualMachineScaleSet, error) {
	o := &r.Offering
	switch {
	case !tokenForm.MatchString(r.Token) || r.Count < 1 || len(r.Names) != r.Count || slices.Contains(r.Names, ""):
		return "", nil, provider.Invalid("a gang of %d with %d names and token %q", r.Count, len(r.Names), r.Token)
	case o.Region != p.cfg.Location:
		return "", nil, provider.Invalid("region %s is not configured", o.Region)
	case r.Near && o.MaxGang == 0:
		return "", nil, provider.Invalid("%s has no InfiniBand: its machines cannot be put near each other", o.Type)
	case r.Near && r.Count > o.MaxGang:
		return "", nil, provider.Invalid("%d machines: a placement group of Azure has %d at most", r.Count, o.MaxGang)
	}
	skus, err := p.known(ctx)
	if err != nil {
		return "", nil, err
	}
	size, ok := skus[o.Type]
	if !ok || o.Zone != "" && !slices.Contains(size.zones, zoneNumber(o.Zone)) {
		return "", nil, provider.Invalid("%s is not available in %s", o.Type, o.ID)
	}
	script := []byte(r.Boot.Script())
	if len(script) > maxCustomData {
		return "", nil, provider.Invalid("the boot script has %d bytes, and Azure takes %d", len(script), maxCustomData)
	}
	prefix := flexiblePrefix
	if r.Near {
		prefix = uniformPrefix
	}
	name := p.setName(prefix, r.Token)
	set := &armcompute.VirtualMachineScaleSet{
		Location: &p.cfg.Location, Tags: p.tags(r), SKU: &armcompute.SKU{Name: &o.Type, Tier: ptr("Standard"), Capacity: ptr(int64(r.Count))},
		Properties: &armcompute.VirtualMachineScaleSetProperties{
			OrchestrationMode: ptr(armcompute.OrchestrationModeFlexible), PlatformFaultDomainCount: ptr(int32(1)), SinglePlacementGroup: ptr(false),
			VirtualMachineProfile: p.profile(r, size, base64.StdEncoding.EncodeToString(script)),
		},
	}
	if r.Near {
		s := set.Properties
		s.OrchestrationMode, s.SinglePlacementGroup, s.PlatformFaultDomainCount = ptr(armcompute.OrchestrationModeUniform), ptr(true), nil
		s.Overprovision = ptr(false) // exactly so many
		s.UpgradePolicy = &armcompute.UpgradePolicy{Mode: ptr(armcompute.UpgradeModeManual)}
	}
	if o.Zone != "" {
		set.Zones = []*string{ptr(zoneNumber(o.Zone))}
	}
	if p.cfg.Identity != "" {
		set.Identity = &armcompute.VirtualMachineScaleSetIdentity{
			Type: ptr(armcompute.ResourceIdentityTypeUserAssigned), UserAssignedIdentities: map[string]*armcompute.UserAssignedIdentitiesValue{p.cfg.Identity: {}},
		}
	}
	return name, set, nil
}

// profile is what each machine of a set is like.
func (p *Provider) profile(r *provider.Request, size *size, customData string) *armcompute.VirtualMachineScaleSetVMProfile {
	o := &r.Offering
	v := &armcompute.VirtualMachineScaleSetVMProfile{
		OSProfile: &armcompute.VirtualMachineScaleSetOSProfile{
			ComputerNamePrefix: ptr("fsub"), AdminUsername: ptr("fsub"), CustomData: &customData,
			LinuxConfiguration: &armcompute.LinuxConfiguration{
				DisablePasswordAuthentication: ptr(true),
				SSH:                           &armcompute.SSHConfiguration{PublicKeys: []*armcompute.SSHPublicKey{{Path: ptr("/home/fsub/.ssh/authorized_keys"), KeyData: &p.cfg.SSHKey}}},
			},
		},
		StorageProfile: &armcompute.VirtualMachineScaleSetStorageProfile{
			ImageReference: p.image(o),
			OSDisk: &armcompute.VirtualMachineScaleSetOSDisk{
				CreateOption: ptr(armcompute.DiskCreateOptionTypesFromImage),
				ManagedDisk:  &armcompute.VirtualMachineScaleSetManagedDiskParameters{StorageAccountType: ptr(armcompute.StorageAccountTypesPremiumLRS)},
			},
		},
		NetworkProfile: p.network(size, r.Near),
		// In storage that Azure keeps for it, and charges a few cents a month for: see Console.
		DiagnosticsProfile: &armcompute.DiagnosticsProfile{BootDiagnostics: &armcompute.BootDiagnostics{Enabled: ptr(true)}},
	}
	if !size.premium {
		v.StorageProfile.OSDisk.ManagedDisk.StorageAccountType = ptr(armcompute.StorageAccountTypesStandardSSDLRS)
	}
	if p.cfg.DiskGiB > 0 {
		v.StorageProfile.OSDisk.DiskSizeGB = ptr(int32(p.cfg.DiskGiB))
	} else if _, own := p.cfg.image(o.Type, o.Arch, o.GPUs); !own {
		v.StorageProfile.OSDisk.DiskSizeGB = ptr(int32(defaultDisk))
	}
	if !r.Near { // in Uniform sets disks and interfaces are parts of their machine
		v.StorageProfile.OSDisk.DeleteOption = ptr(armcompute.DiskDeleteOptionTypesDelete)
	}
	if o.Market == provider.Spot {
		v.Priority, v.EvictionPolicy = ptr(armcompute.VirtualMachinePriorityTypesSpot), ptr(armcompute.VirtualMachineEvictionPolicyTypesDelete)
		v.BillingProfile = &armcompute.BillingProfile{MaxPrice: ptr(-1.0)} // the on-demand price
	}
	if o.Reservation != "" {
		v.CapacityReservation = &armcompute.CapacityReservationProfile{
			CapacityReservationGroup: &armcompute.SubResource{ID: ptr(p.cfg.id("Microsoft.Compute/capacityReservationGroups", reservationGroup(o.Reservation)))},
		}
	}
	return v
}

func (p *Provider) network(size *size, uniform bool) *armcompute.VirtualMachineScaleSetNetworkProfile {
	ip := &armcompute.VirtualMachineScaleSetIPConfigurationProperties{Primary: ptr(true), Subnet: &armcompute.APIEntityReference{ID: ptr(p.cfg.subnetID())}}
	nic := &armcompute.VirtualMachineScaleSetNetworkConfigurationProperties{
		Primary: ptr(true), EnableAcceleratedNetworking: ptr(size.accelerated),
		IPConfigurations: []*armcompute.VirtualMachineScaleSetIPConfiguration{{Name: ptr("main"), Properties: ip}},
	}
	if p.cfg.SecurityGroup != "" {
		nic.NetworkSecurityGroup = &armcompute.SubResource{ID: ptr(p.cfg.id("Microsoft.Network/networkSecurityGroups", p.cfg.SecurityGroup))}
	}
	if p.cfg.PublicIP {
		public := &armcompute.VirtualMachineScaleSetPublicIPAddressConfiguration{Name: ptr("public"), Properties: &armcompute.VirtualMachineScaleSetPublicIPAddressConfigurationProperties{}}
		if !uniform {
			public.SKU = &armcompute.PublicIPAddressSKU{Name: ptr(armcompute.PublicIPAddressSKUNameStandard)}
			public.Properties.DeleteOption = ptr(armcompute.DeleteOptionsDelete)
		}
		ip.PublicIPAddressConfiguration = public
	}
	n := &armcompute.VirtualMachineScaleSetNetworkProfile{NetworkInterfaceConfigurations: []*armcompute.VirtualMachineScaleSetNetworkConfiguration{{Name: ptr("main"), Properties: nic}}}
	if !uniform {
		nic.DeleteOption = ptr(armcompute.DeleteOptionsDelete)
		n.NetworkAPIVersion = ptr(armcompute.NetworkAPIVersionTwoThousandTwentyTwo1101)
	}
	return n
}

// image is what the machines of an offering boot.
func (p *Provider) image(o *provider.Offering) *armcompute.ImageReference {
	image, _ := p.cfg.image(o.Type, o.Arch, o.GPUs)
	part := strings.Split(image, ":")
	switch {
	case strings.Contains(strings.ToLower(image), "/communitygalleries/"):
		return &armcompute.ImageReference{CommunityGalleryImageID: &image}
	case len(part) != 4:
		return &armcompute.ImageReference{ID: &image}
	}
	return &armcompute.ImageReference{Publisher: &part[0], Offer: &part[1], SKU: &part[2], Version: &part[3]}
}
