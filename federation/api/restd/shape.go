package restd

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fsub/federation/api/answer"
	"fsub/slurm/wire"
)

// The shapes of answers are data: a file for each API version, with a line for each field of each answer. They come from the OpenAPI documents
// and the answers of real slurmrestds. Handlers answer in the shapes of package wire, those of wire.Base, and an answer is
// brought into the shape of the version that was asked for: what that version calls otherwise is renamed, what it does not have is left out, and
// what wire does not have gets the value that says nothing.
//
// A file begins with "like VERSION" if it tells only how it differs from another. "GET slurm/jobs" begins an answer; "-GET slurm/jobs" is one
// that the version does not have, "GET slurm/job/{} = GET slurm/jobs" one that is the same as another; "reply" is what all answers have. A field is a path and a type, "-path" takes
// a field or all of an object away. In a path [] is an element of a list and * the name of any field. Types:
//
//	s i f b   string, integer, number, boolean
//	N F       {set, infinite, number} of an integer, of a number; it is not set where nothing is known
//	I         the same of a limit: there is none where nothing is known
//	l         a string in lower case
//	c         a string: all of a list, with commas
//	e         a string: what comes after the last dot
//	x         an exit code as wait(2) gives it
//	{}        an object without fields
//
// A list that becomes one value gives its first. A question mark after a type allows null; "< name" says what wire calls the field, in the
// object that it is in: "< ." is that object itself, and "name.rest" a list but for its first. A tilde stands for a blank in a name.
//
//go:embed shapes
var shapeFiles embed.FS

// shape is what a value looks like.
type shape struct {
	kind   byte // of the types above; '[' a list, '{' an object, '*' an object with fields of any name
	null   bool
	from   []string // where wire has it, below the object that it is in
	elem   *shape   // of a list, or of any field
	fields map[string]*shape
	names  []string // of fields, in order
	same   bool     // wire writes it so
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
			return fmt.Errorf("%s is like %s, which there is not", name, other)
		}
	}
	return nil
}

// add reads a field: "jobs[].tres_req_str s", "-jobs[].power".
func (s *shape) add(line string) error {
	words := strings.Fields(line)
	path, gone := strings.CutPrefix(strings.ReplaceAll(words[0], "~", " "), "-")
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
	switch step {
	case "[]", "*":
		s.kind = step[0]
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

// of brings v, which was read from JSON with numbers as written, into the shape; nil is a value that is missing.
func (s *shape) of(v any) any {
	object, isObject := v.(map[string]any)
	list, isList := v.([]any)
	if v == nil && s.null {
		return nil
	}
	switch s.kind {
	case '{':
		out := make(map[string]any, len(s.fields))
		for name, f := range s.fields {
			out[name] = f.of(f.find(object, name))
		}
		return out
	case '*':
		out := make(map[string]any, len(object))
		for name := range object {
			out[name] = s.elem.of(object[name])
		}
		return out
	case '[':
		if v != nil && !isList {
			list = []any{v}
		}
		out := make([]any, len(list))
		for i := range list {
			out[i] = s.elem.of(list[i])
		}
		return out
	case 'N', 'F', 'I':
		if isObject {
			return object
		}
		n, set := v.(json.Number)
		if !set {
			n = "0"
		}
		return map[string]any{"set": set, "infinite": s.kind == 'I' && !set, "number": n}
	case 'i', 'f':
		return s.number(v)
	case 'b':
		return v == true
	case 'x':
		return waitStatus(object)
	}
	return s.text(v)
}

// number is v as a plain number: -1 if it is infinite, or null where that may be.
func (s *shape) number(v any) any {
	switch at := v.(type) {
	case map[string]any:
		switch {
		case at["set"] == false && s.null:
			return nil
		case at["infinite"] == true:
			return json.Number("-1")
		}
		return s.number(at["number"])
	case string:
		digits := strings.IndexFunc(at+".", func(r rune) bool { return r < '0' || r > '9' })
		if digits > 0 {
			return json.Number(at[:digits])
		}
	case bool:
		if at {
			return json.Number("1")
		}
	case json.Number:
		return at
	}
	return json.Number("0")
}

// text is v as a string.
func (s *shape) text(v any) any {
	var words []string
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	for _, item := range list {
		switch item := item.(type) {
		case string:
			words = append(words, item)
		case json.Number:
			words = append(words, item.String())
		}
	}
	if s.kind != 'c' && len(words) > 1 {
		words = words[:1]
	}
	text := strings.Join(words, ",")
	switch {
	case s.null && text == "":
		return nil
	case s.kind == 'l':
		return strings.ToLower(text)
	case s.kind == 'e':
		return text[strings.LastIndexByte(text, '.')+1:]
	}
	return text
}

// waitStatus is an exit code with return_code and signal as one number.
func waitStatus(code map[string]any) json.Number {
	value := func(v any) int64 {
		number, _ := v.(map[string]any)
		n, _ := number["number"].(json.Number)
		i, _ := n.Int64()
		return i
	}
	signal, _ := code["signal"].(map[string]any)
	return json.Number(strconv.FormatInt(value(code["return_code"])<<8|value(signal["id"]), 10))
}

// find looks up a field of an object as wire has it.
func (s *shape) find(object map[string]any, name string) any {
	switch {
	case s.from == nil:
		return object[name]
	case s.from[0] == "": // a lone dot: the object itself
		return object
	}
	var v any = object
	for _, step := range s.from {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			if v = nil; step == "rest" && len(at) > 0 {
				v = at[1:]
			}
		default:
			return nil
		}
	}
	return v
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

// write answers with v, a value of package wire, in the shape of the version that was asked for.
func write(w http.ResponseWriter, r *http.Request, v any) error {
	s := shapeOf(r)
	if s == nil {
		return answer.JSON(w, v)
	}
	text, err := s.json(v)
	if err != nil {
		return err
	}
	return answer.JSON(w, text)
}

// json is v in the shape.
func (s *shape) json(v any) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return s.reshape(text)
}

// reshape is [shape.of] for JSON that wire has written, nil if it is missing. It does not look into what wire writes in the shape already: that is
// most of it.
func (s *shape) reshape(text json.RawMessage) (json.RawMessage, error) {
	switch {
	case s.same && text != nil:
		return text, nil
	case s.kind == '{' && len(text) > 0 && text[0] == '{':
		return s.reshapeFields(text)
	case s.kind == '[' && len(text) > 0 && text[0] == '[':
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, err
		}
		for i := range list {
			var err error
			if list[i], err = s.elem.reshape(list[i]); err != nil {
				return nil, err
			}
		}
		return json.Marshal(list)
	}
	v, err := read(text)
	if err != nil {
		return nil, err
	}
	return json.Marshal(s.of(v))
}

func (s *shape) reshapeFields(text json.RawMessage) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	out := []byte{'{'}
	for i, name := range s.names {
		f := s.fields[name]
		if i > 0 {
			out = append(out, ',')
		}
		out = append(strconv.AppendQuote(out, name), ':')
		value, err := json.RawMessage(nil), error(nil)
		if f.from == nil {
			value, err = f.reshape(object[name])
		} else {
			var whole any
			if whole, err = read(text); err == nil {
				object, _ := whole.(map[string]any)
				value, err = json.Marshal(f.of(f.find(object, name)))
			}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, value...)
	}
	return append(out, '}'), nil
}

// read is what JSON says, with numbers as written; nil if there is none.
func read(text json.RawMessage) (v any, err error) {
	if text == nil {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
