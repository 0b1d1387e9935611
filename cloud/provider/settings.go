package provider

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"fsub/federation/decision"
)

// What the sections of several clouds have in common: checks of prices, images and markets, each with an error that begins with the section's name.

// Amount reports whether f can be a price or a rate: a number that is not negative. YAML knows .nan and .inf, which would spoil every sum.
func Amount(f float64) bool { return f >= 0 && !math.IsInf(f, 1) }

// CheckPrices refuses prices that are not amounts, and those of types that the section does not rent: types are the values of key.
func CheckPrices(section string, prices map[string]decision.Dollars, key string, types []string) error {
	for typ, usd := range prices {
		if !Amount(float64(usd)) {
			return fmt.Errorf("%s: prices: invalid price %v of %s: want dollars per hour, not negative", section, float64(usd), typ)
		}
	}
	if typ := Unused(prices, types); typ != "" {
		return fmt.Errorf("%s: prices: %s matches none of %s (%s), so its price would never apply", section, typ, key, strings.Join(types, ", "))
	}
	return nil
}

// CheckImages refuses images for types that the section does not rent.
func CheckImages(section string, images map[string]string, key string, types []string) error {
	own := maps.Clone(images)
	for _, arch := range []string{"x86_64", "arm64"} {
		delete(own, arch)
		delete(own, arch+"/gpu")
	}
	if typ := Unused(own, types); typ != "" {
		return fmt.Errorf("%s: images: %s is neither an architecture (x86_64, arm64, with /gpu for types with GPUs) nor matches any of %s (%s)", section, typ, key, strings.Join(types, ", "))
	}
	return nil
}

// CheckMarkets refuses markets other than those of the cloud. hint says how else machines are paid for there.
func CheckMarkets(section string, asked []Market, of []Market, hint string) error {
	for _, m := range asked {
		if !slices.Contains(of, m) {
			return fmt.Errorf("%s: invalid market %q: want %s%s", section, m, MarketNames(of), hint)
		}
	}
	return nil
}

// MarketNames are the names of markets in words: "on-demand, spot or flex".
func MarketNames(all []Market) string {
	var names []string
	for _, m := range all {
		names = append(names, string(m))
	}
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Rented are the markets that types are rented in: those that a section names, but for reservations, which are listed one by one; on-demand and spot
// if it names none.
func Rented(asked []Market) []Market {
	if len(asked) == 0 {
		return []Market{OnDemand, Spot}
	}
	return slices.DeleteFunc(slices.Clone(asked), func(m Market) bool { return m == Reserved || m == Block })
}
