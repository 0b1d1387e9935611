package v1

import (
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// A query is a struct whose fields have the tags query (the name in the URL) and doc (what it means, for the OpenAPI document). Fields are
// strings, lists of strings (the name may be repeated), numbers from 0, or from 1 with the tag min:"1" and to that of the tag max, pointers to such numbers (nil where
// the URL has none), times (in seconds since 1970), flags ("1"), and structs without a name that have such fields. A field that the URL does not have keeps its value.

var timeType = reflect.TypeFor[time.Time]()

// ReadQuery reads the values of a URL into the query q. Names that q does not have are left alone.
func ReadQuery(values url.Values, q any) error {
	for field, v := range queryFields(q) {
		texts := values[field.Tag.Get("query")]
		if len(texts) == 0 {
			continue
		}
		if v.Kind() == reflect.Slice {
			list := reflect.MakeSlice(v.Type(), len(texts), len(texts))
			for i, text := range texts {
				list.Index(i).SetString(text)
			}
			v.Set(list)
		} else if err := readValue(texts[0], v, field.Tag); err != nil {
			return fmt.Errorf("invalid %s %q: %w", field.Tag.Get("query"), texts[0], err)
		}
	}
	return nil
}

func readValue(text string, v reflect.Value, tag reflect.StructTag) error {
	switch {
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		if text != "" && text != "0" && text != "1" {
			return fmt.Errorf("want 1 or 0")
		}
		v.SetBool(text == "1")
	case text == "":
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return readValue(text, v.Elem(), tag)
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || v.CanInt() && v.OverflowInt(n) {
			return fmt.Errorf("want a number")
		}
		if tag.Get("min") == "1" && n == 0 {
			return fmt.Errorf("want a number from 1")
		}
		if most, err := strconv.ParseInt(tag.Get("max"), 10, 64); err == nil && n > most {
			return fmt.Errorf("want a number to %d", most)
		}
		if v.Type() == timeType {
			v.Set(reflect.ValueOf(time.Unix(n, 0)))
		} else {
			v.SetInt(n)
		}
	}
	return nil
}

// URLQuery is the query q as the values of a URL. What is not set is left out.
func URLQuery(q any) url.Values {
	values := url.Values{}
	for field, v := range queryFields(q) {
		name := field.Tag.Get("query")
		switch {
		case v.IsZero():
		case v.Kind() == reflect.Pointer:
			values.Set(name, strconv.FormatInt(v.Elem().Int(), 10))
		case v.Kind() == reflect.Slice:
			for i := range v.Len() {
				values.Add(name, v.Index(i).String())
			}
		case v.Type() == timeType:
			values.Set(name, strconv.FormatInt(v.Interface().(time.Time).Unix(), 10))
		case v.Kind() == reflect.Bool:
			values.Set(name, "1")
		case v.Kind() == reflect.String:
			values.Set(name, v.String())
		default:
			values.Set(name, strconv.FormatInt(v.Int(), 10))
		}
	}
	return values
}

// Param is one word of a query as the OpenAPI document describes it.
type Param struct {
	Name, Doc string
	Type      string   // in the words of JSON schema: "string", "integer", or "array" of strings, of which each is one value of the word
	Enum      []string // of a string: nothing else is taken
	Min, Max  int64    // of an integer; Max 0: no bound
}

// QueryParams are the words of the query q.
func QueryParams(q any) (params []Param) {
	for field, v := range queryFields(q) {
		p := Param{Name: field.Tag.Get("query"), Doc: field.Tag.Get("doc"), Type: "string"}
		switch {
		case v.Kind() == reflect.Slice:
			p.Type = "array"
		case v.Kind() == reflect.Bool:
			p.Enum = []string{"0", "1"}
		case v.Kind() != reflect.String:
			p.Type = "integer"
			p.Min, _ = strconv.ParseInt(field.Tag.Get("min"), 10, 64)
			p.Max, _ = strconv.ParseInt(field.Tag.Get("max"), 10, 64)
		case field.Tag.Get("enum") != "":
			p.Enum = strings.Split(field.Tag.Get("enum"), ",")
		}
		params = append(params, p)
	}
	return params
}

// queryFields are the fields of the query q, a struct or a pointer to one, that have a name in the URL.
func queryFields(q any) func(yield func(reflect.StructField, reflect.Value) bool) {
	v := reflect.Indirect(reflect.ValueOf(q))
	return func(yield func(reflect.StructField, reflect.Value) bool) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Anonymous {
				for f, v := range queryFields(v.Field(i).Addr().Interface()) {
					if !yield(f, v) {
						return
					}
				}
			} else if f.Tag.Get("query") != "" && !yield(f, v.Field(i)) {
				return
			}
		}
	}
}
