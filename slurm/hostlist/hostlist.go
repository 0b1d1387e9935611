// Package hostlist expands and compresses lists of host names as Slurm writes them: "n[1-3,7],m[01-02]x[1-2]". It is pure.
package hostlist

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// MaxNames is how many names one list may stand for: a slip like "n[1-1000000000]" must not take the memory.
const MaxNames = 1 << 18

// Split splits a list at its commas, but not within brackets: "n[1,3],m" or, of jobs, "17,18_[1,3]". What is empty is left out.
func Split(list string) []string {
	depth := 0
	return strings.FieldsFunc(list, func(c rune) bool {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		}
		return c == ',' && depth == 0
	})
}

// Expand returns the names that list stands for, in its order, duplicates kept. An empty list has none. Numbers of a
// range are as wide as its first one: "n[08-10]" is n08, n09, n10. Several brackets multiply, the last one fastest.
func Expand(list string) ([]string, error) {
	trimmed := strings.TrimSpace(list)
	switch {
	case strings.ContainsFunc(trimmed, unicode.IsSpace):
		return nil, fmt.Errorf("hostlist %q: blank within a name", list)
	case trimmed != "" && strings.Contains(","+trimmed+",", ",,"):
		return nil, fmt.Errorf("hostlist %q: empty name", list)
	}
	return ExpandLoosely(trimmed)
}

// ExpandLoosely is Expand for lists that people write: empty names and blanks around names are left out.
func ExpandLoosely(list string) ([]string, error) {
	var names []string
	for rest := list; rest != ""; {
		item, tail, err := cutItem(rest)
		if err != nil {
			return nil, fmt.Errorf("hostlist %q: %w", list, err)
		}
		if rest = tail; strings.TrimSpace(item) == "" {
			continue
		}
		some, err := expandItem(strings.TrimSpace(item), MaxNames-len(names))
		if err != nil {
			return nil, fmt.Errorf("hostlist %q: %w", list, err)
		}
		names = append(names, some...)
	}
	return names, nil
}

// cutItem cuts the first item off: up to the first comma outside brackets.
func cutItem(s string) (item, rest string, err error) {
	open := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '[' && open:
			return "", "", fmt.Errorf("bracket within brackets")
		case c == '[':
			open = true
		case c == ']' && !open:
			return "", "", fmt.Errorf("']' without '['")
		case c == ']':
			open = false
		case c == ',' && !open:
			return s[:i], s[i+1:], nil
		}
	}
	if open {
		return "", "", fmt.Errorf("'[' without ']'")
	}
	return s, "", nil
}

// expandItem expands one item, in which brackets are balanced, to at most max names.
func expandItem(item string, max int) ([]string, error) {
	names := []string{""}
	for item != "" {
		text, rest, ranged := strings.Cut(item, "[")
		parts := []string{""}
		if ranged {
			var inside string
			inside, item, _ = strings.Cut(rest, "]")
			var err error
			if parts, err = expandRanges(inside, max); err != nil {
				return nil, err
			}
		} else {
			item = ""
		}
		if len(names)*len(parts) > max {
			return nil, fmt.Errorf("more than %d names", MaxNames)
		}
		next := make([]string, 0, len(names)*len(parts))
		for _, n := range names {
			for _, p := range parts {
				next = append(next, n+text+p)
			}
		}
		names = next
	}
	return names, nil
}

// expandRanges expands the inside of a bracket: "1-3,07".
func expandRanges(inside string, max int) ([]string, error) {
	var out []string
	for _, r := range strings.Split(inside, ",") {
		from, to, isRange := strings.Cut(r, "-")
		if !isRange {
			to = from
		}
		lo, err1 := strconv.ParseUint(from, 10, 62)
		hi, err2 := strconv.ParseUint(to, 10, 62)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("%q is not a number or a range of numbers", r)
		}
		if lo > hi {
			return nil, fmt.Errorf("range %q runs backwards", r)
		}
		if hi-lo >= uint64(max-len(out)) {
			return nil, fmt.Errorf("more than %d names", MaxNames)
		}
		for n := lo; n <= hi; n++ {
			out = append(out, pad(n, len(from)))
		}
	}
	return out, nil
}

// pad writes n with at least width digits.
func pad(n uint64, width int) string {
	s := strconv.FormatUint(n, 10)
	if len(s) < width {
		s = strings.Repeat("0", width-len(s)) + s
	}
	return s
}
