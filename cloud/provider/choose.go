package provider

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Choose returns what a configuration says of a type of machines: the entry of its very name, or else that of the longest pattern with * that fits it. False: it says nothing.
func Choose[T any](entries map[string]T, typ string) (value T, ok bool) {
	if value, ok = entries[typ]; ok {
		return value, true
	}
	best := ""
	for pattern := range entries {
		if fits, _ := path.Match(pattern, typ); fits && strings.Contains(pattern, "*") && cmp.Or(cmp.Compare(len(best), len(pattern)), cmp.Compare(best, pattern)) < 0 {
			best = pattern
		}
	}
	value, ok = entries[best]
	return value, ok && best != ""
}

// Unused is the first of some entries that can be about no type of those that are wanted; "": there is none. Both may be patterns with *.
func Unused[T any](entries map[string]T, wanted []string) string {
	unused := ""
	for entry := range entries {
		if !slices.ContainsFunc(wanted, func(w string) bool { return overlap(entry, w) }) && (unused == "" || entry < unused) {
			unused = entry
		}
	}
	return unused
}

// overlap reports whether some name fits both of two patterns with *.
func overlap(a, b string) bool {
	switch {
	case a == "" && b == "":
		return true
	case strings.HasPrefix(a, "*"):
		return overlap(a[1:], b) || b != "" && overlap(a, b[1:])
	case strings.HasPrefix(b, "*"):
		return overlap(b, a)
	}
	return a != "" && b != "" && a[0] == b[0] && overlap(a[1:], b[1:])
}

// Driverless is a family of types with accelerators that the default image of a cloud has no driver for.
type Driverless struct {
	Types string // a pattern
	Why   string // "its GPUs are AMD's, and the default image has NVIDIA's driver alone"
}

// Undriven says why a type cannot boot the default image; "": it can.
func Undriven(all []Driverless, typ string) string {
	for _, d := range all {
		if fits, _ := path.Match(d.Types, typ); fits {
			return d.Why
		}
	}
	return ""
}
