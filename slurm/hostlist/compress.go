package hostlist

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// host is a name that ends in a number, cut in two.
type host struct {
	prefix string
	digits string
	value  uint64
	class  int // width of the zero-padded numbers that it goes with, 0: none
}

// Compress returns the shortest list of Slurm's form for names, sorted, each once. Only the last number of a name is
// put in brackets, as Slurm does.
func Compress(names []string) string {
	var plain []string
	var hosts []host
	for _, n := range names {
		if h, ok := cut(n); ok {
			hosts = append(hosts, h)
		} else if n != "" {
			plain = append(plain, n)
		}
	}
	classify(hosts)
	slices.SortFunc(hosts, func(a, b host) int {
		return cmp.Or(cmp.Compare(a.prefix, b.prefix), cmp.Compare(a.class, b.class), cmp.Compare(a.value, b.value), cmp.Compare(a.digits, b.digits))
	})
	hosts = slices.Compact(hosts)
	var items []string
	for i := 0; i < len(hosts); {
		j := i
		for j < len(hosts) && hosts[j].prefix == hosts[i].prefix {
			j++
		}
		items = append(items, group(hosts[i:j]))
		i = j
	}
	slices.Sort(plain)
	return strings.Join(append(items, slices.Compact(plain)...), ",")
}

// cut splits a name into its prefix and the number at its end. A name with brackets or commas of its own is left alone.
func cut(name string) (host, bool) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	if i == len(name) || len(name)-i > 18 {
		return host{}, false
	}
	v, err := strconv.ParseUint(name[i:], 10, 62)
	return host{prefix: name[:i], digits: name[i:], value: v}, err == nil
}

// classify puts n10 into the company of n09 where there is one, else of n9.
func classify(hosts []host) {
	type key struct {
		prefix string
		width  int
	}
	padded := map[key]bool{}
	for _, h := range hosts {
		if len(h.digits) > 1 && h.digits[0] == '0' {
			padded[key{h.prefix, len(h.digits)}] = true
		}
	}
	for i, h := range hosts {
		if padded[key{h.prefix, len(h.digits)}] {
			hosts[i].class = len(h.digits)
		}
	}
}

// group writes sorted hosts of one prefix.
func group(hosts []host) string {
	if len(hosts) == 1 {
		return hosts[0].prefix + hosts[0].digits
	}
	var ranges []string
	for i := 0; i < len(hosts); {
		j := i + 1
		for j < len(hosts) && hosts[j].value == hosts[j-1].value+1 && hosts[j].digits == pad(hosts[j].value, len(hosts[i].digits)) {
			j++
		}
		r := hosts[i].digits
		if j-i > 1 {
			r += "-" + hosts[j-1].digits
		}
		ranges = append(ranges, r)
		i = j
	}
	return hosts[0].prefix + "[" + strings.Join(ranges, ",") + "]"
}
