package aws

import (
	"context"
	"errors"
	"regexp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"

	"fsub/cloud/provider"
)

// terminateMost is how many machines one call ends: fewer than EC2 takes (1,000), since one bad ID refuses all.
const terminateMost = 200

// Delete ends machines region by region. All that can be ended is, whatever becomes of the others.
func (p *Provider) Delete(ctx context.Context, ids []provider.InstanceID) error {
	var errs []error
	for reg, names := range p.byRegion(ids) {
		slices.Sort(names)
		for batch := range slices.Chunk(slices.Compact(names), terminateMost) {
			if err := p.terminate(ctx, reg, batch); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return errs[0]
}

// unknownIn reports whether a call was refused for machines that EC2 does not know, and which it names.
func unknownIn(err error) (unknown bool, bad []string) {
	var api smithy.APIError
	if !errors.As(err, &api) || meaningOf(api.ErrorCode(), 0).kind != provider.KindNotFound {
		return false, nil
	}
	return true, instanceID.FindAllString(api.ErrorMessage(), -1)
}

func without(ids, bad []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(bad, id) })
}

var instanceID = regexp.MustCompile(`\bi-[0-9A-Za-z-]+`)

// terminate ends machines. Those that EC2 does not know are ended already; it names them, and
// refuses the whole call for each.
func (p *Provider) terminate(ctx context.Context, reg *regional, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := reg.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids})
	if err == nil {
		return nil
	}
	unknown, bad := unknownIn(err)
	err = refused(err)
	var e *provider.Error
	if !errors.As(err, &e) || !unknown && (e.Kind != provider.KindDenied || e.Scope != provider.ScopeOffering) {
		return err
	}
	if len(ids) == 1 {
		if unknown {
			return nil
		}
		return err // protected
	}
	if rest := without(ids, bad); len(rest) < len(ids) {
		return p.terminate(ctx, reg, rest)
	}
	half := len(ids) / 2
	return errors.Join(p.terminate(ctx, reg, ids[:half]), p.terminate(ctx, reg, ids[half:]))
}

// Withdraw implements provider.Provider: EC2 answers at once, and queues nothing.
func (p *Provider) Withdraw(context.Context, string) error { return nil }
