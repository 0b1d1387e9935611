package model

import "time"

// Doc is a structure of the model: members by the names that they have in the SDKs. Values are string, int, bool, float64, time.Time, Doc, and
// lists: []any in what Decode returns; []any, []string, []Doc are understood by Encode. Absent members are absent.
type Doc map[string]any

// Has reports whether member is there.
func (d Doc) Has(member string) bool { _, ok := d[member]; return ok }

// Str returns a string, "" if it is absent.
func (d Doc) Str(member string) string { s, _ := d[member].(string); return s }

// Int returns an integer, 0 if it is absent.
func (d Doc) Int(member string) int { i, _ := d[member].(int); return i }

// Bool returns a boolean, false if it is absent.
func (d Doc) Bool(member string) bool { b, _ := d[member].(bool); return b }

// Time returns a time, zero if it is absent.
func (d Doc) Time(member string) time.Time { t, _ := d[member].(time.Time); return t }

// Sub returns a structure; nil, of which everything can be asked, if it is absent.
func (d Doc) Sub(member string) Doc { s, _ := d[member].(Doc); return s }

// Docs returns a list of structures.
func (d Doc) Docs(member string) []Doc {
	list, _ := d[member].([]any)
	var out []Doc
	for _, v := range list {
		out = append(out, v.(Doc))
	}
	return out
}

// Strs returns a list of strings.
func (d Doc) Strs(member string) []string {
	list, _ := d[member].([]any)
	var out []string
	for _, v := range list {
		out = append(out, v.(string))
	}
	return out
}
