package accounting

import (
	"maps"
	"slices"
	"strings"
)

// AssumedAsOf is when the assumed rates were set.
const AssumedAsOf = "2026-11"

// assumedShare is what an owned accelerator is assumed to cost an hour, as a share of the lowest list price at which a cloud lets one:
// hardware over four years, power, cooling, and space, at the use that such fleets have.
const assumedShare = 0.4

// listPrices are the lowest list prices of an accelerator-hour on demand of Amazon, Azure and Google, 2026-01 to 2026-08 (the tables of
// Karpenter's providers and SkyPilot's catalogue). Those of TPUs are per chip.
var listPrices = map[string]float64{
	"a10": 2.72, "a10g": 1.01, "a100": 2.74, "a100-40gb": 2.74, "a100-80gb": 3.43, "b200": 14.24, "b300": 17.80, "gb200": 27.04, "gaudi": 1.64,
	"h100": 6.88, "h100-nvl": 6.98, "h200": 7.91, "l4": 0.57, "l40s": 1.86, "mi300x": 6.00, "p100": 1.46, "rtx-pro-6000": 3.36, "t4": 0.53,
	"v100": 3.06, "v100-32gb": 2.75, "trainium1": 1.34, "v2": 1.24, "v3": 2.00, "v4": 3.22, "v5e": 1.20, "v5p": 4.20, "v6e": 2.70,
}

// unknownList counts for an accelerator that nobody knows: that of the dearest single one. What has no price must not win by that.
const unknownList = 17.80

// assumedCPU is the rate of a core with its memory: Amazon's and Google's general machines have one with 4 GiB at $0.04 to $0.05.
const assumedCPU = 0.04 * assumedShare

// Assumed are the dollars per hour that an owned TRES is assumed to cost where nobody has set its price, by Slurm's name of it:
// "gres/gpu:h100", "cpu". It is never 0 for an accelerator. known is false if the kind of accelerator is not in the table.
func Assumed(name string) (rate float64, known bool) {
	if name == "cpu" {
		return assumedCPU, true
	}
	kind, ok := strings.CutPrefix(name, "gres/")
	if !ok {
		return 0, true // memory comes with CPUs, nodes cost what is in them
	}
	base, kind, _ := strings.Cut(kind, ":")
	if base != "gpu" && base != "tpu" {
		return 0, true
	}
	kind = plainKind(kind)
	best := listed(kind)
	if best == "" {
		return unknownList * assumedShare, false
	}
	if price, ok := listPrices[best+"-80gb"]; ok && strings.HasSuffix(kind, "-80gb") {
		return price * assumedShare, true
	}
	return listPrices[best] * assumedShare, true
}

// plainKind is a kind of accelerator as the table writes it: "h100-80gb-hbm3" for NVIDIA_H100_80GB_HBM3.
func plainKind(kind string) string {
	kind = strings.ToLower(kind)
	for _, prefix := range []string{"nvidia_", "nvidia-", "tesla_", "tesla-", "amd_", "tpu-"} {
		kind = strings.TrimPrefix(kind, prefix)
	}
	return strings.ReplaceAll(kind, "_", "-")
}

// listed is the longest name in the table that a plain kind begins with, "" if there is none: "a100-sxm4-80gb" is an a100, "h100-80gb-hbm3" an h100.
func listed(kind string) (best string) {
	for name := range listPrices {
		if (kind == name || strings.HasPrefix(kind, name+"-")) && len(name) > len(best) {
			best = name
		}
	}
	return best
}

// Kind is the usual name of a kind of accelerator, "" if it is not known: "h100" for NVIDIA_H100_80GB_HBM3.
func Kind(name string) string { return listed(plainKind(name)) }

// Rate is what some TRES cost an hour, and how that is known.
type Rate struct {
	PerHour float64
	Assumed bool // of some of them nobody says the price: see [Assumed]
	Unknown bool // and of some of these not even the kind is known
}

// RateOf is what t comes to by the hour at a site's prices. An accelerator without a price costs what it is assumed to; so does all else
// where nothing of t has a price. A price of nodes covers what is in them. A price that is set to 0 is 0.
func RateOf(p Prices, t TRES) Rate {
	r := Rate{PerHour: PerHour(p, t)}
	if p.Priced("node") {
		return r
	}
	names := slices.Sorted(maps.Keys(t)) // sums of floats depend on their order
	bare := !slices.ContainsFunc(names, p.Priced)
	for _, name := range names {
		n := units(t, name)
		rate, known := Assumed(name)
		if n == 0 || rate == 0 || p.Priced(name) || !bare && !strings.HasPrefix(name, "gres/") {
			continue
		}
		r.PerHour += rate * n
		r.Assumed, r.Unknown = true, r.Unknown || !known
	}
	return r
}

// Priced reports whether prices say what one unit of a TRES costs, be it nothing.
func (p Prices) Priced(name string) bool {
	if _, ok := p[name]; ok {
		return true
	}
	plain, _, typed := strings.Cut(name, ":")
	_, ok := p[plain]
	return typed && ok
}
