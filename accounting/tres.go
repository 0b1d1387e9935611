package accounting

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// TRES is an amount of each trackable resource by Slurm's name: "cpu", "mem" (MiB), "node", "gres/gpu", "gres/gpu:h100". As
// in Slurm a typed GRES may be counted under its plain name too.
type TRES map[string]int64

// ParseTRES reads Slurm's form, "cpu=4,mem=4000M,node=1,gres/gpu:h100=4". Memory without a unit is MiB.
func ParseTRES(s string) (TRES, error) {
	t := TRES{}
	for _, item := range strings.Split(s, ",") {
		if item == "" {
			continue
		}
		name, value, ok := strings.Cut(item, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("TRES %q: %q is not name=count", s, item)
		}
		n, err := parseCount(name, value)
		if err != nil {
			return nil, fmt.Errorf("TRES %q: bad count %q of %s", s, value, name)
		}
		t[name] = n
	}
	return t, nil
}

// parseCount reads a number with one of Slurm's binary suffixes. The units of memory start at MiB, those of all else at one.
func parseCount(name, value string) (int64, error) {
	const suffixes = "KMGTP"
	power := 0
	if value != "" {
		if i := strings.IndexByte(suffixes, value[len(value)-1]); i >= 0 {
			power, value = i+1, value[:len(value)-1]
		}
	}
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || !(f >= 0 && f <= 1<<53) { // NaN is neither
		return 0, fmt.Errorf("bad count %q", value)
	}
	if name == "mem" {
		if power == 0 {
			power = 2
		}
		power -= 2
	}
	for ; power > 0; power-- {
		f *= 1024
	}
	for ; power < 0; power++ {
		f /= 1024
	}
	if f >= 1<<62 {
		return 0, fmt.Errorf("count %q is too large", value)
	}
	return int64(f), nil
}

// String prints t in Slurm's form, names in alphabetical order.
func (t TRES) String() string {
	items := make([]string, 0, len(t))
	for name, n := range t {
		unit := ""
		if name == "mem" {
			unit = "M"
		}
		items = append(items, name+"="+strconv.FormatInt(n, 10)+unit)
	}
	slices.Sort(items)
	return strings.Join(items, ",")
}

// Of returns the dollars per hour of one unit of a TRES, by the most specific name that has a price: "gres/gpu:h100", else
// "gres/gpu". The unit of "mem" is a GiB. What has no price is free.
func (p Prices) Of(name string) float64 {
	if price, ok := p[name]; ok {
		return price
	}
	if plain, _, typed := strings.Cut(name, ":"); typed {
		return p[plain]
	}
	return 0
}

// PerHour is what t comes to in dollars by the hour. GRES that are counted with their type and under their plain name are charged once.
func PerHour(p Prices, t TRES) (perHour float64) {
	names := make([]string, 0, len(t))
	for name := range t {
		names = append(names, name)
	}
	slices.Sort(names) // sums of floats depend on their order
	for _, name := range names {
		perHour += p.Of(name) * units(t, name)
	}
	return perHour
}

// units is how many units of a TRES are charged under this very name.
func units(t TRES, name string) float64 {
	n := t[name]
	if name == "mem" {
		return float64(n) / 1024
	}
	for other, typed := range t {
		if plain, _, ok := strings.Cut(other, ":"); ok && plain == name {
			n -= typed
		}
	}
	return float64(max(n, 0))
}
