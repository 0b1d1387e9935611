package aws

import (
	"cmp"
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

// Delete ends machines. All that can be ended is, whatever becomes of the others.
func (p *Provider) Delete(ctx context.Context, ids []provider.InstanceID) (first error) {
	for batch := range slices.Chunk(names(ids), terminateMost) {
		first = cmp.Or(first, p.region.terminate(ctx, batch))
	}
	return first
}

// names are the machines, each once and in order.
func names(ids []provider.InstanceID) []string {
	var all []string
	for _, id := range ids {
		all = append(all, string(id))
	}
	slices.Sort(all)
	return slices.Compact(all)
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
func (r *regional) terminate(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := r.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids})
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
		return r.terminate(ctx, rest)
	}
	half := len(ids) / 2
	return errors.Join(r.terminate(ctx, ids[:half]), r.terminate(ctx, ids[half:]))
}

// Withdraw implements provider.Provider: EC2 answers at once, and queues nothing.
func (p *Provider) Withdraw(context.Context, string) error { return nil }
