package tpu

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	tpuapi "google.golang.org/api/tpu/v2alpha1"

	"fsub/cloud/google"
	"fsub/cloud/provider"
)

// Provider rents slices. It remembers accelerator types for some hours, and nothing that a crash would make worse.
type Provider struct {
	cfg  Config
	log  *slog.Logger
	now  func() time.Time
	api  *tpuapi.ProjectsLocationsService
	kept memory

	mu    sync.Mutex
	idle  map[string]bool // queued resources that had no nodes at the last listing
	zones []string        // all that may hold something of ours
}

var (
	_ provider.Provider   = (*Provider)(nil)
	_ provider.Topologist = (*Provider)(nil)
	_ provider.Checker    = (*Provider)(nil)
)

// New makes a Provider. It calls nobody.
func New(ctx context.Context, cfg Config) (*Provider, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	account := cfg.account()
	client, err := account.Client(ctx, tpuapi.CloudPlatformScope)
	if err != nil {
		return nil, fmt.Errorf("tpu: %w", err)
	}
	service, err := tpuapi.NewService(ctx, account.Options(client)...)
	if err != nil {
		return nil, fmt.Errorf("tpu: %w", err)
	}
	return &Provider{cfg: cfg, log: cfg.Logger, now: cfg.Now, api: service.Projects.Locations, idle: map[string]bool{}, zones: slices.Clone(cfg.Zones)}, nil
}

// account is who asks Google.
func (c *Config) account() *google.Account {
	return &google.Account{CredentialsFile: c.CredentialsFile, Endpoint: c.Endpoint, HTTP: c.HTTP}
}

func (p *Provider) location(zone string) string {
	return "projects/" + p.cfg.Project + "/locations/" + zone
}

// isOurs reports whether labels say that a node is this site's.
func (p *Provider) isOurs(labels map[string]string) bool {
	return labels[google.LabelFederation] == google.LabelValue(p.cfg.Federation) && labels[google.LabelSite] == google.LabelValue(string(p.cfg.Site))
}

// nodes lists this site's nodes of a zone.
func (p *Provider) nodes(ctx context.Context, zone string) ([]*tpuapi.Node, error) {
	var found []*tpuapi.Node
	err := p.api.Nodes.List(p.location(zone)).PageSize(500).Pages(ctx, func(page *tpuapi.ListNodesResponse) error {
		if len(page.Unreachable) > 0 {
			return &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeZone, Text: fmt.Sprintf("nodes of %v cannot be listed", page.Unreachable)}
		}
		for _, n := range page.Nodes {
			if p.isOurs(n.Labels) {
				found = append(found, n)
			}
		}
		return nil
	})
	return found, refused(err)
}

