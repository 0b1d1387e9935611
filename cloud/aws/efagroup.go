package aws

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/cloud/provider"
)

// groupsForEFA fails if the machines' security groups do not let EFA traffic through: Amazon demands a group that lets all in from itself and all out to itself,
// and a rule that lets all out to 0.0.0.0/0 is none such. vpc is whose default group is looked at where none is configured.
func (r *regional) groupsForEFA(ctx context.Context, vpc string) error {
	in := &ec2.DescribeSecurityGroupsInput{GroupIds: r.SecurityGroups}
	if len(r.SecurityGroups) == 0 {
		in.Filters = []filter{{Name: sdk.String("vpc-id"), Values: []string{vpc}}, {Name: sdk.String("group-name"), Values: []string{"default"}}}
	}
	got, err := r.ec2.DescribeSecurityGroups(ctx, in)
	if err != nil {
		return refused(err)
	}
	ours := map[string]bool{}
	for _, g := range got.SecurityGroups {
		ours[sdk.ToString(g.GroupId)] = true
	}
	var name string
	inward, outward := false, false
	for _, g := range got.SecurityGroups {
		name = sdk.ToString(g.GroupId)
		inward = inward || letsAll(g.IpPermissions, ours)
		outward = outward || letsAll(g.IpPermissionsEgress, ours)
	}
	var mend []string
	for way, ok := range map[string]bool{"ingress": inward, "egress": outward} {
		if !ok {
			mend = append(mend, fmt.Sprintf("aws ec2 authorize-security-group-%s --region %s --group-id %s --protocol -1 --source-group %[3]s", way, r.Name, name))
		}
	}
	if len(mend) == 0 {
		return nil
	}
	return &provider.Error{Kind: provider.KindInvalid, Scope: provider.ScopeOffering, Code: "EFASecurityGroup",
		Text: fmt.Sprintf("the security group %s drops EFA traffic between its machines: %s", name, strings.Join(mend, "; "))}
}

// letsAll reports whether a rule is for all traffic with one of the groups.
func letsAll(rules []types.IpPermission, groups map[string]bool) bool {
	for _, rule := range rules {
		if sdk.ToString(rule.IpProtocol) != "-1" {
			continue
		}
		for _, pair := range rule.UserIdGroupPairs {
			if groups[sdk.ToString(pair.GroupId)] {
				return true
			}
		}
	}
	return false
}

// mayUseEFA is asked before a gang with EFA is. Groups that were good are not looked at again until the catalog is renewed; where they may not be looked at,
// nothing is known against them.
func (r *regional) mayUseEFA(ctx context.Context, p *Provider, vpc string) error {
	r.memory.mu.Lock()
	known := r.memory.efa
	r.memory.mu.Unlock()
	if known {
		return nil
	}
	err := r.groupsForEFA(ctx, vpc)
	if e := provider.AsError(orInvalid(err)); err != nil && e.Code != "EFASecurityGroup" {
		p.log.Warn("whether the security groups let EFA traffic through is not known", "region", r.Name, "err", err)
		return nil
	}
	if err == nil {
		r.memory.mu.Lock()
		r.memory.efa = true
		r.memory.mu.Unlock()
	}
	return err
}

func orInvalid(err error) error {
	if err == nil {
		return invalid("nothing")
	}
	return err
}
