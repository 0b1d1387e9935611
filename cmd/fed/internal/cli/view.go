package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	v1 "fsub/federation/api/v1"
)

// View is how a list is shown. The zero value shows all of it, in the daemon's order.
type View struct {
	Columns []string // by name, see [columnName]; none: those of the noun
	Sort    string   // a column; "-COLUMN": descending
	Limit   int      // maximum number of lines; 0: all
}

// flags adds the flags of v for a table with these heads. A query that has a limit keeps its own.
func (v *View) flags(f *pflag.FlagSet, heads []string) {
	f.StringSliceVar(&v.Columns, "columns", nil, "print these: "+columnNames(heads, ","))
	f.StringVar(&v.Sort, "sort", "", "sort by this column; -COLUMN: descending")
	if f.Lookup("limit") == nil {
		f.IntVar(&v.Limit, "limit", 0, "maximum number of lines; 0: all")
	}
}

// columnName is how the command line names a column: "waits-for" for WAITS FOR.
func columnName(head string) string { return strings.ReplaceAll(strings.ToLower(head), " ", "-") }

func columnNames(heads []string, between string) string {
	names := make([]string, len(heads))
	for i := range heads {
		names[i] = columnName(heads[i])
	}
	return strings.Join(names, between)
}

// Heads are the heads of all columns of a noun.
func Heads[T, Q any](n *v1.Noun[T, Q]) []string { return headsOf(slices.Concat(n.Columns, n.More)) }

func headsOf[T any](columns []v1.Column[T]) []string {
	heads := make([]string, len(columns))
	for i := range columns {
		heads[i] = columns[i].Head
	}
	return heads
}

// chosen are the columns of these names; without names, those that the noun shows in lists.
func chosen[T, Q any](n *v1.Noun[T, Q], names []string) ([]v1.Column[T], error) {
	if len(names) == 0 {
		return n.Columns, nil
	}
	var out []v1.Column[T]
	for _, name := range names {
		c, err := column(n, name)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func column[T, Q any](n *v1.Noun[T, Q], name string) (v1.Column[T], error) {
	all := slices.Concat(n.Columns, n.More)
	i := slices.IndexFunc(all, func(c v1.Column[T]) bool { return strings.EqualFold(columnName(c.Head), name) })
	if i < 0 {
		return v1.Column[T]{}, fmt.Errorf("unknown column %q: want %s", name, columnNames(headsOf(all), ", "))
	}
	return all[i], nil
}

// arrange sorts things and cuts the list as v says; left is how many it leaves out.
func arrange[T, Q any](n *v1.Noun[T, Q], all []T, v View) (shown []T, left int, err error) {
	if v.Sort != "" {
		c, err := column(n, strings.TrimPrefix(v.Sort, "-"))
		if err != nil {
			return nil, 0, err
		}
		if compare := n.Sort[c.Head]; compare != nil {
			slices.SortStableFunc(all, func(a, b T) int { return compare(&a, &b) })
		} else {
			all = byCells(all, c.Cell)
		}
		if strings.HasPrefix(v.Sort, "-") {
			slices.Reverse(all)
		}
	}
	if v.Limit > 0 && len(all) > v.Limit {
		return all[:v.Limit], len(all) - v.Limit, nil
	}
	return all, 0, nil
}

// byCells sorts things by a cell of each: by their size if all are numbers, else by their text.
func byCells[T any](all []T, cell func(*T) string) []T {
	type keyed struct {
		text  string
		size  float64
		thing int
	}
	keys, numbers := make([]keyed, len(all)), true
	for i := range all {
		keys[i].text, keys[i].thing = cell(&all[i]), i
		n, ok := number(keys[i].text)
		keys[i].size, numbers = n, numbers && ok
	}
	slices.SortStableFunc(keys, func(a, b keyed) int {
		if numbers {
			return cmp.Compare(a.size, b.size)
		}
		return cmp.Compare(a.text, b.text)
	})
	out := make([]T, len(all))
	for i := range keys {
		out[i] = all[keys[i].thing]
	}
	return out
}
