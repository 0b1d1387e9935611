// Package model knows the EC2 query protocol: it reads requests and writes answers by Amazon's own model of the API, of which table.txt keeps the
// actions that the stand-in answers (see gen for its origin). So a request with a parameter, type or enum value that Amazon does not know is refused, and
// an answer cannot have an element that a real client would not find.
//
// [Op.Decode] turns a form into a [Doc]; [Op.Encode] turns a Doc into XML. Members have the names that they have in the SDKs.
package model

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed table.txt
var table string

// Op is one action of the API.
type Op struct {
	Name    string
	in, out *shape // nil: nothing
}

// shape is a type of the model.
type shape struct {
	name, kind string // kind: structure, list, string, integer, long, double, boolean, timestamp
	members    []member
	byName     map[string]*member // as in the SDKs
	byIn       map[string]*member // as in requests
	item       string             // the name of a list's elements in answers
	elem       *shape
	enum       map[string]bool
	min, max   *int
}

type member struct {
	name, in, out string
	shape         *shape
	required      bool
}

// Load reads the table. It panics if that is not well-formed: it is part of the program.
func Load() map[string]*Op {
	l := loader{shapes: map[string]*shape{}, ops: map[string]*Op{}}
	var last *shape
	for n, line := range strings.Split(strings.TrimSpace(table), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		switch {
		case line[0] == ' ':
			l.member(last, f)
		case f[0] == "op":
			l.ops[f[1]] = &Op{Name: f[1], in: l.shape(f[2]), out: l.shape(f[3])}
		case len(f) >= 2:
			last = l.define(f)
		default:
			panic(fmt.Sprintf("table.txt line %d: %q", n+1, line))
		}
	}
	for name, s := range l.shapes {
		if s.kind == "" {
			panic("table.txt: no shape " + name)
		}
	}
	return l.ops
}

type loader struct {
	shapes map[string]*shape
	ops    map[string]*Op
}

// shape returns the shape called name, which may be defined further down.
func (l *loader) shape(name string) *shape {
	if name == "-" {
		return nil
	}
	if l.shapes[name] == nil {
		l.shapes[name] = &shape{name: name}
	}
	return l.shapes[name]
}

func (l *loader) define(f []string) *shape {
	s := l.shape(f[1])
	s.kind, f = f[0], f[2:]
	for len(f) > 0 && (strings.HasPrefix(f[0], "min=") || strings.HasPrefix(f[0], "max=")) {
		n, err := strconv.Atoi(f[0][4:])
		if err == nil { // bounds that do not fit are as good as none
			if f[0][:3] == "min" {
				s.min = &n
			} else {
				s.max = &n
			}
		}
		f = f[1:]
	}
	switch {
	case s.kind == "list":
		s.item, s.elem = f[0], l.shape(f[1])
	case s.kind == "structure":
		s.byName, s.byIn = map[string]*member{}, map[string]*member{}
	case len(f) > 0:
		s.enum = map[string]bool{}
		for _, v := range f {
			s.enum[strings.ReplaceAll(v, `\s`, " ")] = true
		}
	}
	return s
}

func (l *loader) member(s *shape, f []string) {
	m := member{name: f[0], in: f[1], out: f[2], shape: l.shape(f[3]), required: len(f) > 4}
	s.members = append(s.members, m)
	s.byName[m.name], s.byIn[m.in] = &m, &m
}