// List asks each zone for its nodes, and for what is queued. It deletes nodes that were preempted or stopped, which Google leaves where they are, and at
// the second listing queued resources that have no nodes and will get none.
func (p *Provider) List(ctx context.Context) ([]provider.Instance, error) {
	lists := make([][]provider.Instance, len(p.zones))
	var over []provider.InstanceID
	live := map[string]bool{}
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	for i, zone := range p.zones {
		g.Go(func() error {
			nodes, err := p.nodes(gctx, zone)
			mu.Lock()
			defer mu.Unlock()
			for _, n := range nodes {
				hosts := hostsOf(n)
				lists[i] = append(lists[i], hosts...)
				if n.State == "PREEMPTED" || n.State == "TERMINATED" || n.State == "STOPPED" || n.State == "HIDDEN" {
					over = append(over, hosts[0].ID)
				}
				gang, _, _ := gangOf(google.Base(n.Name))
				live[zone+"/"+gang] = true
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if err := p.Delete(ctx, over); err != nil {
		p.log.Warn("slices that have ended are not deleted yet", "count", len(over), "err", err)
	}
	p.sweep(ctx, live)
	return slices.Concat(lists...), nil
}

// waits reports whether a queued resource may make nodes yet.
func waits(state string) bool {
	return slices.Contains([]string{"CREATING", "ACCEPTED", "PROVISIONING", "WAITING_FOR_RESOURCES", ""}, state)
}

// sweep deletes queued resources without nodes. It logs errors: the listing is valid without it.
func (p *Provider) sweep(ctx context.Context, live map[string]bool) {
	idle := map[string]bool{}
	for _, zone := range p.zones {
		err := p.api.QueuedResources.List(p.location(zone)).PageSize(500).Pages(ctx, func(page *tpuapi.ListQueuedResourcesResponse) error {
			for _, q := range page.QueuedResources {
				key := zone + "/" + google.Base(q.Name)
				if q.State == nil || waits(q.State.State) || q.State.State == "DELETING" || live[key] || !p.isOurs(specOf(q).Labels) {
					continue
				}
				idle[key] = true
				p.mu.Lock()
				twice := p.idle[key]
				p.mu.Unlock()
				if twice {
					if err := p.drop(ctx, q.Name); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			p.log.Warn("queued resources are not looked through", "zone", zone, "err", refused(err))
			return
		}
	}
	p.mu.Lock()
	p.idle = idle
	p.mu.Unlock()
}

// specOf is what a queued resource's nodes are to be.
func specOf(q *tpuapi.QueuedResource) *tpuapi.Node {
	if q.Tpu == nil || len(q.Tpu.NodeSpec) == 0 || q.Tpu.NodeSpec[0].Node == nil {
		return &tpuapi.Node{}
	}
	return q.Tpu.NodeSpec[0].Node
}

// drop deletes a queued resource, with the nodes that it has.
func (p *Provider) drop(ctx context.Context, name string) error {
	_, err := p.api.QueuedResources.Delete(name).Force(true).Context(ctx).Do()
	return gone(err)
}

// Delete ends slices, whichever of their hosts are named. All that can be ended is, whatever becomes of the others.
func (p *Provider) Delete(ctx context.Context, ids []provider.InstanceID) error {
	var g errgroup.Group
	g.SetLimit(8)
	seen := map[string]bool{}
	for _, id := range ids {
		zone, node, ok := place(id)
		if name := p.location(zone) + "/nodes/" + node; ok && !seen[name] {
			seen[name] = true
			g.Go(func() error {
				_, err := p.api.Nodes.Delete(name).Context(ctx).Do()
				return gone(err)
			})
		}
	}
	return g.Wait()
}

// gone is the error of a deletion: what is not there is deleted.
func gone(err error) error {
	if e := refused(err); e != nil && provider.AsError(e).Kind != provider.KindNotFound {
		return e
	}
	return nil
}

// Withdraw deletes a gang's queued resource unless it has been served. Its zone is found by its name.
func (p *Provider) Withdraw(ctx context.Context, token string) error {
	for _, zone := range p.zones {
		name := p.location(zone) + "/queuedResources/" + p.gangName(token)
		q, err := p.api.QueuedResources.Get(name).Context(ctx).Do()
		switch e := refused(err); {
		case e != nil && provider.AsError(e).Kind == provider.KindNotFound:
			continue
		case e != nil:
			return e
		case q.State != nil && !waits(q.State.State):
			return nil
		}
		return p.drop(ctx, name)
	}
	return nil
}

// Topology returns zone and node of each host: hosts of one slice are nearest.
func (p *Provider) Topology(ctx context.Context, ids []provider.InstanceID) (map[provider.InstanceID][]string, error) {
	found := map[provider.InstanceID][]string{}
	there := map[string]map[string]bool{}
	for _, id := range ids {
		zone, node, ok := place(id)
		if !ok || !slices.Contains(p.zones, zone) {
			continue
		}
		if there[zone] == nil {
			nodes, err := p.nodes(ctx, zone)
			if err != nil {
				return nil, err
			}
			there[zone] = map[string]bool{}
			for _, n := range nodes {
				there[zone][google.Base(n.Name)] = true
			}
		}
		if there[zone][node] {
			found[id] = []string{zone, node}
		}
	}
	return found, nil
}

func timeOf(text string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}
