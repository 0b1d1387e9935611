package gcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/iterator"
	"google.golang.org/protobuf/proto"

	"fsub/cloud/google"
	"fsub/cloud/leftovers"
	"fsub/cloud/provider"
)

// Provider rents machines from Compute Engine. It remembers machine types and zones for some hours, and nothing that a crash would make worse.
type Provider struct {
	cfg  Config
	log  *slog.Logger
	now  func() time.Time
	api  clients
	kept memory
	left leftovers.Tracker

	reservations *reservations
}

var (
	_ provider.Provider   = (*Provider)(nil)
	_ provider.Topologist = (*Provider)(nil)
	_ provider.Checker    = (*Provider)(nil)
	_ provider.Consoler   = (*Provider)(nil)
)

// clients are the SDK's, one for each collection of the API, over one HTTP client.
type clients struct {
	instances    *compute.InstancesClient
	types        *compute.MachineTypesClient
	regions      *compute.RegionsClient
	reservations *compute.ReservationsClient
	policies     *compute.ResourcePoliciesClient
	templates    *compute.InstanceTemplatesClient
	groups       *compute.InstanceGroupManagersClient
	resizes      *compute.InstanceGroupManagerResizeRequestsClient
	zonal        *compute.ZoneOperationsClient
	regional     *compute.RegionOperationsClient
	global       *compute.GlobalOperationsClient
}

// New makes a Provider. It calls nobody.
func New(ctx context.Context, cfg Config) (*Provider, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	p := &Provider{cfg: cfg, log: cfg.Logger, now: cfg.Now}
	client, err := cfg.account().Client(ctx, "https://www.googleapis.com/auth/compute")
	if err != nil {
		return nil, fmt.Errorf("gcp: %w", err)
	}
	opts := cfg.account().Options(client)
	a := &p.api
	for _, open := range []func() error{
		func() (err error) { a.instances, err = compute.NewInstancesRESTClient(ctx, opts...); return err },
		func() (err error) { a.types, err = compute.NewMachineTypesRESTClient(ctx, opts...); return err },
		func() (err error) { a.regions, err = compute.NewRegionsRESTClient(ctx, opts...); return err },
		func() (err error) { a.reservations, err = compute.NewReservationsRESTClient(ctx, opts...); return err },
		func() (err error) { a.policies, err = compute.NewResourcePoliciesRESTClient(ctx, opts...); return err },
		func() (err error) {
			a.templates, err = compute.NewInstanceTemplatesRESTClient(ctx, opts...)
			return err
		},
		func() (err error) {
			a.groups, err = compute.NewInstanceGroupManagersRESTClient(ctx, opts...)
			return err
		},
		func() (err error) {
			a.resizes, err = compute.NewInstanceGroupManagerResizeRequestsRESTClient(ctx, opts...)
			return err
		},
		func() (err error) { a.zonal, err = compute.NewZoneOperationsRESTClient(ctx, opts...); return err },
		func() (err error) { a.regional, err = compute.NewRegionOperationsRESTClient(ctx, opts...); return err },
		func() (err error) { a.global, err = compute.NewGlobalOperationsRESTClient(ctx, opts...); return err },
	} {
		if err := open(); err != nil {
			return nil, fmt.Errorf("gcp: %w", err)
		}
	}
	p.reservations = &reservations{cfg: &p.cfg, client: a.reservations}
	return p, nil
}

// account is who asks Google.
func (c *Config) account() *google.Account {
	return &google.Account{CredentialsFile: c.CredentialsFile, Endpoint: c.Endpoint, HTTP: c.HTTP}
}

// once tries a call a single time: the callers of a Provider repeat.
var once = gax.WithRetry(func() gax.Retryer { return nil })

// pageSize is the most that Google gives at a time.
const pageSize = 500

// each calls do for all that a listing of the API has.
func each[T any](next func() (T, error), do func(T) error) error {
	for {
		one, err := next()
		if errors.Is(err, iterator.Done) {
			return nil
		}
		if err == nil {
			err = do(one)
		}
		if err != nil {
			return refused(err)
		}
	}
}

// unread is the error of a part of a listing that could not be read; nil: it has nothing, or all.
func unread(scope string, w *computepb.Warning) error {
	if w == nil || w.GetCode() == "NO_RESULTS_ON_PAGE" || w.GetCode() == "" {
		return nil
	}
	return &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeCloud, Code: w.GetCode(), Text: scope + ": " + w.GetMessage()}
}

// ours is the filter of what is this site's.
func (c *Config) ours() string {
	return fmt.Sprintf("(labels.%s = %q) AND (labels.%s = %q)", google.LabelFederation, google.LabelValue(c.Federation), google.LabelSite, google.LabelValue(string(c.Site)))
}

// all lists this site's machines, with one call for each 500 of them.
func (p *Provider) all(ctx context.Context, do func(*computepb.Instance) error) error {
	it := p.api.instances.AggregatedList(ctx, &computepb.AggregatedListInstancesRequest{Project: p.cfg.Project, Filter: proto.String(p.cfg.ours()), MaxResults: proto.Uint32(pageSize)}, once)
	return each(it.Next, func(zone compute.InstancesScopedListPair) error {
		if err := unread(zone.Key, zone.Value.GetWarning()); err != nil {
			return err
		}
		for _, i := range zone.Value.GetInstances() {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	})
}

// List also deletes what has switched itself off, and what gangs have left behind.
func (p *Provider) List(ctx context.Context) ([]provider.Instance, error) {
	var found []provider.Instance
	var off []provider.InstanceID
	said := notes{}
	err := p.all(ctx, func(i *computepb.Instance) error {
		m := said.instance(i)
		if s := i.GetStatus(); s == "TERMINATED" || s == "STOPPED" || s == "SUSPENDED" {
			off = append(off, m.ID)
		}
		found = append(found, m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := p.Delete(ctx, off); err != nil {
		p.log.Warn("machines that are switched off are not deleted yet", "count", len(off), "err", err)
	}
	p.sweep(ctx, found)
	return found, nil
}

// Topology returns cluster, block, sub-block and host of each machine, as Google tells of machines with a placement policy or a dense reservation.
func (p *Provider) Topology(ctx context.Context, ids []provider.InstanceID) (map[provider.InstanceID][]string, error) {
	found := map[provider.InstanceID][]string{}
	if len(ids) == 0 {
		return found, nil
	}
	wanted := make(map[provider.InstanceID]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	err := p.all(ctx, func(i *computepb.Instance) error {
		id := instanceID(google.Base(i.GetZone()), i.GetName())
		at := i.GetResourceStatus().GetPhysicalHostTopology()
		for _, group := range []string{at.GetCluster(), at.GetBlock(), at.GetSubblock(), at.GetHost()} {
			if wanted[id] && group != "" {
				found[id] = append(found[id], group)
			}
		}
		return nil
	})
	return found, err
}

// Console is what a machine has written on its first serial port. Google forgets it with the machine.
func (p *Provider) Console(ctx context.Context, id provider.InstanceID) (string, error) {
	zone, name, _ := place(id)
	out, err := p.api.instances.GetSerialPortOutput(ctx, &computepb.GetSerialPortOutputInstanceRequest{Project: p.cfg.Project, Zone: zone, Instance: name}, once)
	if err != nil {
		return "", refused(err)
	}
	return out.GetContents(), nil
}
