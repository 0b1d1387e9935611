package restd

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"fsub/federation/api/answer"
)

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
	case text == nil && s.nothing != nil:
		return s.nothing, nil
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
		} else if raw, ok := object[f.from[0]]; !ok && f.from[0] != "" && f.nothing != nil || ok && string(raw) == "null" && f.nothing != nil {
			value = f.nothing
		} else {
			var has map[string]any
			if has, err = f.read(text, object); err == nil {
				value, err = json.Marshal(f.of(f.find(has, name)))
			}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, value...)
	}
	return append(out, '}'), nil
}

// read is what [shape.find] looks at of an object: all of it, or the one field that it begins with.
func (s *shape) read(text json.RawMessage, fields map[string]json.RawMessage) (map[string]any, error) {
	if s.from[0] == "" {
		v, err := read(text)
		object, _ := v.(map[string]any)
		return object, err
	}
	raw, ok := fields[s.from[0]]
	if !ok {
		return nil, nil
	}
	v, err := read(raw)
	return map[string]any{s.from[0]: v}, err
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
		return number(v)
	case 'b':
		return v == true
	}
	return text(v)
}

// number is v as a plain number: 0 if it is none.
func number(v any) json.Number {
	switch at := v.(type) {
	case map[string]any:
		return number(at["number"])
	case json.Number:
		return at
	}
	return "0"
}

// text is v as a string: "" if it is none.
func text(v any) string {
	switch at := v.(type) {
	case string:
		return at
	case json.Number:
		return at.String()
	}
	return ""
}

// find looks up a field of an object as wire has it.
func (s *shape) find(object map[string]any, name string) any {
	switch {
	case s.from == nil:
		return object[name]
	case s.from[0] == "": // a lone dot: the object itself
		return object
	}
	return object[s.from[0]]
}
