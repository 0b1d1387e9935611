package prices

import (
	"fmt"
	"math"

	"fsub/accounting"
	"fsub/cloud/provider"
	"fsub/federation/decision"
)

// What a price can be. Beyond that it is a fault of its source: public catalogues have listed $0, 0.00001, 700.0 where a price was not known, spot prices above
// the on-demand price, and the price of another SKU.
const (
	least     = 0.0005 // dollars per hour: the smallest machines of all clouds cost several times that
	unknown   = 700.0  // how some catalogues write that they do not know
	spotLeast = 0.05   // of the on-demand price: the deepest discount that a cloud names is 91 %
	outlier   = 10     // times the price that is known
)

// Check says why a price cannot be true, "" if it can. onDemand is the price of the same machine on demand, and before what it cost by what is known already: the last good
// price, or the table's; each 0 if that is not known.
func Check(p *Price, onDemand, before decision.Dollars) string {
	usd := float64(p.PerHour)
	switch {
	case math.IsNaN(usd) || math.IsInf(usd, 0) || usd < least:
		return "invalid price " + rate(p.PerHour)
	case usd == unknown:
		return "$700 stands for a price that is not known"
	case p.Market == provider.Spot && onDemand > 0 && p.PerHour > onDemand:
		return fmt.Sprintf("spot costs %s where on-demand costs %s", rate(p.PerHour), rate(onDemand))
	case p.Market == provider.Spot && onDemand > 0 && p.PerHour < onDemand*spotLeast:
		return fmt.Sprintf("spot costs %s, less than %.0f %% of the on-demand price of %s", rate(p.PerHour), spotLeast*100, rate(onDemand))
	case before > 0 && (p.PerHour > before*outlier || p.PerHour < before/outlier):
		return fmt.Sprintf("%s is more than tenfold off what is known, %s", rate(p.PerHour), rate(before))
	}
	return ""
}

// rate is a price by the hour as people read it.
func rate(d decision.Dollars) string {
	if math.IsNaN(float64(d)) || math.IsInf(float64(d), 0) {
		return fmt.Sprint(float64(d))
	}
	return accounting.MoneyOf(float64(d)).Rate()
}
