package model

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"time"
)

const namespace = "http://ec2.amazonaws.com/doc/2016-11-15/"

// Encode writes an answer. An error says that doc has what the model does not: a fault of the caller.
func (o *Op) Encode(doc Doc, request string) ([]byte, error) {
	var w bytes.Buffer
	fmt.Fprintf(&w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<%sResponse xmlns="%s"><requestId>%s</requestId>`, o.Name, namespace, request)
	if o.out == nil {
		w.WriteString("<return>true</return>")
	} else if err := encodeStruct(&w, doc, o.out, o.Name); err != nil {
		return nil, err
	}
	fmt.Fprintf(&w, "</%sResponse>", o.Name)
	return w.Bytes(), nil
}

func encodeStruct(w *bytes.Buffer, doc Doc, s *shape, path string) error {
	for name := range doc {
		if s.byName[name] == nil {
			return fmt.Errorf("%s has no member %s", path, name)
		}
	}
	for i := range s.members {
		m := &s.members[i]
		v, ok := doc[m.name]
		if !ok || v == nil {
			continue
		}
		if err := encode(w, v, m.shape, m.out, path+"."+m.name); err != nil {
			return err
		}
	}
	return nil
}

// encode writes one element.
func encode(w *bytes.Buffer, v any, s *shape, tag, path string) error {
	open(w, tag)
	err := error(nil)
	switch s.kind {
	case "structure":
		doc, ok := v.(Doc)
		if !ok {
			return fmt.Errorf("%s is a %T, not a structure", path, v)
		}
		err = encodeStruct(w, doc, s, path)
	case "list":
		err = encodeList(w, v, s, path)
	default:
		err = encodeScalar(w, v, s, path)
	}
	w.WriteString("</")
	w.WriteString(tag)
	w.WriteByte('>')
	return err
}

func open(w *bytes.Buffer, tag string) {
	w.WriteByte('<')
	w.WriteString(tag)
	w.WriteByte('>')
}

func encodeList(w *bytes.Buffer, v any, s *shape, path string) error {
	var err error
	each := func(v any) {
		if err == nil {
			err = encode(w, v, s.elem, s.item, path)
		}
	}
	switch list := v.(type) {
	case []any:
		for _, v := range list {
			each(v)
		}
	case []string:
		for _, v := range list {
			each(v)
		}
	case []Doc:
		for _, v := range list {
			each(v)
		}
	default:
		return fmt.Errorf("%s is a %T, not a list", path, v)
	}
	return err
}

func encodeScalar(w *bytes.Buffer, v any, s *shape, path string) error {
	kind, text := "", ""
	switch v := v.(type) {
	case string:
		kind, text = "string", v
	case int:
		kind, text = "integer", strconv.Itoa(v)
	case bool:
		kind, text = "boolean", strconv.FormatBool(v)
	case float64:
		kind, text = "double", strconv.FormatFloat(v, 'f', -1, 64)
	case time.Time:
		kind, text = "timestamp", v.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	if kind != s.kind && !(kind == "integer" && s.kind == "long") {
		return fmt.Errorf("%s is a %T, not a %s", path, v, s.kind)
	}
	if s.enum != nil && !s.enum[text] {
		return fmt.Errorf("%s is %q, which is no %s", path, text, s.name)
	}
	return xml.EscapeText(w, []byte(text))
}
