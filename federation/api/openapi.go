package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	v1 "fsub/federation/api/v1"
)

// operation is one of the routes that describeRoutes describes. In and Out are values of the types of its bodies, nil where it has none.
type operation struct {
	Method, Path string
	Doc          string
	Who          string // may call it
	Query        []param
	In, Out      any
	Takes        string // what the body is: "" is JSON
	Content      string // of the answer: "" is JSON
	Upgrades     bool   // the connection becomes a tunnel
	Pages        bool   // it is a list that is there page by page
	Marked       bool   // its pages have a mark of the log of changes
}

// param is one word of a query.
type param = v1.Param

// words are words of a query that no struct has: each with its type, ":integer", ":flag" or ":array", if it is not a text, and what it means.
type words [][2]string

func (w words) params() (all []param) {
	for _, word := range w {
		name, kind, _ := strings.Cut(word[0], ":")
		p := param{Name: name, Doc: word[1], Type: cmp.Or(kind, "string")}
		if kind == "flag" {
			p.Type, p.Enum = "string", []string{"1"}
		}
		all = append(all, p)
	}
	return all
}

// schemaOf is what the values of a word of a query are.
func schemaOf(p *param) object {
	o := object{"type": p.Type}
	switch {
	case p.Type == "array":
		o["items"] = object{"type": "string"}
	case p.Type == "integer":
		o["format"], o["minimum"] = "int64", p.Min
		if p.Max > 0 {
			o["maximum"] = p.Max
		}
	case p.Enum != nil:
		o["enum"] = p.Enum
	}
	return o
}

// shape lets a type that writes its own JSON say what that is.
type shape struct {
	Type   string // in the words of JSON schema
	Format string
	Doc    string
}

// typeDocs are the comments of types and of their fields: of "v1.Job" and "v1.Job.State".
type typeDocs map[string]string

// documentHead is what an OpenAPI document says besides its routes.
type documentHead struct {
	Title, Version, Doc string
	Error               any                    // the shape of every answer with a status of 400 and above
	Shapes              map[reflect.Type]shape // of types that write their own JSON
	Docs                typeDocs
}

type object = map[string]any

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

// describeRoutes is the document as indented JSON. It fails on a type that JSON does not write field by field and that has no shape.
func describeRoutes(c documentHead, routes []operation) ([]byte, error) {
	m := &documentMaker{documentHead: c, schemas: object{}}
	paths := object{}
	for _, r := range routes {
		if paths[r.Path] == nil {
			paths[r.Path] = object{}
		}
		paths[r.Path].(object)[strings.ToLower(r.Method)] = m.operation(&r)
	}
	if m.err != nil {
		return nil, m.err
	}
	b, err := json.MarshalIndent(object{
		"openapi":    "3.1.0",
		"info":       object{"title": c.Title, "version": c.Version, "description": c.Doc},
		"paths":      paths,
		"components": object{"schemas": m.schemas},
	}, "", " ")
	return append(b, '\n'), err
}

// documentMaker makes an OpenAPI 3.1 document of routes and the Go types that they take and give.
type documentMaker struct {
	documentHead
	schemas object
	err     error
}

