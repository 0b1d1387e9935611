package api

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/federation/api/answer"
)

// where is a condition of a query: KEY=VALUE[,VALUE...], of which one must be met, or KEY!=VALUE[,VALUE...], of which none. Jobs have age<TIME and age>TIME too.
type where struct {
	key   string
	op    byte     // '=', '!', '<', '>'
	value string   // all of it
	items []string // the values between commas, in small letters; a reason may have commas
}

// readWhere reads a condition that has one of the keys.
func readWhere(text string, keys []string) (w where, err error) {
	timed := slices.Contains(keys, "age")
	i := strings.IndexAny(text, "=!<>")
	if i < 0 || !slices.Contains(keys, text[:i]) {
		forms := "KEY=VALUE or KEY!=VALUE"
		if timed {
			forms = "KEY=VALUE, KEY!=VALUE, age>TIME or age<TIME"
		}
		return w, invalidWhere(text, "want %s, with one of the keys %s", forms, strings.Join(keys, ", "))
	}
	w = where{key: text[:i], op: text[i], value: text[i+1:]}
	if w.op == '!' {
		var ok bool
		if w.value, ok = strings.CutPrefix(w.value, "="); !ok {
			return w, invalidWhere(text, "want %s!=VALUE", w.key)
		}
	}
	switch span := w.op == '<' || w.op == '>'; {
	case timed && span != (w.key == "age"):
		return w, invalidWhere(text, "age takes < and > with a time, such as age>2h; the other keys take = and !=")
	case span && !timed:
		return w, invalidWhere(text, "want %s=VALUE or %s!=VALUE", w.key, w.key)
	case w.value == "":
		return w, invalidWhere(text, "it has no value")
	}
	if w.items = []string{strings.ToLower(w.value)}; w.key != "reason" {
		w.items = strings.Split(w.items[0], ",")
	}
	return w, nil
}

// readWheres reads conditions that are not more than somebody needs.
func readWheres(texts, keys []string) (all []where, err error) {
	if err := answer.FewWords("where", texts); err != nil {
		return nil, err
	}
	for _, text := range texts {
		w, err := readWhere(text, keys)
		if err == nil {
			err = w.patterns(text)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

func invalidWhere(text, why string, args ...any) error {
	return &federation.SlurmError{Kind: federation.ErrInvalid, Alone: true, Text: fmt.Sprintf("invalid condition %q: %s", text, fmt.Sprintf(why, args...))}
}

// patterns refuses values that are not patterns.
func (w *where) patterns(text string) error {
	for _, v := range w.items {
		if _, bad := path.Match(v, ""); bad != nil {
			return invalidWhere(text, "%q is not a pattern", v)
		}
	}
	return nil
}

// met reports whether the condition is met by something that has such words: one of them is a value's pattern, in capitals or not.
func (w *where) met(words ...string) bool {
	for _, pattern := range w.items {
		for _, word := range words {
			if ok, _ := path.Match(pattern, strings.ToLower(word)); ok {
				return w.wants(true)
			}
		}
	}
	return w.wants(false)
}

// wants reports whether the condition is met, if what it says of the values holds or not.
func (w *where) wants(holds bool) bool { return holds == (w.op != '!') }
