package main

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
)

var unknownKey = regexp.MustCompile(`unknown field "([^"]+)"`)

// alikeKeys is a line that names the keys of the configuration that are like the unknown one of an
// error of the YAML parser, or "" where none is.
func alikeKeys(message string) string {
	m := unknownKey.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	var like []string
	for _, key := range configKeys(reflect.TypeFor[Config](), nil) {
		if alike(m[1], key) {
			like = append(like, key)
		}
	}
	if like == nil {
		return ""
	}
	slices.Sort(like)
	return "\nlike it: " + strings.Join(slices.Compact(like), ", ")
}

// configKeys adds the keys of a type of the configuration, and of all that is in it.
func configKeys(t reflect.Type, keys []string) []string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return configKeys(t.Elem(), keys)
	case reflect.Struct:
		for f := range t.Fields() {
			if key, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); key != "" && key != "-" {
				keys = configKeys(f.Type, append(keys, key))
			}
		}
	}
	return keys
}

// alike is true if one word is the beginning or end of the other, or both are the same but for two letters.
func alike(a, b string) bool {
	short, long := a, b
	if len(short) > len(long) {
		short, long = long, short
	}
	if len(short) >= 4 && (strings.HasPrefix(long, short) || strings.HasSuffix(long, short)) {
		return true
	}
	return edits(a, b) <= min(2, len(short)/2)
}

// edits is Levenshtein's distance of two words.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for k := range row {
		row[k] = k
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for k := range len(b) {
			cost := before
			if a[i] != b[k] {
				cost++
			}
			before = row[k+1]
			row[k+1] = min(cost, row[k]+1, row[k+1]+1)
		}
	}
	return row[len(b)]
}