func (m *documentMaker) operation(r *operation) object {
	op := object{"summary": r.Doc, "description": "Who may call it: " + r.Who + "."}
	var params []object
	for _, name := range pathParam.FindAllStringSubmatch(r.Path, -1) {
		params = append(params, object{"name": name[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, q := range r.Query {
		params = append(params, object{"name": q.Name, "in": "query", "description": q.Doc, "schema": schemaOf(&q)})
	}
	if r.Pages {
		params = append(params, object{"name": "If-None-Match", "in": "header", "description": "the ETag of a page that the caller has", "schema": object{"type": "string"}})
	}
	if params != nil {
		op["parameters"] = params
	}
	if r.In != nil {
		op["requestBody"] = object{"required": true, "content": m.content(cmp.Or(r.Takes, "application/json"), r.In)}
	}
	good := object{"description": "It was done."}
	code := "204"
	switch {
	case r.Out != nil && r.Content != "":
		code, good["content"] = "200", m.content(r.Content, r.Out)
	case r.Out != nil:
		code, good["content"] = "200", m.content("application/json", r.Out)
	case r.Content != "":
		code, good["content"] = "200", object{r.Content: object{}}
	}
	responses := object{
		code:      good,
		"default": object{"description": "It was refused, or failed.", "content": m.content("application/json", m.Error)},
	}
	if r.Upgrades {
		responses["101"] = object{"description": "The connection is a tunnel."}
	}
	if r.Pages {
		good["headers"] = pageHeaders(r.Marked)
		responses["304"] = object{"description": "The page is still the one that the caller has."}
	}
	op["responses"] = responses
	return op
}

// pageHeaders are the headers of the answer with a page.
func pageHeaders(marked bool) object {
	head := func(kind, doc string) object { return object{"description": doc, "schema": object{"type": kind}} }
	all := object{
		"Link": head("string", `of a page: the addresses of the pages before it, rel="prev", and behind it, rel="next"; one that is not there is left out`),
		"ETag": head("string", "of a page: send it as If-None-Match; the answer is 304 as long as nothing has changed"),
	}
	if marked {
		all[v1.AsOfHeader] = head("integer", "of a page: a mark of the log of changes, from which GET /fed/v1/events goes on")
	}
	return all
}

func (m *documentMaker) content(mime string, v any) object {
	return object{mime: object{"schema": m.schema(reflect.TypeOf(v))}}
}

// schema is what a value of type t is in JSON.
func (m *documentMaker) schema(t reflect.Type) object {
	if s, ok := m.Shapes[t]; ok {
		o := object{"type": s.Type}
		if s.Format != "" {
			o["format"] = s.Format
		}
		if s.Doc != "" {
			o["description"] = s.Doc
		}
		return o
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[time.Duration]():
		return object{"type": "integer", "format": "int64", "description": "nanoseconds"}
	case t == reflect.TypeFor[[]byte]():
		return object{"type": "string", "contentEncoding": "base64"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return m.schema(t.Elem())
	case reflect.Slice:
		kind := any([]string{"array", "null"})
		if t.Implements(reflect.TypeFor[json.Marshaler]()) { // lists of package wire write [] where they are nil
			kind = "array"
		}
		return object{"type": kind, "items": m.schema(t.Elem())}
	case reflect.Map:
		return object{"type": []string{"object", "null"}, "additionalProperties": m.schema(t.Elem())}
	case reflect.Struct:
		return m.reference(t)
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64, reflect.Float32:
		return object{"type": "number"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer", "format": "int64"}
	case reflect.Int32, reflect.Uint32, reflect.Uint8, reflect.Uint16:
		return object{"type": "integer"}
	}
	m.fail("%s: no schema for a %s", t, t.Kind())
	return object{}
}

func (m *documentMaker) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("openapi: "+format, args...)
	}
}

// reference is a reference to the schema of a struct.
func (m *documentMaker) reference(t reflect.Type) object {
	if t.Implements(reflect.TypeFor[json.Marshaler]()) {
		m.fail("%s writes its own JSON: say what it is", t)
	}
	if t.Name() == "" {
		return m.fill(object{}, t)
	}
	name := schemaName(t)
	if m.schemas[name] == nil {
		s := object{}
		m.schemas[name] = s // before its fields: they may be of its own type
		m.fill(s, t)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// fill makes s the schema of a struct.
func (m *documentMaker) fill(s object, t reflect.Type) object {
	properties, required := object{}, []string{}
	m.fields(t, properties, &required)
	s["type"], s["additionalProperties"], s["properties"] = "object", false, properties
	if len(required) > 0 {
		s["required"] = required
	}
	if doc := m.Docs[t.String()]; doc != "" {
		s["description"] = doc
	}
	return s
}

// schemaName is a type's name, of other packages than v1 with that before it.
func schemaName(t reflect.Type) string {
	pkg, name, _ := strings.Cut(t.String(), ".")
	if pkg == "v1" {
		return name
	}
	return strings.ToUpper(pkg[:1]) + pkg[1:] + name
}

func (m *documentMaker) fields(t reflect.Type, properties object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-" || !f.IsExported():
			continue
		case f.Anonymous && tag == "":
			m.fields(f.Type, properties, required)
			continue
		case tag == "":
			tag = f.Name
		}
		s := m.schema(f.Type)
		if doc := cmp.Or(m.Docs[t.String()+"."+f.Name], f.Tag.Get("usage")); doc != "" {
			if unit, ok := s["description"].(string); ok {
				doc += " (" + unit + ")"
			}
			s["description"] = doc
		}
		properties[tag] = s
		switch zero, ok := zeroOf(f.Type); {
		case options == "":
			*required = append(*required, tag)
		case ok && s["$ref"] == nil:
			s["default"] = zero
		}
	}
}

// zeroOf is what a field that is left out stands for, where that is a value: of a pointer, or a time, nothing is known then.
func zeroOf(t reflect.Type) (zero any, ok bool) {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Float32, reflect.Float64:
		return reflect.Zero(t).Interface(), true
	}
	return nil, false
}
