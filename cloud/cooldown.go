package cloud

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/federation/driver"
	"fsub/federation/reasons"
)

// coolDown is a refusal that is remembered: until it passes the cloud is not asked for what it is about.
type coolDown struct {
	coolRecord
	key   string
	over  time.Time // since when it is forgotten
	probe *gang     // the first that asks after it has passed; the others wait for what it hears
}

func (c *coolDown) Record() (records.PoolRecord, any) {
	return records.PoolRecord{Kind: records.PoolCool, ID: c.key, Closed: c.over}, &c.coolRecord
}

// about reports whether the refusal is about an offering that is remembered under its key.
func (c *coolDown) about(o *provider.Offering) bool { return o.CPUs >= c.CPUs }

// cooldowns are the refusals that are remembered.
type cooldowns struct {
	*base
	pools        *pools
	down         map[string]*coolDown     // by what they are about
	availability map[string]*availability // by offering
	risks        map[string]*risk         // by offering
}

func newCooldowns(b *base, p *pools) *cooldowns {
	return &cooldowns{base: b, pools: p, down: map[string]*coolDown{}, availability: map[string]*availability{}, risks: map[string]*risk{}}
}

// forgive forgets a refusal: it can be had again.
func (cs *cooldowns) forgive(key string) {
	c := cs.down[key]
	c.over = cs.now()
	cs.put(c)
	delete(cs.down, key)
}

// forgotten is how long after a cool-down another one is no sequel of it.
const forgotten = time.Hour

// kindBoot is a refusal of our own: machines of an offering were made and did not come up.
const kindBoot provider.ErrorKind = "boot"

// coolKeys are what an offering's refusals are remembered under, by scope.
func coolKeys(o *provider.Offering) map[provider.Scope]string {
	return map[provider.Scope]string{
		provider.ScopeOffering: "offering " + o.ID,
		provider.ScopeZone:     "zone " + o.Type + " " + o.Zone,
		provider.ScopeRegion:   "region " + cmp.Or(o.Quota, o.Type) + " " + string(o.Market) + " " + o.Region,
		provider.ScopeCloud:    "cloud",
	}
}

// cooling is the cool-down that keeps an offering from being asked for, nil if none does. One that has passed and is being tried counts for all but the gang
// that tries it.
func (cs *cooldowns) cooling(o *provider.Offering, g *gang) *coolDown {
	now := cs.now()
	for _, key := range coolKeys(o) {
		if c := cs.down[key]; c != nil && c.about(o) && (now.Before(c.Until) || c.probe != nil && c.probe != g) {
			return c
		}
	}
	return nil
}

func reasonOf(k provider.ErrorKind) reasons.Reason {
	switch k {
	case provider.KindStockOut:
		return reasons.StockOut
	case provider.KindQuota:
		return reasons.Quota
	case provider.KindDenied, provider.KindKey:
		return reasons.CloudDenied
	case provider.KindThrottled:
		return reasons.Throttled
	case provider.KindUnavailable:
		return reasons.SiteUnavailable
	case kindBoot:
		return reasons.Boot
	}
	return reasons.Refused
}

// mayCall is asked before each call for a gang. It returns how long to wait before asking again, or why the call is not to be made at all.
func (cs *cooldowns) mayCall(g *gang, again bool) (refused *provider.Error, wait time.Duration) {
	if g.State == gangOver {
		return &provider.Error{Kind: provider.KindInvalid, Text: g.Why}, 0
	}
	if c := cs.cooling(&g.Offering, g); c != nil {
		if again || !cs.now().Before(c.Until) {
			return nil, max(c.Until.Sub(cs.now()), time.Second)
		}
		return &provider.Error{Kind: provider.KindQuota, Scope: provider.ScopeOffering, Text: c.Text}, 0 // nothing was asked: nothing is there
	}
	for _, key := range coolKeys(&g.Offering) {
		if c := cs.down[key]; c != nil && c.about(&g.Offering) {
			c.probe = g
		}
	}
	return nil, 0
}

// answered lets others ask that waited for what a gang's call would hear: the cloud takes requests.
func (cs *cooldowns) answered(g *gang) {
	for _, key := range coolKeys(&g.Offering) {
		if c := cs.down[key]; c != nil && c.probe == g {
			c.probe = nil
		}
	}
}

