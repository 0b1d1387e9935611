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

// maxName is how long one name may get, and maxBytes how much those of a list take: a long number with many zeros before it is as wide in each of them.
const (
	maxName  = 255
	maxBytes = 16 << 20
)

// Count is how many names a list stands for, without writing them down. Its errors are those of [ExpandLoosely].
func Count(list string) (int, error) {
	sum, bytes := 0, 0
	for rest := list; rest != ""; {
		item, tail, err := cutItem(rest)
		if err == nil && strings.TrimSpace(item) != "" {
			var n, width int
			n, width, err = countItem(strings.TrimSpace(item))
			sum, bytes = sum+n, bytes+n*width
		}
		if err == nil && (sum > MaxNames || bytes > maxBytes) {
			err = errTooMany
		}
		if err != nil {
			return 0, fmt.Errorf("hostlist %.80q: %w", list, err)
		}
		rest = tail
	}
	return sum, nil
}

var errTooMany = fmt.Errorf("more than %d names, or %d MiB of them", MaxNames, maxBytes>>20)

// countItem is how many names one item stands for, at most MaxNames, and how long the longest of them is.
func countItem(item string) (n, width int, err error) {
	n = 1
	for item != "" {
		text, rest, ranged := strings.Cut(item, "[")
		width += len(text)
		if item = ""; ranged {
			var inside string
			inside, item, _ = strings.Cut(rest, "]")
			some, widest, err := countRanges(inside)
			if err != nil {
				return 0, 0, err
			}
			n, width = n*some, width+widest
		}
		switch {
		case width > maxName:
			return 0, 0, fmt.Errorf("a name of more than %d bytes", maxName)
		case n > MaxNames:
			return 0, 0, errTooMany
		}
	}
	return n, width, nil
}

// countRanges is how many numbers the inside of a bracket stands for, and the length of the longest.
func countRanges(inside string) (n, widest int, err error) {
	for r := range strings.SplitSeq(inside, ",") {
		lo, hi, width, err := parseRange(r)
		if err != nil {
			return 0, 0, err
		}
		if hi-lo >= uint64(MaxNames-n) {
			return 0, 0, errTooMany
		}
		n, widest = n+int(hi-lo)+1, max(widest, width, len(strconv.FormatUint(hi, 10)))
	}
	return n, widest, nil
}

// parseRange reads "7" or "1-3": width is that of its first number.
func parseRange(r string) (lo, hi uint64, width int, err error) {
	from, to, isRange := strings.Cut(r, "-")
	if !isRange {
		to = from
	}
	lo, err1 := strconv.ParseUint(from, 10, 62)
	hi, err2 := strconv.ParseUint(to, 10, 62)
	switch {
	case err1 != nil || err2 != nil:
		return 0, 0, 0, fmt.Errorf("%.40q is not a number or a range of numbers", r)
	case lo > hi:
		return 0, 0, 0, fmt.Errorf("range %.40q runs backwards", r)
	}
	return lo, hi, len(from), nil
}

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
		return nil, fmt.Errorf("hostlist %.80q: blank within a name", list)
	case trimmed != "" && strings.Contains(","+trimmed+",", ",,"):
		return nil, fmt.Errorf("hostlist %.80q: empty name", list)
	}
	return ExpandLoosely(trimmed)
}

// ExpandLoosely is Expand for lists that people write: empty names and blanks around names are left out.
func ExpandLoosely(list string) ([]string, error) {
	n, err := Count(list)
	if err != nil || n == 0 {
		return nil, err
	}
	names := make([]string, 0, n)
	for rest := list; rest != ""; {
		item, tail, err := cutItem(rest)
		if err != nil {
			return nil, fmt.Errorf("hostlist %.80q: %w", list, err)
		}
		if rest = tail; strings.TrimSpace(item) == "" {
			continue
		}
		names = append(names, expandItem(strings.TrimSpace(item))...)
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

// expandItem expands one item, which has been counted.
func expandItem(item string) []string {
	names := []string{""}
	for item != "" {
		text, rest, ranged := strings.Cut(item, "[")
		parts := []string{""}
		if ranged {
			var inside string
			inside, item, _ = strings.Cut(rest, "]")
			parts = expandRanges(inside)
		} else {
			item = ""
		}
		next := make([]string, 0, len(names)*len(parts))
		for _, n := range names {
			for _, p := range parts {
				next = append(next, n+text+p)
			}
		}
		names = next
	}
	return names
}

// expandRanges expands the inside of a bracket: "1-3,07".
func expandRanges(inside string) []string {
	var out []string
	for r := range strings.SplitSeq(inside, ",") {
		lo, hi, width, _ := parseRange(r)
		for n := lo; n <= hi; n++ {
			out = append(out, pad(n, width))
		}
	}
	return out
}

// pad writes n with at least width digits.
func pad(n uint64, width int) string {
	s := strconv.FormatUint(n, 10)
	if len(s) < width {
		s = strings.Repeat("0", width-len(s)) + s
	}
	return s
}
