package prices

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"fsub/cloud/provider"
	"fsub/federation/decision"
)

// Ask says what is looked for.
type Ask struct {
	Accelerator string // "h100": also those with more to their name, "h100-nvl"; "tpu-v5p"
	Count       int    // of them in all; 0: as many as one machine has
	Cloud       string // "": any
	Region      string // may have *; "": any
	Market      provider.Market
}

// ParseAsk reads "h100:8", or "v5p:128" for TPUs: chips.
func ParseAsk(text string, tpu bool) (a Ask, err error) {
	name, count, counted := strings.Cut(strings.ToLower(text), ":")
	a.Accelerator = name
	if tpu {
		a.Accelerator = TPU(strings.TrimPrefix(name, "tpu-"))
	}
	if counted {
		if a.Count, err = strconv.Atoi(count); err != nil || a.Count < 1 || a.Count > 1<<20 {
			return a, fmt.Errorf("invalid number %q in %q: want as in h100:8", count, text)
		}
	}
	known := Accelerators()
	if !slices.ContainsFunc(known, a.is) {
		return a, fmt.Errorf("no cloud is known to have %q; there are: %s", text, strings.Join(known, ", "))
	}
	return a, nil
}

// is reports whether an accelerator is what is asked for.
func (a *Ask) is(name string) bool {
	return a.Accelerator == "" || name == a.Accelerator || strings.HasPrefix(name, a.Accelerator+"-")
}

// Accelerators are all that the clouds have, in order.
func Accelerators() (names []string) {
	for _, s := range shapes() {
		if s.Count > 0 {
			names = append(names, s.Accelerator)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Offer is what would serve an [Ask], at a price.
type Offer struct {
	Price
	Shape    Shape
	Machines int              // how many of them; of TPUs how many chips
	Total    decision.Dollars // per hour of all of them
}

// Offers are the machines that would serve, the cheapest first. Of a market that has no price of its own there is none.
func (c *Catalogue) Offers(a Ask) (list []Offer) {
	for _, p := range c.all() {
		shape, ok := ShapeOf(p.Cloud, p.Type)
		if !ok || shape.Count <= 0 || !a.is(shape.Accelerator) || a.Cloud != "" && a.Cloud != p.Cloud || a.Market != "" && a.Market != p.Market {
			continue
		}
		if fits, _ := path.Match(a.Region, p.Region); a.Region != "" && !fits && a.Region != p.Zone {
			continue
		}
		o := Offer{Price: p, Shape: shape, Machines: 1}
		if a.Count > 0 {
			o.Machines = int(math.Ceil(float64(a.Count) / shape.Count))
		}
		o.Total = p.PerHour * decision.Dollars(o.Machines)
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b Offer) int {
		return cmp.Or(cmp.Compare(a.Total, b.Total), cmp.Compare(a.Machines, b.Machines), a.Key.compare(b.Price))
	})
	return list
}

// all are the prices that there are, of each thing the newer of the table's and the one that was learnt.
func (c *Catalogue) all() (list []Price) {
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		for k := range c.known {
			if p, ok := c.one(k); ok {
				list = append(list, p)
			}
		}
	}
	for k, p := range embedded() {
		if c != nil {
			if _, learnt := c.known[k]; learnt {
				continue
			}
			if k.Cloud == AWS && k.Region == "" && c.zoneLearnt(k) {
				continue
			}
		}
		list = append(list, p)
	}
	return list
}

// zoneLearnt reports whether the price of a zone that the table has without its region was learnt since.
func (c *Catalogue) zoneLearnt(k Key) bool {
	for known := range c.known {
		if known.Zone == k.Zone && known.Type == k.Type && known.Market == k.Market {
			return true
		}
	}
	return false
}
