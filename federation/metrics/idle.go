package metrics

import (
	"cmp"
	"maps"
	"slices"

	"fsub/federation/idle"
)

// collectIdle tells which accounts' jobs leave most GPUs idle. Those that no account pays for are not told.
func collectIdle(to out, all []idle.Held, most int) {
	gpus := map[string]int{}
	for _, h := range all {
		if h.Now && h.GPUs > 0 && h.Account != "" {
			gpus[h.Account] += h.GPUs
		}
	}
	order := slices.SortedFunc(maps.Keys(gpus), func(a, b string) int { return cmp.Or(cmp.Compare(gpus[b], gpus[a]), cmp.Compare(a, b)) })
	for _, account := range order[:min(len(order), most)] {
		to.gauge(idleHeld, float64(gpus[account]), account)
	}
}
