package azure

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
)

// What Azure refuses although its models let it through.

// versions are those of the API that the SDK's clients ask for, by what they are about. Azure answers many more, and none that it never had.
var versions = map[string][]string{"Microsoft.Compute": {"2026-04-01"}, "Microsoft.Compute/skus": {"2021-07-01"}, "Microsoft.Network": {"2025-05-01", "2018-10-01"}}

// place holds a call's subscription, resource group and version to what there is.
func (c *Cloud) place(path, version string) *armError {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	at := slices.Index(parts, "providers")
	switch {
	case len(parts) < 2 || parts[0] != "subscriptions" || at < 0 || at+2 >= len(parts):
		return &armError{http.StatusNotFound, "InvalidResourceType", "The resource type could not be found: " + path}
	case parts[1] != Subscription:
		return &armError{http.StatusNotFound, "SubscriptionNotFound", "The subscription '" + parts[1] + "' could not be found."}
	case at > 2 && (at != 4 || !strings.EqualFold(parts[3], c.cfg.ResourceGroup)):
		return &armError{http.StatusNotFound, "ResourceGroupNotFound", "Resource group '" + parts[3] + "' could not be found."}
	case version == "":
		return bad("MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
	}
	known := versions[parts[at+1]+"/"+parts[at+2]]
	if known == nil {
		known = append(slices.Clone(versions[parts[at+1]]), versions["Microsoft.Network"][1:]...) // interfaces of Uniform sets are asked for at Microsoft.Compute
	}
	if !slices.Contains(known, version) {
		return bad("NoRegisteredProviderFound", "No registered resource provider found for API version '%s' for type '%s'. The supported api-versions are '%s'.", version, parts[at+2], strings.Join(known, ", "))
	}
	return nil
}

var setName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9_])?$`)

// strict checks what is asked for, beyond what accept does.
func (c *Cloud) strict(m *armcompute.VirtualMachineScaleSet) *armError {
	p := m.Properties
	v := p.VirtualMachineProfile
	spot := v.Priority != nil && *v.Priority == armcompute.VirtualMachinePriorityTypesSpot
	switch {
	case !setName.MatchString(*m.Name):
		return bad("InvalidResourceName", "The resource name '%s' is invalid.", *m.Name)
	case m.Location == nil || !strings.EqualFold(*m.Location, c.cfg.Location):
		return bad("LocationNotAvailableForResourceType", "The provided location is not available for resource type 'Microsoft.Compute/virtualMachineScaleSets'.")
	case v.StorageProfile == nil || !hasImage(v.StorageProfile.ImageReference):
		return bad("InvalidParameter", "Required parameter 'imageReference' is missing (null).")
	case *p.OrchestrationMode == armcompute.OrchestrationModeFlexible && p.PlatformFaultDomainCount == nil:
		return bad("InvalidParameter", "Required parameter 'platformFaultDomainCount' is missing (null).")
	case spot && v.CapacityReservation != nil:
		return bad("OperationNotAllowed", "Capacity reservations are not supported for Spot virtual machines.")
	case v.NetworkProfile == nil || len(v.NetworkProfile.NetworkInterfaceConfigurations) == 0:
		return bad("InvalidParameter", "Required parameter 'networkInterfaceConfigurations' is missing (null).")
	case len(m.Tags) > 50:
		return bad("TooManyTags", "A resource has at most 50 tags, not %d.", len(m.Tags))
	}
	for name, value := range m.Tags {
		if len(name) > 512 || value != nil && len(*value) > 256 {
			return bad("InvalidTagValueLength", "Tag '%.20s' is too long: names have up to 512 characters, values up to 256.", name)
		}
	}
	return nil
}

// hasImage reports whether an image is named: by an ID, or by all of its four words.
func hasImage(r *armcompute.ImageReference) bool {
	if r == nil {
		return false
	}
	for _, id := range []*string{r.ID, r.CommunityGalleryImageID, r.SharedGalleryImageID} {
		if id != nil && *id != "" {
			return true
		}
	}
	return !slices.ContainsFunc([]*string{r.Publisher, r.Offer, r.SKU, r.Version}, func(word *string) bool { return word == nil || *word == "" })
}

// subnetOf is the subnet of an interface; nil: it names none.
func subnetOf(nic *armcompute.VirtualMachineScaleSetNetworkConfiguration) *armcompute.APIEntityReference {
	if nic.Properties == nil || len(nic.Properties.IPConfigurations) == 0 || nic.Properties.IPConfigurations[0].Properties == nil {
		return nil
	}
	return nic.Properties.IPConfigurations[0].Properties.Subnet
}
