package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"fsub/federation/api/answer"
	v1 "fsub/federation/api/v1"
)

// readPageQuery reads what a query says of a page.
func readPageQuery(r *http.Request) (q v1.PageQuery, err error) { return pageQueryOf(r.URL.Query()) }

func pageQueryOf(values url.Values) (q v1.PageQuery, err error) {
	err = v1.ReadQuery(values, &q)
	if err == nil && q.After != "" && q.Before != "" {
		err = fmt.Errorf("invalid page: after and before go in two directions: give one of them")
	}
	if err != nil {
		return q, answer.BadBody(err.Error())
	}
	return q, nil
}

// known reports whether the client has what etag names.
func known(r *http.Request, etag string) bool {
	for have := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if etag != "" && strings.TrimPrefix(strings.TrimSpace(have), "W/") == etag {
			return true
		}
	}
	return false
}

// fieldsOf are those that a query asks for of a list of T; nil: all.
func fieldsOf[T any](text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	all := jsonNames(reflect.TypeFor[T]())
	names := strings.Split(text, ",")
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, answer.BadBody(fmt.Sprintf("invalid fields: unknown field %q: want some of %s", name, strings.Join(all, ", ")))
		}
	}
	return names, nil
}

// jsonNames are the names of the fields of a struct in JSON.
func jsonNames(t reflect.Type) (names []string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			names = append(names, jsonNames(f.Type)...)
		case name != "" && name != "-":
			names = append(names, name)
		}
	}
	return names
}

// only writes a thing as JSON with these fields; nil: with all.
func only(thing any, fields []string) (json.RawMessage, error) {
	text, err := json.Marshal(thing)
	if err != nil || fields == nil {
		return text, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	b := []byte{'{'}
	for _, name := range fields {
		if v, ok := all[name]; ok {
			b = append(append(append(b, '"'), name...), `":`...)
			b = append(append(b, v...), ',')
		}
	}
	return append(bytes.TrimSuffix(b, []byte{','}), '}'), nil
}

// writePage is the answer with a page.
func writePage[T any](w http.ResponseWriter, r *http.Request, p *v1.Page[T], fields []string) error {
	p.SetHeaders(w.Header(), r.URL)
	if known(r, p.ETag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return writeList(w, p.Items, fields)
}

// writeList is the answer with a list of things, which is in memory.
func writeList[T any](w http.ResponseWriter, things []T, fields []string) error {
	out := answer.NewList(w, "")
	for i := range things {
		text, err := only(&things[i], fields)
		if err != nil {
			return out.Fail(err)
		}
		out.Add(text)
		if err := out.Send(); err != nil {
			return err
		}
	}
	return out.End(nil)
}
