package cloud

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
	"fsub/federation"
)

// Check implements [federation.Checker]: what the provider can try of its cloud, what can be rented, and the way back from machines to the daemon. Nothing is changed.
func (d *Driver) Check(ctx context.Context) (out []federation.SiteCheck) {
	if c, ok := d.cfg.Provider.(provider.Checker); ok {
		out = c.Check(ctx)
	}
	offers, err := d.cfg.Provider.Offerings(ctx)
	k := federation.SiteCheck{Name: "offerings", Result: federation.CheckOK, Detail: fmt.Sprintf("%d can be rented", len(offers))}
	switch {
	case err != nil:
		k.Result, k.Detail, k.Advice = federation.CheckFailed, err.Error(), "see: fed pool list"
	case len(offers) == 0:
		k.Result, k.Advice = federation.CheckFailed, "the daemon's log says what was left out, and why"
	}
	out = append(out, k)
	machines, err := d.cfg.Provider.List(ctx)
	k = federation.SiteCheck{Name: "machines", Result: federation.CheckOK, Detail: fmt.Sprintf("%d are there", len(machines))}
	if err != nil {
		k.Result, k.Detail, k.Advice = federation.CheckFailed, err.Error(), "no machine is started that could not be listed: mend this first"
	}
	return append(append(out, k), d.checkWayBack()...)
}

// checkWayBack looks at the address that machines are told.
func (d *Driver) checkWayBack() []federation.SiteCheck {
	if d.cfg.AgentServer == nil || !d.cfg.Boot.PowerOff { // machines of this one
		return nil
	}
	k := federation.SiteCheck{Name: "way back", Result: federation.CheckOK, Advice: "from a machine in that network: curl -k URL must connect"}
	boot, err := d.cfg.AgentServer.Boot(d.cfg.Site, "check", agentapi.Boot{Expires: time.Now().Add(time.Minute)})
	at, bad := url.Parse(boot.URL)
	switch {
	case err != nil || bad != nil:
		k.Result, k.Detail = federation.CheckFailed, fmt.Sprint("machines cannot be told where the daemon is: ", err)
		return []federation.SiteCheck{k}
	case at.Scheme != "https":
		return nil
	}
	k.Detail = "machines are told " + boot.URL
	if ip := net.ParseIP(at.Hostname()); ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) || at.Hostname() == "localhost" {
		k.Result, k.Advice = federation.CheckWarning, "set agents: address to what machines in that network reach"
	}
	return []federation.SiteCheck{k}
}
