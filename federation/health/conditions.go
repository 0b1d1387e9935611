package health

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fsub/federation"
)

// SiteConditions are what is wrong with a site, the worst first, as far as it shows: nil if nothing is. returned is since when a lost site answers again;
// restored tells of a controller that was put back; silent is what Silent has found. Each has the time at which it began: that of s.Conditions, or now.
func SiteConditions(s *federation.Site, returned time.Time, restored *federation.Condition, silent string, now time.Time) (out []federation.Condition) {
	add := func(name federation.ConditionName, since time.Time, detail string) {
		if i := slices.IndexFunc(s.Conditions, func(c federation.Condition) bool { return c.Name == name }); i >= 0 {
			since = s.Conditions[i].Since
		} else if since.IsZero() {
			since = now
		}
		out = append(out, federation.Condition{Name: name, Since: since.UTC(), Detail: detail})
	}
	switch {
	case !s.Lost.IsZero() && !returned.IsZero():
		add(federation.CondReturned, returned, "it was lost since "+s.Lost.UTC().Format(time.RFC3339))
	case !s.Lost.IsZero():
		add(federation.CondLost, s.Lost, s.Error)
	}
	switch {
	case s.Answering:
	case s.Denied:
		add(federation.CondTokenRefused, s.ErrorSince, s.Error)
	case s.Seen == nil && s.NextTry.IsZero():
		add(federation.CondNotSeen, s.ErrorSince, "")
	default:
		add(federation.CondNoAnswer, s.ErrorSince, s.Error)
	}
	if restored != nil {
		add(restored.Name, restored.Since, restored.Detail)
	}
	if o := s.Seen; o != nil && s.Answering {
		if silent != "" {
			add(federation.CondNodesSilent, time.Time{}, silent)
		}
		if o.Credential != "" {
			add(federation.CondTokenExpires, time.Time{}, o.Credential)
		}
		if o.Accounting != "" {
			add(federation.CondNoAccounting, time.Time{}, o.Accounting)
		}
		if o.OldPrices != "" {
			add(federation.CondOldPrices, time.Time{}, o.OldPrices)
		}
		if text := badParts(o); text != "" {
			add(federation.CondBadPart, time.Time{}, text)
		}
	}
	return out
}

// badParts tells which switches and blocks of a site gangs are kept off; "": none.
func badParts(o *federation.Observation) string {
	below := map[string]int{}
	for i := range o.Nodes {
		if part := o.Nodes[i].BadPart; part != "" {
			below[part]++
		}
	}
	var text []string
	for _, part := range slices.Sorted(maps.Keys(below)) {
		text = append(text, fmt.Sprintf("%s (nodes below it: %d)", part, below[part]))
	}
	if len(text) == 0 {
		return ""
	}
	return "gangs are kept off " + strings.Join(text, ", ")
}

// Silent says that at least half of a site's nodes do not respond, of those that should; "" if fewer are silent. Those that spare names do not count.
func Silent(o *federation.Observation, spare func(node string) bool) string {
	silent, all := 0, 0
	for i := range o.Nodes {
		n := &o.Nodes[i]
		has := func(s string) bool { return slices.Contains(n.State, s) }
		switch {
		case has("NOT_RESPONDING") && spare(n.Name):
		case n.Rented != nil, has("POWERED_DOWN"), has("POWERING_DOWN"), has("POWERING_UP"), has("FUTURE"), has("CLOUD") && has("DOWN"):
		case has("NOT_RESPONDING"):
			silent, all = silent+1, all+1
		default:
			all++
		}
	}
	if silent <= 1 || 2*silent < all {
		return ""
	}
	return fmt.Sprintf("%d of %d nodes do not respond", silent, all)
}
