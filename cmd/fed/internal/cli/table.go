package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fsub/federation/plain"
	"fsub/slurm/hostlist"
)

// Table prints aligned columns to a terminal, numbers at the right and long lists of nodes cut, and tab-separated ones to anything else, with all that there is.
type Table struct {
	w    io.Writer
	rows [][]string // for a terminal; nil: there is none
}

// NewTable returns a table that is printed to w.
func NewTable(w io.Writer) *Table {
	if plain.Terminal(w) {
		return NewAligned(w)
	}
	return &Table{w: w}
}

// NewAligned returns a table for a terminal, whatever w is.
func NewAligned(w io.Writer) *Table { return &Table{w: w, rows: [][]string{}} }

// Aligned reports whether the table is for a terminal.
func (t *Table) Aligned() bool { return t.rows != nil }

// Row prints a row, each cell on one line whatever is in it.
func (t *Table) Row(cells ...string) {
	for i, c := range cells {
		cells[i] = cmp.Or(plain.Line(c), "-")
	}
	if t.Aligned() {
		t.rows = append(t.rows, slices.Clone(cells))
		return
	}
	fmt.Fprintln(t.w, strings.Join(cells, "\t"))
}

// mostNodes is how wide a list of nodes may be on a terminal.
const mostNodes = 40

// Flush prints what a terminal has not been shown yet. The next row begins a new table.
func (t *Table) Flush() error {
	if !t.Aligned() || len(t.rows) == 0 {
		return nil
	}
	head := t.rows[0]
	for i, name := range head {
		if name == "NODELIST" || name == "NODES" || name == "LIST" {
			for _, r := range t.rows[1:] {
				if i < len(r) {
					r[i] = cutNodes(r[i])
				}
			}
		}
	}
	widths, numeric := make([]int, len(head)), make([]bool, len(head))
	for i := range head {
		numeric[i] = len(t.rows) > 1
		for at, r := range t.rows {
			if i < len(r) {
				widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
				numeric[i] = numeric[i] && (at == 0 || isNumber(r[i]))
			}
		}
	}
	var b strings.Builder
	for _, r := range t.rows {
		var line strings.Builder
		for i, c := range r {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := 0
			if i < len(widths) {
				pad = widths[i] - utf8.RuneCountInString(c)
			}
			if i < len(numeric) && numeric[i] {
				line.WriteString(strings.Repeat(" ", pad) + c)
			} else {
				line.WriteString(c + strings.Repeat(" ", pad))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	t.rows = t.rows[:0]
	_, err := io.WriteString(t.w, b.String())
	return err
}

func isNumber(c string) bool {
	_, ok := number(c)
	return ok
}

// number is the size of a cell that is a number, an amount of money or a time such as 3m or 2d4h. An empty cell is less than any.
func number(c string) (n float64, ok bool) {
	if c == "" || c == "-" {
		return math.Inf(-1), true
	}
	sign := 1.0
	if c[0] == '-' {
		sign = -1
	}
	c = strings.TrimSuffix(strings.TrimLeft(c, "<-$"), "%")
	n, err := strconv.ParseFloat(c, 64)
	if err != nil {
		days, rest, has := strings.Cut(c, "d")
		if !has {
			days, rest = "0", c
		}
		d, err1 := strconv.Atoi(days)
		span, err2 := time.ParseDuration(cmp.Or(rest, "0s"))
		n, err = float64(d)*24*3600+span.Seconds(), errors.Join(err1, err2)
	}
	return sign * n, err == nil
}

// cutNodes is a list of nodes as a terminal has room for it: "alpha[1-4],beta[1-2],...+11".
func cutNodes(list string) string {
	if utf8.RuneCountInString(list) <= mostNodes {
		return list
	}
	names, err := hostlist.Expand(list)
	if err != nil {
		return list
	}
	shown := len(names)
	for shown > 1 {
		shown -= max(1, shown/8)
		if cut := fmt.Sprintf("%s,...+%d", hostlist.Compress(names[:shown]), len(names)-shown); len(cut) <= mostNodes {
			return cut
		}
	}
	return fmt.Sprintf("%s,...+%d", names[0], len(names)-1)
}

// When is a time as people read it: in their own zone, which it says.
func When(t time.Time) string { return t.Local().Format(time.RFC3339) }

// NewWideTable is a table of many lines.
func NewWideTable(out io.Writer) (t *Table, flush func() error) {
	if t = NewTable(out); t.Aligned() {
		return t, t.Flush
	}
	b := bufio.NewWriterSize(out, 64<<10)
	t.w = b
	return t, b.Flush
}
