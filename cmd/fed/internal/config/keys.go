package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// yamlError says in words of the configuration what the YAML parser found, with the line and the place.
func yamlError(err error) error {
	message := strings.TrimRight(yaml.FormatError(err, false, true), "\n")
	var wrong *yaml.TypeError
	var large *yaml.OverflowError
	switch {
	case errors.As(err, &wrong):
		message = strings.Replace(message, wrong.GetMessage(), "invalid value: want "+valueOf(wrong.DstType), 1)
	case errors.As(err, &large):
		message = strings.Replace(message, large.GetMessage(), fmt.Sprintf("%s is out of range", large.SrcNum), 1)
	}
	return errors.New(message + alikeKeys(message))
}

// valueOf says in words what a key of the configuration takes.
func valueOf(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a time with its unit, such as 10s, 5m or 4h"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Float64 || t.Kind() == reflect.Float32:
		return "a number"
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64:
		return "a whole number"
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.Pointer:
		return valueOf(t.Elem())
	}
	return "keys and values below it"
}

var unknownKey = regexp.MustCompile(`unknown field "([^"]+)"`)

// alikeKeys is a line that names the keys of the configuration that are like the unknown one of an
// error of the YAML parser, or "" where none is.
func alikeKeys(message string) string {
	m := unknownKey.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	var like []string
	for _, path := range configKeys(reflect.TypeFor[Config](), "", nil) {
		below, key := "", path
		if at := strings.LastIndex(path, ": "); at >= 0 {
			below, key = " (below "+path[:at]+")", path[at+2:]
		}
		if alike(m[1], key) {
			like = append(like, key+below)
		}
	}
	if like == nil {
		return ""
	}
	slices.Sort(like)
	return "\nlike it: " + strings.Join(slices.Compact(like), ", ")
}

// configKeys adds the keys of a type of the configuration, and of all that is in it, each with those that it stands below: "sites: url".
func configKeys(t reflect.Type, below string, keys []string) []string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return configKeys(t.Elem(), below, keys)
	case reflect.Struct:
		for f := range t.Fields() {
			if key, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); f.Anonymous {
				keys = configKeys(f.Type, below, keys)
			} else if key != "" && key != "-" {
				keys = configKeys(f.Type, below+key+": ", append(keys, below+key))
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
