package cloud

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation/driver"
)

// Check implements [driver.Checker]: what the provider can try of its cloud, what can be rented, and the way back from machines to the daemon. Nothing is changed.
func (d *Driver) Check(ctx context.Context) (out []driver.SiteCheck) {
	if c, ok := d.cfg.Provider.(provider.Checker); ok {
		out = c.Check(ctx)
	}
	offers, err := d.cfg.Provider.Offerings(ctx)
	k := driver.SiteCheck{Name: "offerings", Result: driver.CheckOK, Detail: fmt.Sprintf("%d can be rented", len(offers))}
	switch {
	case err != nil:
		k.Result, k.Detail, k.Advice = driver.CheckFailed, err.Error(), checkAdvice(err, "what it said is shown beside this; the daemon asks again by itself")
	case len(offers) == 0:
		k.Result, k.Advice = driver.CheckFailed, "the daemon's log says what was left out, and why"
	}
	out = append(out, k)
	out = append(out, checkPrices(offers, d.cfg.MaxAge, time.Now())...)
	machines, err := d.cfg.Provider.List(ctx)
	k = driver.SiteCheck{Name: "machines", Result: driver.CheckOK, Detail: fmt.Sprintf("%d are there", len(machines))}
	if err != nil {
		k.Result, k.Detail, k.Advice = driver.CheckFailed, err.Error(), checkAdvice(err, "no machine is started that could not be listed: fix this first")
	}
	return append(append(out, k), d.cfg.checkWayBack()...)
}

// checkAdvice is what to do about a call that failed.
func checkAdvice(err error, otherwise string) string {
	if refusesAll(err) {
		return "renew the credentials, or give them the right that is missing"
	}
	return otherwise
}

// checkPrices says from where prices are, and whether they are so old that placement goes by what is no longer true.
func checkPrices(offers []provider.Offering, most prices.MaxAge, now time.Time) []driver.SiteCheck {
	from := map[string]bool{}
	for i := range offers {
		if hasAge(&offers[i]) {
			from[offers[i].PriceFrom] = true
		}
	}
	if len(from) == 0 {
		return nil
	}
	k := driver.SiteCheck{Name: "prices", Result: driver.CheckOK, Detail: strings.Join(slices.Sorted(maps.Keys(from)), ", ")}
	if old, _ := oldPrices(slices.Values(offers), most, now); old != "" {
		k.Result, k.Detail = driver.CheckWarning, old
		k.Advice = "let the daemon ask the cloud's price list (docs/prices.md); then: fed offers refresh"
	}
	return []driver.SiteCheck{k}
}

// hasAge reports whether it is known when an offering's price was learnt, and whether it matters: what is paid for has no price that changes.
func hasAge(o *provider.Offering) bool { return !o.PricedAt.IsZero() && paid(o) == "" }

// oldPrices says which of the prices that placement goes by are older than most; "": none is. oldest is when the oldest price of all was learnt. Neither changes while
// prices do not.
func oldPrices(offers iter.Seq[provider.Offering], most prices.MaxAge, now time.Time) (text string, oldest time.Time) {
	old, all := 0, 0
	var first provider.Offering
	for o := range offers {
		all++
		if !hasAge(&o) {
			continue
		}
		if oldest.IsZero() || o.PricedAt.Before(oldest) {
			oldest = o.PricedAt
		}
		if most.Old(o.Market, o.PricedAt, now) {
			if old++; old == 1 || o.PricedAt.Before(first.PricedAt) {
				first = o
			}
		}
	}
	if old == 0 {
		return "", oldest
	}
	return fmt.Sprintf("%d of %d prices may have changed; the oldest, of %s: %s (%s)", old, all, first.PricedAt.UTC().Format(time.DateOnly), first.Type, first.PriceFrom), oldest
}

// checkWayBack looks at the address that machines are told.
func (c *Config) checkWayBack() []driver.SiteCheck {
	if c.AgentServer == nil || !c.Boot.PowerOff { // machines of this one
		return nil
	}
	k := driver.SiteCheck{Name: "way back", Result: driver.CheckOK, Advice: "from a machine in that network: curl -k URL must connect"}
	boot, err := c.AgentServer.Boot(c.Site, "check", agentapi.Boot{Expires: time.Now().Add(time.Minute), PowerOff: true})
	k.Detail = "machines are told " + strings.Join(boot.Servers(), ", ")
	for _, server := range boot.Servers() {
		at, bad := url.Parse(server)
		switch {
		case err != nil || bad != nil:
			k.Result, k.Detail = driver.CheckFailed, fmt.Sprint("machines cannot be told where the daemon is: ", errors.Join(err, bad))
			return []driver.SiteCheck{k}
		case at.Scheme != "https":
			return nil
		}
		if ip := net.ParseIP(at.Hostname()); ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) || at.Hostname() == "localhost" {
			k.Result, k.Advice = driver.CheckWarning, "set agents: address to what machines in that network reach"
		}
	}
	return []driver.SiteCheck{k}
}
