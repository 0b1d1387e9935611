package cloud

import (
	"context"
	"errors"
	"fmt"
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
	out = append(out, checkPrices(offers, time.Now())...)
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
func checkPrices(offers []provider.Offering, now time.Time) []driver.SiteCheck {
	var old []prices.Price
	from := map[string]bool{}
	for _, o := range offers {
		if o.PricedAt.IsZero() {
			continue
		}
		from[o.PriceFrom] = true
		if p := (prices.Price{Key: prices.Key{Type: o.Type, Market: o.Market}, At: o.PricedAt, From: o.PriceFrom}); p.Stale(now) {
			old = append(old, p)
		}
	}
	if len(from) == 0 {
		return nil
	}
	k := driver.SiteCheck{Name: "prices", Result: driver.CheckOK, Detail: strings.Join(slices.Sorted(maps.Keys(from)), ", ")}
	if len(old) > 0 {
		first := slices.MinFunc(old, func(a, b prices.Price) int { return a.At.Compare(b.At) })
		k.Result, k.Detail = driver.CheckWarning, fmt.Sprintf("%d of %d may have changed; the oldest: %s of %s ago (%s)", len(old), len(offers), first.Type, first.Age(now), first.From)
		k.Advice = "have the daemon ask the cloud's price list (docs/prices.md); then: fed offers refresh"
	}
	return []driver.SiteCheck{k}
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
