package cloudtest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/federation"
)

// AgentServer is a cloud.AgentServer without HTTP: fake agents call the driver that was added last. Tokens name their gang in plain words.
type AgentServer struct {
	mu    sync.Mutex
	sites map[federation.SiteName]daemon
	// Before is called before a call of an agent reaches the driver, After when it was answered: an error is what the agent gets. Nil: no fault.
	Before, After func(op string) error
	// Daemons are the addresses that machines are told where there are several.
	Daemons []string
}

var _ cloud.AgentServer = (*AgentServer)(nil)

// daemon is a driver that can be reached, until ctx ends.
type daemon struct {
	cloud.Agents
	ctx  context.Context
	gone context.CancelFunc
}

// Boot implements cloud.AgentServer.
func (d *AgentServer) Boot(site federation.SiteName, gang string, b agentapi.Boot) (agentapi.Boot, error) {
	b.URL, b.Token = cmp.Or(b.URL, "https://door"), "token-of-"+gang
	return b, nil
}

// Servers implements cloud.AgentServer.
func (d *AgentServer) Servers() []string { return d.Daemons }

// Add implements cloud.AgentServer.
func (d *AgentServer) Add(site federation.SiteName, a cloud.Agents) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sites == nil {
		d.sites = map[federation.SiteName]daemon{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.sites[site] = daemon{a, ctx, cancel}
}

// Remove makes the daemon unreachable. Calls that it has not answered are lost.
func (d *AgentServer) Remove(site federation.SiteName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a, ok := d.sites[site]; ok {
		a.gone()
		delete(d.sites, site)
	}
}

func (d *AgentServer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "no HTTP here", http.StatusTeapot)
}

// call passes a call to the driver that is there now.
func (d *AgentServer) call(ctx context.Context, op string, site federation.SiteName, f func(ctx context.Context, a cloud.Agents) error) error {
	if d.Before != nil {
		if err := d.Before(op); err != nil {
			return err
		}
	}
	d.mu.Lock()
	a, ok := d.sites[site]
	d.mu.Unlock()
	if !ok {
		return fmt.Errorf("no daemon: %w", federation.ErrUnavailable)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)()
	err := f(ctx, a)
	if a.ctx.Err() != nil {
		return fmt.Errorf("the daemon went away: %w", federation.ErrUnavailable)
	}
	if err != nil {
		return err
	}
	if d.After != nil {
		return d.After(op)
	}
	return nil
}

func (d *AgentServer) hello(ctx context.Context, site federation.SiteName, gang string, h agentapi.Hello) (l cloud.Let, err error) {
	err = d.call(ctx, "Hello", site, func(ctx context.Context, a cloud.Agents) (err error) { l, err = a.Hello(ctx, gang, h); return err })
	return l, err
}

func (d *AgentServer) poll(ctx context.Context, site federation.SiteName, m cloud.MachineID, p agentapi.Poll) (o agentapi.Orders, err error) {
	err = d.call(ctx, "Poll", site, func(ctx context.Context, a cloud.Agents) (err error) { o, err = a.Poll(ctx, m, p); return err })
	return o, err
}

func (d *AgentServer) report(ctx context.Context, site federation.SiteName, m cloud.MachineID, r agentapi.Report) error {
	return d.call(ctx, "Report", site, func(ctx context.Context, a cloud.Agents) error { return a.Report(ctx, m, r) })
}
