package place

import (
	"strconv"
	"strings"
)

// verdict is what can be said of a constraint and one pool. Unknown is left to the site.
type verdict int

const (
	no verdict = iota
	unknown
	yes
)

// constraint is a parsed --constraint expression. The nil constraint asks for nothing.
//
// Grammar, as Slurm's: expr = and {"|" and}; and = atom {("&"|",") atom}; atom = feature ["*" count] | "(" expr ")" ["*" count] |
// "[" expr "]" ["*" count]. In brackets "|" means that all nodes must agree, which the like nodes of one pool do.
type constraint struct {
	feature string        // a leaf
	counted bool          // "*": only so many nodes need it, the others may be of another pool
	any     bool          // children are alternatives; else all are needed
	parts   []*constraint // nil for a leaf
}

// parseConstraint returns ok false for an expression that it does not understand: the site judges it then.
func parseConstraint(s string) (c *constraint, ok bool) {
	p := constraintParser{rest: strings.TrimSpace(s)}
	if p.rest == "" {
		return nil, true
	}
	c = p.either(0)
	if p.failed || p.rest != "" {
		return nil, false
	}
	return c, true
}

type constraintParser struct {
	rest   string
	failed bool
}

// maxNesting keeps hostile input from exhausting the stack.
const maxNesting = 50

func (p *constraintParser) either(depth int) *constraint {
	parts := []*constraint{p.all(depth)}
	for p.take('|') {
		parts = append(parts, p.all(depth))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return &constraint{any: true, parts: parts}
}

func (p *constraintParser) all(depth int) *constraint {
	parts := []*constraint{p.atom(depth)}
	for p.take('&') || p.take(',') {
		if p.rest == "" || p.rest[0] == '|' || p.rest[0] == ')' || p.rest[0] == ']' {
			break // Slurm takes "a&" for "a"
		}
		parts = append(parts, p.atom(depth))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return &constraint{parts: parts}
}

func (p *constraintParser) atom(depth int) *constraint {
	var c *constraint
	switch {
	case depth > maxNesting:
		p.failed = true
	case p.take('('):
		c = p.either(depth + 1)
		p.want(')')
	case p.take('['):
		c = p.either(depth + 1)
		p.want(']')
	default:
		c = &constraint{feature: p.word()}
	}
	if c == nil {
		c = &constraint{}
	}
	if p.take('*') {
		if _, err := strconv.ParseUint(p.word(), 10, 31); err != nil {
			p.failed = true
		}
		c = &constraint{counted: true, parts: []*constraint{c}}
	}
	return c
}

func (p *constraintParser) word() string {
	end := strings.IndexAny(p.rest, "&|,()[]*")
	if end < 0 {
		end = len(p.rest)
	}
	w := strings.TrimSpace(p.rest[:end])
	p.rest = p.rest[end:]
	if w == "" {
		p.failed = true
	}
	return w
}

func (p *constraintParser) take(c byte) bool {
	if p.failed || p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *constraintParser) want(c byte) {
	if !p.take(c) {
		p.failed = true
	}
}

// eval judges a pool whose nodes have certain features; elsewhere are those of the other nodes of its partition.
func (c *constraint) eval(has, elsewhere func(string) bool) verdict {
	if c == nil {
		return yes
	}
	if c.parts == nil {
		if has(c.feature) {
			return yes
		}
		return no
	}
	result := yes
	if c.any {
		result = no
	}
	for _, p := range c.parts {
		v := p.eval(has, elsewhere)
		if v == no && c.counted && p.eval(elsewhere, elsewhere) != no {
			v = unknown
		}
		if c.any {
			result = max(result, v)
		} else {
			result = min(result, v)
		}
	}
	return result
}

// missing returns a feature that c names and no node has, "" if there is none.
func (c *constraint) missing(known func(string) bool) string {
	if c == nil {
		return ""
	}
	if c.parts == nil {
		if known(c.feature) {
			return ""
		}
		return c.feature
	}
	for _, p := range c.parts {
		if f := p.missing(known); f != "" {
			return f
		}
	}
	return ""
}
