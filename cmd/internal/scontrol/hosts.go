package scontrol

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/slurm/hostlist"
)

// hostnames is "show hostnames [LIST]": one name a line. It asks nobody, as it is run in jobs on
// nodes that need not reach the daemon.
func (c *command) hostnames(list string, given bool) int {
	if !given {
		list = cmp.Or(show.Env(c.env, "SLURM_NODELIST"), show.Env(c.env, "SLURM_JOB_NODELIST"))
		if list == "" {
			c.fail("scontrol: error: host list is empty")
			return 0
		}
	}
	names, err := hostlist.Expand(list)
	if err != nil {
		c.fail("Invalid hostlist: %s", list)
		return 0
	}
	for _, n := range names {
		io.WriteString(c.stdout, n+"\n")
	}
	return 0
}

// hostlist is "show hostlist LIST", sorted or in the order given. LIST may be the path of a file of
// names, by line or comma.
func (c *command) hostlist(list string, sorted bool) int {
	if list == "" {
		c.fail("invalid encode argument")
		io.WriteString(c.stdout, optionSet.Help())
		return 1
	}
	if strings.HasPrefix(list, "/") {
		b, err := os.ReadFile(list)
		if err != nil {
			return c.fail("Can't open `%s`", list)
		}
		list = strings.Join(strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' || r == ' ' || r == '\t' || r == '\r' }), ",")
	}
	names, err := hostlist.Expand(list)
	if err != nil {
		return c.fail("Invalid hostlist: %s", list)
	}
	if sorted {
		slices.SortFunc(names, byName)
	}
	fmt.Fprintln(c.stdout, inOrder(names))
	return 0
}

// byName sorts a9 before a10.
func byName(a, b string) int {
	pa, na := cutNumber(a)
	pb, nb := cutNumber(b)
	return cmp.Or(cmp.Compare(pa, pb), cmp.Compare(len(strings.TrimLeft(na, "0")), len(strings.TrimLeft(nb, "0"))),
		cmp.Compare(strings.TrimLeft(na, "0"), strings.TrimLeft(nb, "0")), cmp.Compare(len(na), len(nb)))
}

// cutNumber splits a name before the number that it ends in.
func cutNumber(name string) (prefix, digits string) {
	prefix = strings.TrimRight(name, "0123456789")
	return prefix, name[len(prefix):]
}

// inOrder compresses names without moving any: neighbours of one prefix share a bracket, duplicates stay.
func inOrder(names []string) string {
	var items []string
	for i := 0; i < len(names); {
		prefix, digits := cutNumber(names[i])
		var ranges []string
		k := i
		for k < len(names) {
			p, first := cutNumber(names[k])
			if p != prefix || first == "" || digits == "" {
				break
			}
			last := first
			for k++; k < len(names) && names[k] == prefix+next(last); k++ {
				last = next(last)
			}
			if last != first {
				first += "-" + last
			}
			ranges = append(ranges, first)
		}
		switch {
		case len(ranges) == 0:
			items = append(items, names[i])
			k = i + 1
		case len(ranges) == 1 && !strings.Contains(ranges[0], "-"):
			items = append(items, prefix+ranges[0])
		default:
			items = append(items, prefix+"["+strings.Join(ranges, ",")+"]")
		}
		i = k
	}
	return strings.Join(items, ",")
}

// next is the number after digits, as wide: 009 -> 010, 9 -> 10.
func next(digits string) string {
	b := []byte(digits)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] != '9' {
			b[i]++
			return string(b)
		}
		b[i] = '0'
	}
	return "1" + string(b)
}
