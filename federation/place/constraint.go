package place

import "fsub/federation/demand"

// verdict is whether a pool meets a constraint. Unknown is left to the site.
type verdict int

const (
	no verdict = iota
	unknown
	yes
)

// eval judges a constraint for a pool whose nodes have features; elsewhere are the features of the partition's other nodes.
func eval(c *demand.Constraint, has, elsewhere func(string) bool) verdict {
	if c == nil {
		return yes
	}
	if c.Parts == nil {
		if has(c.Feature) {
			return yes
		}
		return no
	}
	result := yes
	if c.Any {
		result = no
	}
	for _, p := range c.Parts {
		v := eval(p, has, elsewhere)
		if v == no && c.Counted && eval(p, elsewhere, elsewhere) != no {
			v = unknown
		}
		if c.Any {
			result = max(result, v)
		} else {
			result = min(result, v)
		}
	}
	return result
}

// missing returns a feature that c names and no node has, "" if there is none.
func missing(c *demand.Constraint, known func(string) bool) string {
	if c == nil {
		return ""
	}
	if c.Parts == nil {
		if known(c.Feature) {
			return ""
		}
		return c.Feature
	}
	for _, p := range c.Parts {
		if f := missing(p, known); f != "" {
			return f
		}
	}
	return ""
}
