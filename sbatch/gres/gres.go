// Package gres reads lists of generic resources (GPUs, TPUs, FPGAs, network cards ...) as Slurm
// writes and reads them. Which of them a site has is not known here: every name is as good as "gpu".
package gres

//lint:file-ignore ST1005 Slurm's own sentences begin and end as Slurm has them.

import (
	"errors"
	"strings"
)

// Resource is one item of a list: four tpu of type v5p. Type "" is any type.
type Resource struct {
	Name, Type string
	Count      int
}

// String is r without its count: "tpu:v5p".
func (r Resource) String() string {
	if r.Type == "" {
		return r.Name
	}
	return r.Name + ":" + r.Type
}

// What is wrong with a list, in Slurm's words.
var (
	ErrSyntax = errors.New("Invalid Trackable RESource (TRES) specification")
	ErrTypes  = errors.New("Invalid GRES specification (with and without type identification)")
)

// Parse reads NAME[:TYPE][:COUNT] items with commas, as slurmctld 24.11 reads --gres:
// "gpu:h100:2,fpga", also with "=" before a count and "gres/" before an item. A count has a suffix
// of k, m, g, t or p (powers of 1024; of 1000 with a b after it); without a count it is one. "none"
// and the empty list name nothing. Of a bad list the items that can be read are returned with ErrSyntax.
func Parse(list string) ([]Resource, error) { return parse(list, "") }

// ParseGPUs reads the value of --gpus and its brothers, "4", "h100:4", "h100": a list as Parse
// reads it with "gpu:" before each item.
func ParseGPUs(list string) ([]Resource, error) { return parse(list, "gpu:") }

func parse(list, prefix string) (all []Resource, err error) {
	if list == "" || strings.EqualFold(list, "none") {
		return nil, nil
	}
	all = make([]Resource, 0, 1+strings.Count(list, ","))
	for item := range strings.SplitSeq(list, ",") {
		if item == "" {
			continue
		}
		r, ok := parseItem(prefix + strings.TrimPrefix(item, "gres/"))
		if !ok {
			err = ErrSyntax
			continue
		}
		all = append(all, r)
	}
	return all, err
}

func parseItem(item string) (r Resource, ok bool) {
	r.Count = 1
	at := strings.IndexAny(item, ":=")
	if at < 0 {
		r.Name = item
		return r, item != ""
	}
	r.Name = item[:at]
	text := item[at:] // from its ":" or "=" on
	count := strings.IndexByte(text, '=')
	if count < 0 {
		count = strings.LastIndexByte(text, ':')
	}
	n, isCount := parseCount(text[count+1:])
	switch {
	case isCount && count > 0:
		r.Type, r.Count = text[1:count], n
	case isCount:
		r.Count = n
	case count > 0 || text[0] == '=' || len(text) == 1:
		return r, false
	default:
		r.Type = text[1:]
	}
	return r, r.Name != ""
}

// parseCount reads digits and a suffix.
func parseCount(s string) (n int, ok bool) {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		d := int(s[end] - '0')
		if n > (1<<63-1-d)/10 {
			return 0, false
		}
		n = 10*n + d
		end++
	}
	if end == 0 {
		return 0, false
	}
	suffix := strings.ToLower(s[end:])
	if suffix == "" {
		return n, true
	}
	base := 1024
	power := strings.IndexByte("kmgtp", suffix[0]) + 1
	switch suffix[1:] {
	case "", "ib":
	case "b":
		base = 1000
	default:
		return 0, false
	}
	for range power {
		if n > (1<<63-1)/base {
			return 0, false
		}
		n *= base
	}
	return n, power > 0
}

// Prefixed writes a list with a prefix before each item, "gres/" or "gres/gpu:", as Slurm has it in
// TresPerNode and its brothers. Items stay as they were written; "none" is the empty list.
func Prefixed(prefix, list string) string {
	if list == "" || strings.EqualFold(list, "none") {
		return ""
	}
	var b strings.Builder
	for item := range strings.SplitSeq(list, ",") {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(prefix)
		b.WriteString(strings.TrimPrefix(item, "gres/"))
	}
	return b.String()
}

// Listed reads what a site lists of its nodes and jobs, "gpu:h100:4(S:0-1),nvme:2". What stands in
// parentheses (sockets, indices) is left out, and so is what is no resource at all ("N/A", "(null)").
func Listed(list string) []Resource {
	var out []Resource
	for item := range strings.SplitSeq(outside(list), ",") {
		r, ok := parseItem(item)
		if !ok || strings.EqualFold(item, "N/A") {
			continue
		}
		r.Type, _, _ = strings.Cut(r.Type, ":") // no_consume may follow
		out = append(out, r)
	}
	return out
}

// outside is a list without what stands in parentheses.
func outside(list string) string {
	if !strings.Contains(list, "(") {
		return list
	}
	depth := 0
	return strings.Map(func(c rune) rune {
		switch {
		case c == '(':
			depth++
			return -1
		case c == ')':
			depth--
			return -1
		case depth > 0:
			return -1
		}
		return c
	}, list)
}
