package demand

//lint:file-ignore ST1005 Slurm's own sentences begin and end as Slurm has them.

import (
	"errors"
	"strconv"
	"strings"
)

// ErrFeatures says that a --constraint cannot be understood, in Slurm's words.
var ErrFeatures = errors.New("Invalid feature specification")

// Constraint is a --constraint expression as a tree. The nil Constraint asks for nothing.
//
// Grammar, as Slurm's: expr = and {"|" and}; and = atom {("&"|",") atom}; atom = feature ["*" count] | "(" expr ")" ["*" count] |
// "[" expr "]" ["*" count]. In brackets "|" means that all nodes must agree, which the like nodes of one pool do.
type Constraint struct {
	Feature string        // a leaf
	Counted bool          // "*": only so many nodes need it, the others may be of another pool
	Any     bool          // Parts are alternatives; else all are needed
	Parts   []*Constraint // nil for a leaf
}

// ParseConstraint reads an expression. It fails with ErrFeatures where slurmctld does, or takes what slurmctld knows better.
func ParseConstraint(s string) (*Constraint, error) {
	p := constraintParser{rest: strings.TrimSpace(s)}
	if p.rest == "" {
		return nil, nil
	}
	c := p.either(0)
	if p.failed || p.rest != "" {
		return nil, ErrFeatures
	}
	return c, nil
}

type constraintParser struct {
	rest   string
	failed bool
}

// maxNesting keeps hostile input from exhausting the stack.
const maxNesting = 50

func (p *constraintParser) either(depth int) *Constraint {
	parts := []*Constraint{p.all(depth)}
	for p.take('|') {
		if p.rest == "" {
			break // Slurm takes "a|" for "a"
		}
		parts = append(parts, p.all(depth))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return &Constraint{Any: true, Parts: parts}
}

func (p *constraintParser) all(depth int) *Constraint {
	parts := []*Constraint{p.atom(depth)}
	for p.take('&') || p.take(',') {
		if p.rest == "" || p.rest[0] == '|' || p.rest[0] == ')' || p.rest[0] == ']' {
			break // Slurm takes "a&" for "a"
		}
		parts = append(parts, p.atom(depth))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return &Constraint{Parts: parts}
}

func (p *constraintParser) atom(depth int) *Constraint {
	var c *Constraint
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
		c = &Constraint{Feature: p.word()}
	}
	if c == nil {
		c = &Constraint{}
	}
	if p.take('*') {
		if _, err := strconv.ParseUint(p.word(), 10, 31); err != nil {
			p.failed = true
		}
		c = &Constraint{Counted: true, Parts: []*Constraint{c}}
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
