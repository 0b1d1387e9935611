package topology

import (
	"fmt"
	"strconv"
	"strings"
)

// maxHosts bounds what one host list may expand to: more than any cluster has, less than what hurts.
const maxHosts = 1 << 20

// ExpandHosts returns the names in a host list of Slurm's form, in order: "a,n[1-3,07],r[1-2]n[1-4]". Leading zeros of the
// lower bound set the width. The empty list has no names.
func ExpandHosts(list string) ([]string, error) {
	var all []string
	for _, part := range splitHosts(list) {
		names, err := expandOne(part, maxHosts-len(all))
		if err != nil {
			return nil, fmt.Errorf("host list %q: %w", list, err)
		}
		all = append(all, names...)
	}
	return all, nil
}

// splitHosts cuts at the commas that are outside brackets and drops empty parts.
func splitHosts(list string) []string {
	var parts []string
	depth, from := 0, 0
	for i := 0; i <= len(list); i++ {
		switch {
		case i == len(list) || list[i] == ',' && depth <= 0:
			if p := strings.TrimSpace(list[from:i]); p != "" {
				parts = append(parts, p)
			}
			from = i + 1
		case list[i] == '[':
			depth++
		case list[i] == ']':
			depth--
		}
	}
	return parts
}

func expandOne(s string, room int) ([]string, error) {
	open := strings.IndexByte(s, '[')
	if open < 0 {
		if strings.IndexByte(s, ']') >= 0 {
			return nil, fmt.Errorf("']' without '[' in %q", s)
		}
		if room < 1 {
			return nil, fmt.Errorf("more than %d names", maxHosts)
		}
		return []string{s}, nil
	}
	length := strings.IndexByte(s[open:], ']')
	if length < 0 {
		return nil, fmt.Errorf("'[' without ']' in %q", s)
	}
	tails := []string{""}
	if rest := s[open+length+1:]; rest != "" {
		var err error
		if tails, err = expandOne(rest, room); err != nil {
			return nil, err
		}
	}
	numbers, err := expandRanges(s[open+1:open+length], room/len(tails))
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(numbers)*len(tails))
	for _, n := range numbers {
		for _, t := range tails {
			names = append(names, s[:open]+n+t)
		}
	}
	return names, nil
}

func expandRanges(s string, room int) ([]string, error) {
	var all []string
	for _, r := range strings.Split(s, ",") {
		from, to, isRange := strings.Cut(r, "-")
		if !isRange {
			to = from
		}
		lo, err1 := strconv.ParseUint(from, 10, 31)
		hi, err2 := strconv.ParseUint(to, 10, 31)
		if err1 != nil || err2 != nil || hi < lo {
			return nil, fmt.Errorf("bad range %q", r)
		}
		if hi-lo >= uint64(max(room-len(all), 0)) {
			return nil, fmt.Errorf("more than %d names", maxHosts)
		}
		for n := lo; n <= hi; n++ {
			all = append(all, fmt.Sprintf("%0*d", len(from), n))
		}
	}
	return all, nil
}
