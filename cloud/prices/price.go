package prices

import (
	"cmp"
	"fmt"
	"time"

	"fsub/cloud/provider"
	"fsub/federation/decision"
)

// The clouds that there are prices of.
const (
	AWS    = "aws"
	Google = "gcp"
	Azure  = "azure"
)

// Key names what has a price.
type Key struct {
	Cloud  string          `json:"cloud"`
	Type   string          `json:"type"` // the cloud's own name of it: "p5.48xlarge"; of a TPU see [TPU]
	Region string          `json:"region"`
	Zone   string          `json:"zone,omitempty"` // "": the region has one price. Amazon's spot prices go by zone IDs, "use1-az4"
	Market provider.Market `json:"market"`         // on-demand, spot or flex
}

// TPU is the type of one chip of a generation: "v5p" is "tpu-v5p".
func TPU(generation string) string { return "tpu-" + generation }

// Price is what something costs, and how that is known.
type Price struct {
	Key
	PerHour decision.Dollars `json:"usd_per_hour"`
	At      time.Time        `json:"at"`   // when it was learnt, or the table made
	From    string           `json:"from"` // "retail price list", "table of 2026-06-18 (karpenter-provider-azure pricing)"
	// Bound: the market's own price is not known, and this is the most that it can be.
	Bound bool `json:"bound,omitempty"`
}

// MaxAge is how old prices may be before they count as old. The zero value stands for [DefaultMaxAge].
type MaxAge struct {
	List, Spot time.Duration
}

// DefaultMaxAge: lists change a few times a year, spot prices several times a day.
var DefaultMaxAge = MaxAge{List: 30 * 24 * time.Hour, Spot: 24 * time.Hour}

// Or is a with what b says where a says nothing.
func (a MaxAge) Or(b MaxAge) MaxAge {
	return MaxAge{List: cmp.Or(a.List, b.List), Spot: cmp.Or(a.Spot, b.Spot)}
}

// Old reports whether a price of a market, learnt at some time, is so old that it may have changed.
func (a MaxAge) Old(m provider.Market, at, now time.Time) bool {
	a = a.Or(DefaultMaxAge)
	if m == provider.Spot {
		return now.Sub(at) > a.Spot
	}
	return now.Sub(at) > a.List
}

// Stale reports whether a price may have changed: it is old, or it is no more than a bound of a spot price.
func (p *Price) Stale(now time.Time, most MaxAge) bool {
	return p.Market == provider.Spot && p.Bound || most.Old(p.Market, p.At, now)
}

// Age is how old a price is in words: "5 min", "3 h", "126 d".
func (p *Price) Age(now time.Time) string {
	d := max(now.Sub(p.At), 0)
	switch {
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}
