package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"

	"fsub/cloud/provider"
	"fsub/federation/driver"
)

// EC2 counts vCPUs by groups of families, for on-demand machines and for spot ones, as Service
// Quotas names them: "Running On-Demand G and VT instances". So what one type of a group is refused
// for (VcpuLimitExceeded, MaxSpotInstanceCountExceeded) no larger one of it can have. Those of
// reservations were counted when they were made.

// quotaGroups are the groups by the letters of their families, the longer first.
var quotaGroups = []struct{ letters, group string }{
	{"hpc", "HPC"}, {"inf", "Inf"}, {"trn", "Trn"}, {"mac", ""}, {"dl", "DL"}, {"vt", "G and VT"}, {"u-", "High Memory"}, {"u7", "High Memory"},
	{"f", "F"}, {"g", "G and VT"}, {"p", "P"}, {"x", "X"},
	{"a", standard}, {"c", standard}, {"d", standard}, {"h", standard}, {"i", standard}, {"m", standard}, {"r", standard}, {"t", standard}, {"z", standard},
}

const standard = "Standard"

// quotaOf is the group that a type counts to; "" if it is not known, and of reservations.
func quotaOf(typ string, market provider.Market) string {
	if market != provider.OnDemand && market != provider.Spot {
		return ""
	}
	for _, q := range quotaGroups {
		if !strings.HasPrefix(typ, q.letters) {
			continue
		}
		if q.group == "P" && market == provider.Spot && len(typ) > 1 && typ[1] >= '5' { // P5 has a quota of its own there
			return "P" + typ[1:2]
		}
		return q.group
	}
	return ""
}

// quotaCodes are what Service Quotas calls the groups' quotas of vCPUs, on-demand and spot (aws service-quotas list-service-quotas --service-code ec2).
var quotaCodes = map[string][2]string{
	"P": {"L-417A185B", "L-7212CCBC"}, "P5": {"", "L-C4BD4855"}, "G and VT": {"L-DB2E81BA", "L-3819A6DF"}, "Trn": {"L-2C3B7624", "L-6B0D517C"}, "Inf": {"L-1945791B", "L-B5D1601B"},
	"DL": {"L-6E869C2A", "L-85EED4F7"}, "F": {"L-74FC7D96", "L-88CF9481"}, "X": {"L-7295265B", "L-E3A00192"}, "HPC": {"L-F7808C92", ""}, "High Memory": {"L-43DA4232", ""},
	standard: {"L-1216C47A", "L-34B43A08"},
}

// quotaClient asks Service Quotas in a region; nil where something stands in for EC2 alone.
func (p *Provider) quotaClient(region string) *servicequotas.Client {
	if p.cfg.Endpoint != "" && p.cfg.PricingEndpoint == "" {
		return nil
	}
	return servicequotas.NewFromConfig(p.base, func(o *servicequotas.Options) {
		o.Region = region
		if p.cfg.PricingEndpoint != "" {
			o.BaseEndpoint = sdk.String(p.cfg.PricingEndpoint)
		}
	})
}

// checkQuotas says what the account's quotas allow of each type that is offered in a region, in machines. What is in use counts to them, and is not told.
func (p *Provider) checkQuotas(ctx context.Context, region string, offers []provider.Offering) (out []driver.SiteCheck) {
	client := p.quotaClient(region)
	if client == nil {
		return nil
	}
	limit, name := map[string]int{}, map[string]string{}
	in := &servicequotas.ListServiceQuotasInput{ServiceCode: sdk.String("ec2"), MaxResults: sdk.Int32(100)}
	for pages := servicequotas.NewListServiceQuotasPaginator(client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return []driver.SiteCheck{{Name: "quotas " + region, Result: driver.CheckWarning, Detail: refused(err).Error(), Advice: "let the daemon's role look: servicequotas:ListServiceQuotas of cloud/aws/policy.json"}}
		}
		for _, q := range page.Quotas {
			code := sdk.ToString(q.QuotaCode)
			limit[code], name[code] = int(sdk.ToFloat64(q.Value)), sdk.ToString(q.QuotaName)
		}
	}
	least, allows := map[string]int{}, map[string][]string{} // by code
	for _, o := range offers {
		code := quotaCodes[o.Quota][map[provider.Market]int{provider.Spot: 1}[o.Market]]
		if _, known := limit[code]; o.Region != region || !known || o.CPUs == 0 {
			continue
		}
		n := limit[code] / o.CPUs
		text := fmt.Sprintf("%d x %s", n, o.Type)
		if old, ok := least[code]; !ok || n < old {
			least[code] = n
		}
		if !slices.Contains(allows[code], text) {
			allows[code] = append(allows[code], text)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(allows)) {
		k := driver.SiteCheck{Name: "quota " + region, Result: driver.CheckOK, Detail: fmt.Sprintf("%s: %d vCPUs, which is %s", name[code], limit[code], strings.Join(allows[code], " or "))}
		if least[code] == 0 {
			k.Result = driver.CheckWarning
			k.Advice = fmt.Sprintf("aws service-quotas request-service-quota-increase --region %s --service-code ec2 --quota-code %s --desired-value VCPUS", region, code)
		}
		out = append(out, k)
	}
	return out
}
