package restd

import (
	"bufio"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"fsub/slurm/wire"
)

// The shapes of answers are data: a file for each API version, with a line for each field of each answer. They come from the OpenAPI documents
// and the answers of real slurmrestds. Handlers answer in the shapes of package wire, those of wire.Base, and an answer is
// brought into the shape of the version that was asked for: what that version calls otherwise is renamed, what it does not have is left out, and
// what wire does not have gets the value that says nothing.
//
// A file begins with "like VERSION" if it tells only how it differs from another. "GET slurm/jobs" begins an answer; "-GET slurm/jobs" is one
// that the version does not have, "GET slurm/job/{} = GET slurm/jobs" one that is the same as another; "reply" is what all answers have. A field is a path and a type, "-path" takes
// a field or all of an object away. In a path [] is an element of a list. Types:
//
//	s i f b   string, integer, number, boolean
//	N F       {set, infinite, number} of an integer, of a number; it is not set where nothing is known
//	I         the same of a limit: there is none where nothing is known
//	{}        an object without fields
//
// A question mark after a type allows null; "< name" says what wire calls the field, in the object that it is in: "< ." is that object itself.
//
//go:embed shapes
var shapeFiles embed.FS

// shape is what a value looks like.
type shape struct {
	kind   byte // of the types above; '[' a list, '{' an object
	null   bool
	from   []string // where wire has it, below the object that it is in
	elem   *shape   // of a list
	fields map[string]*shape
	names  []string // of fields, in order
	same   bool     // wire writes it so

	nothing json.RawMessage // what is written where wire has nothing
}

// answers are the shapes of one version's answers, by "GET slurm/job/{}".
type answers map[string]*shape

// versionShapes are all versions.
var versionShapes = sync.OnceValue(func() map[string]answers {
	all := map[string]answers{}
	files, _ := shapeFiles.ReadDir("shapes")
	lines := map[string][]string{}
	for _, f := range files {
		text, _ := shapeFiles.ReadFile("shapes/" + f.Name())
		s := bufio.NewScanner(strings.NewReader(string(text)))
		for s.Scan() {
			name := strings.TrimSuffix(f.Name(), ".txt")
			lines[name] = append(lines[name], s.Text())
		}
	}
	for v, own := range lines {
		var text []string
		if base, ok := strings.CutPrefix(own[0], "like "); ok {
			text, own = lines[base], own[1:]
		}
		a := answers{}
		if err := a.read(slices.Concat(text, own)); err != nil {
			panic(fmt.Sprintf("restd: shapes of %s: %v", v, err))
		}
		all[v] = a
	}
	for _, a := range all {
		for key, s := range a {
			maps.Copy(s.fields, a["reply"].fields)
			if base := all[wire.Base][key]; asWire[key] {
				s.compare(base)
				s.same = false
				for _, list := range s.fields { // whose records have fields of later versions, too
					if list.same = false; list.elem != nil {
						list.elem.same = false
					}
				}
			}
			s.order()
		}
	}
	return all
})

// compare notes what of s is as wire.Base has it.
func (s *shape) compare(base *shape) bool {
	s.same = base != nil && s.kind == base.kind && s.null == base.null && s.from == nil && len(s.fields) == len(base.fields) &&
		(s.elem == nil || s.elem.compare(base.elem))
	for name, f := range s.fields {
		var other *shape
		if base != nil {
			other = base.fields[name]
		}
		s.same = f.compare(other) && s.same
	}
	return s.same
}

func (s *shape) order() {
	s.nothing, _ = json.Marshal(s.of(nil))
	s.names = slices.Sorted(maps.Keys(s.fields))
	for _, f := range s.fields {
		f.order()
	}
	if s.elem != nil {
		s.elem.order()
	}
}

func (a answers) read(lines []string) error {
	same := map[string]string{}
	var current *shape
	for _, line := range lines {
		field, isField := strings.CutPrefix(line, "\t")
		name, other, alias := strings.Cut(line, " = ")
		switch {
		case strings.HasPrefix(line, "#") || line == "":
		case isField && current != nil:
			if err := current.add(field); err != nil {
				return fmt.Errorf("%q: %w", field, err)
			}
		case alias:
			same[name] = other
		case strings.HasPrefix(line, "-"):
			delete(a, line[1:])
			delete(same, line[1:])
		default:
			if a[line] == nil {
				a[line] = &shape{kind: '{', fields: map[string]*shape{}}
			}
			current = a[line]
		}
	}
	for name, other := range same {
		if a[name] = a[other]; a[name] == nil {
			return fmt.Errorf("%s is like %s, which does not exist", name, other)
		}
	}
	return nil
}

// add reads a field: "jobs[].tres_req_str s", "-jobs[].power".
func (s *shape) add(line string) error {
	words := strings.Fields(line)
	path, gone := strings.CutPrefix(words[0], "-")
	steps := strings.Split(strings.ReplaceAll(path, "[]", ".[]"), ".")
	named := s // the last that has a name
	for _, step := range steps[:len(steps)-1] {
		if s = s.child(step); step != "[]" {
			named = s
		}
	}
	last := steps[len(steps)-1]
	if gone {
		delete(s.fields, last)
		return nil
	}
	if len(words) != 2 && (len(words) != 4 || words[2] != "<") {
		return fmt.Errorf("want a path, a type, and perhaps < and a name")
	}
	delete(s.fields, last)
	if s = s.child(last); last != "[]" {
		named = s
	}
	s.kind = words[1][0]
	s.null = strings.HasSuffix(words[1], "?")
	if len(words) == 4 {
		named.from = strings.Split(words[3], ".")
	}
	return nil
}

// child is a part of s; the step to it says what s is.
func (s *shape) child(step string) *shape {
	if step == "[]" {
		s.kind = '['
		if s.elem == nil {
			s.elem = new(shape)
		}
		return s.elem
	}
	if s.kind != '{' || s.fields == nil {
		s.kind, s.fields, s.elem = '{', map[string]*shape{}, nil
	}
	if s.fields[step] == nil {
		s.fields[step] = new(shape)
	}
	return s.fields[step]
}

// asWire are the answers for which package wire has all that wire.Base has, in slurmrestd's order.
var asWire = map[string]bool{
	"GET slurm/jobs": true, "GET slurm/job/{}": true, "GET slurm/nodes": true, "GET slurm/node/{}": true, "GET slurm/partitions": true,
	"GET slurm/partition/{}": true, "GET slurm/reservations": true, "GET slurm/reservation/{}": true, "GET slurmdb/jobs": true, "GET slurmdb/job/{}": true,
	"DELETE slurm/jobs": true, "DELETE slurm/job/{}": true, "POST slurm/job/{}": true, "POST slurm/job/submit": true,
}

// shapeOf is the shape of the answer to r; nil if it is to be as wire has it. Our own commands ask for that, with sparse=1.
func shapeOf(r *http.Request) *shape {
	version, key := r.PathValue("version"), keyOf(r.Pattern)
	if r.URL.Query().Get("sparse") != "" || version == wire.Base && asWire[key] {
		return nil
	}
	return versionShapes()[version][key]
}