// callDone remembers what a call for a gang came to.
func (cs *cooldowns) callDone(g *gang, e *provider.Error) {
	cs.learn(&g.Offering, e)
	keys := coolKeys(&g.Offering)
	for _, key := range keys {
		c := cs.down[key]
		if c != nil && c.probe == g {
			c.probe = nil
		}
		if e == nil && c != nil && c.about(&g.Offering) && !c.unproved() { // that it can be created does not say that it comes up
			cs.forgive(key)
		}
	}
	if e == nil {
		g.pool.wake()
		return
	}
	if e.Kind == provider.KindConflict {
		return // about this token only
	}
	key := keys[e.Scope]
	if key == "" {
		key = keys[provider.ScopeOffering]
	}
	cs.begin(key, &g.Offering, e)
}

// begin begins a cool-down, or a longer one.
func (cs *cooldowns) begin(key string, o *provider.Offering, e *provider.Error) {
	c := cs.down[key]
	if c == nil {
		c = &coolDown{key: key}
		cs.down[key] = c
	}
	now, least := cs.now(), 0
	if e.Kind == provider.KindQuota && e.Scope == provider.ScopeRegion && o.Quota != "" {
		least = o.CPUs
	}
	if now.Before(c.Until) { // the answer to a call from before, or to one for less
		if c.Kind == e.Kind && least < c.CPUs {
			c.CPUs = least
			cs.put(c)
		}
		return
	}
	c.CPUs = least
	if c.Kind != e.Kind || now.Sub(c.Until) > forgotten {
		c.Times = 0
	}
	c.Kind, c.Text = e.Kind, e.Text
	if e.Code != "" {
		c.Text = fmt.Sprintf("%s: %s", e.Code, e.Text)
	}
	var base time.Duration
	switch e.Kind {
	case provider.KindThrottled, provider.KindUnavailable:
		base = 5 * time.Second
	case kindBoot:
		base = time.Minute
	case provider.KindInvalid, provider.KindNotFound, provider.KindKey:
		base = time.Hour
	default:
		base = cs.t.StockOut
	}
	wait := max(e.After, min(base<<min(c.Times, 10), max(base, time.Hour)))
	c.Times++
	c.Until = now.Add(wait)
	cs.put(c)
	cs.metrics.cooling(e.Kind)
	cs.log.Warn("cool-down", "of", key, "kind", e.Kind, "for", wait, "err", e)
	cs.pools.wake() // those that wait may go elsewhere, or back
	cs.news.nodes()
}

// passed lets the cloud be asked again when a cool-down has passed.
func (cs *cooldowns) passed(now, last time.Time) {
	passed := false
	for _, c := range cs.down {
		passed = passed || !now.Before(c.Until) && last.Before(c.Until)
	}
	if passed {
		cs.pools.wake()
		cs.news.nodes()
	}
}

// unproved reports whether only a machine that comes up shows that the cause is gone.
func (c *coolDown) unproved() bool { return c.Kind == kindBoot || c.Kind == provider.KindKey }

// cameUp forgives an offering whose machines had not come up: one has.
func (cs *cooldowns) cameUp(o *provider.Offering) {
	for _, key := range coolKeys(o) {
		if c := cs.down[key]; c != nil && c.unproved() {
			cs.forgive(key)
		}
	}
}

// load takes in a record of an earlier daemon's.
func (cs *cooldowns) load(r records.PoolRecord) error {
	c := &coolDown{key: r.ID}
	if err := json.Unmarshal(r.Data, &c.coolRecord); err != nil || !r.Closed.IsZero() || cs.now().Sub(c.Until) > forgotten {
		return err
	}
	cs.down[c.key] = c
	return nil
}

// told is a cool-down as operators are told of it.
func (c *coolDown) told() driver.Cooling {
	return driver.Cooling{What: c.key, Reason: reasonOf(c.Kind), Detail: c.Text, Until: c.Until}
}

// retry forgives all that was refused, and tells what of it still counted.
func (cs *cooldowns) retry() (forgiven []driver.Cooling) {
	for key, c := range cs.down {
		if cs.now().Before(c.Until) {
			forgiven = append(forgiven, c.told())
		}
		cs.forgive(key)
	}
	slices.SortFunc(forgiven, func(a, b driver.Cooling) int { return a.Until.Compare(b.Until) })
	return forgiven
}

// of are the cool-downs that keep some offerings from being asked for, each once, by what they are about.
func (cs *cooldowns) of(groups []*nodeGroup) (list []driver.Cooling) {
	seen := map[*coolDown]bool{}
	for _, ng := range groups {
		for _, key := range coolKeys(&ng.offering) {
			if c := cs.down[key]; c != nil && !seen[c] && c.about(&ng.offering) && cs.now().Before(c.Until) {
				seen[c] = true
				list = append(list, c.told())
			}
		}
	}
	slices.SortFunc(list, func(a, b driver.Cooling) int { return strings.Compare(a.What, b.What) })
	return list
}
