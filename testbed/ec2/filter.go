package ec2

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"fsub/testbed/ec2/model"
)

// row is one resource of a listing: what is shown, and what filters can ask for. A filter that is not a field (and no tag) is refused, so field has every
// name that is known, of many values joined by "\n".
type row struct {
	doc   model.Doc
	field map[string]string
	tags  map[string]string
}

// pass reports whether a row fits all filters of a request. One that is not known is refused, whatever the others let through.
func (r row) pass(filters []model.Doc) (bool, error) {
	all := true
	for _, f := range filters {
		ok, err := r.fits(f.Str("Name"), f.Strs("Values"))
		if err != nil {
			return false, err
		}
		all = all && ok
	}
	return all, nil
}

func (r row) fits(name string, values []string) (bool, error) {
	if len(values) == 0 {
		return false, refuse("InvalidParameterValue", "The filter '%s' has no values", name)
	}
	var have []string
	switch key, isTag := strings.CutPrefix(name, "tag:"); {
	case isTag:
		if v, ok := r.tags[key]; ok {
			have = []string{v}
		}
	case name == "tag-key":
		for k := range r.tags {
			have = append(have, k)
		}
	case name == "tag-value":
		for _, v := range r.tags {
			have = append(have, v)
		}
	default:
		v, known := r.field[name]
		if !known {
			return false, refuse("InvalidParameterValue", "The filter '%s' is invalid", name)
		}
		have = strings.Split(v, "\n")
	}
	for _, want := range values {
		for _, h := range have {
			if wild(want, h) {
				return true, nil
			}
		}
	}
	return false, nil
}

// wild matches a filter's value, in which * and ? stand for anything and a backslash takes their meaning away.
func wild(pattern, s string) bool {
	for pattern != "" {
		switch {
		case pattern[0] == '*':
			for i := range len(s) + 1 {
				if wild(pattern[1:], s[i:]) {
					return true
				}
			}
			return false
		case s == "":
			return false
		case pattern[0] == '?':
			_, size := utf8.DecodeRuneInString(s)
			pattern, s = pattern[1:], s[size:]
			continue
		case pattern[0] == '\\' && len(pattern) > 1:
			pattern = pattern[1:]
		}
		if pattern[0] != s[0] {
			return false
		}
		pattern, s = pattern[1:], s[1:]
	}
	return s == ""
}

// page returns the bounds of the part of n rows that a request asks for, and the token of the next.
func page(args model.Doc, n, least, most int) (from, to int, next string, err error) {
	size := most
	if args.Has("MaxResults") {
		size = args.Int("MaxResults")
		if size < least || size > most {
			return 0, 0, "", refuse("InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value between %d and %d.", size, least, most)
		}
	}
	if token := args.Str("NextToken"); token != "" {
		if from, err = readToken(token); err != nil {
			return 0, 0, "", err
		}
	}
	from = min(from, n)
	to = min(n, from+size)
	if to < n {
		next = writeToken(to)
	}
	return from, to, next, nil
}

func writeToken(n int) string { return base64.StdEncoding.EncodeToString([]byte("next:" + itoa(n))) }

func readToken(token string) (int, error) {
	b, err := base64.StdEncoding.DecodeString(token)
	s, ok := strings.CutPrefix(string(b), "next:")
	n, err2 := strconv.Atoi(s)
	if err != nil || !ok || err2 != nil {
		return 0, refuse("InvalidNextToken", "The token '%s' is invalid", token)
	}
	return n, nil
}

// answerList filters and pages rows into an answer whose list is called member.
func answerList(args model.Doc, member string, rows []row, least, most int) (model.Doc, error) {
	docs, err := filtered(args, rows)
	if err != nil {
		return nil, err
	}
	from, to, next, err := page(args, len(docs), least, most)
	if err != nil {
		return nil, err
	}
	out := model.Doc{member: docs[from:to]}
	if next != "" {
		out["NextToken"] = next
	}
	return out, nil
}

// filtered returns what is shown of the rows that pass the filters, once DryRun has been answered.
func filtered(args model.Doc, rows []row) ([]model.Doc, error) {
	if err := dryRun(args); err != nil {
		return nil, err
	}
	docs := []model.Doc{}
	for _, r := range rows {
		ok, err := r.pass(args.Docs("Filters"))
		if err != nil {
			return nil, err
		}
		if ok {
			docs = append(docs, r.doc)
		}
	}
	return docs, nil
}

func number(s string) float64 { f, _ := strconv.ParseFloat(s, 64); return f }

// validID reports whether an ID has the form of Amazon's: its prefix and 8 or 17 hexadecimal digits.
func validID(id, prefix string) bool {
	digits, ok := strings.CutPrefix(id, prefix)
	return ok && (len(digits) == 8 || len(digits) == 17) && strings.Trim(digits, "0123456789abcdef") == ""
}

// choose keeps the rows whose field is among wanted, in the order of wanted; one that is missing is refused with code.
func choose(rows []row, field string, wanted []string, code, format string) ([]row, error) {
	if len(wanted) == 0 {
		return rows, nil
	}
	var out []row
	for _, w := range wanted {
		n := len(out)
		for _, r := range rows {
			if r.field[field] == w {
				out = append(out, r)
			}
		}
		if len(out) == n {
			return nil, refuse(code, format, w)
		}
	}
	return out, nil
}

func codeOf(err error) string {
	if e, ok := err.(*apiError); ok {
		return e.Code
	}
	return ""
}

// many is the value of a field that has several.
func many(values []string) string { return strings.Join(values, "\n") }
