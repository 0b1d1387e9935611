// Package parquet reads bills that are Parquet files. It is apart since it links a large library.
package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// Table is a Parquet file as a table of texts. Maps and lists are written as their values with commas.
type Table struct {
	file   *parquet.File
	rows   parquet.Rows
	names  []string
	leaves []*parquet.Column // by column of the file
	top    []int             // the column of the table that a leaf is of
	buf    [64]parquet.Row
	have   []parquet.Row
	cells  []string
}

// mostDigits is more than a decimal has behind its point in any export.
const mostDigits = 100

// Open opens a file of such a size.
func Open(r io.ReaderAt, size int64) (t *Table, err error) {
	defer survive(&err)
	var foot [8]byte // the length of what describes the file, and "PAR1": the library makes room for any length
	if _, err := r.ReadAt(foot[:], size-int64(len(foot))); err != nil || int64(binary.LittleEndian.Uint32(foot[:])) > size-int64(len(foot)) {
		return nil, errors.New("not a Parquet file that can be read: it is cut off, or damaged at its end")
	}
	f, err := parquet.OpenFile(r, size)
	if err != nil {
		return nil, fmt.Errorf("not a Parquet file that can be read: %w", err)
	}
	t = &Table{file: f, rows: parquet.MultiRowGroup(f.RowGroups()...).Rows()}
	for i, c := range f.Root().Columns() {
		t.names = append(t.names, c.Name())
		t.leavesOf(c, i, "")
	}
	t.cells = make([]string, len(t.names))
	for _, c := range t.leaves {
		if l := c.Type().LogicalType(); l != nil {
			if d, ok := l.Value.(*format.DecimalType); ok && d.Scale > mostDigits {
				return nil, fmt.Errorf("column %s has decimals of %d digits", c.Name(), d.Scale)
			}
		}
	}
	return t, nil
}

// survive makes an error of a panic: the library has some over files that are damaged.
func survive(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("not a Parquet file that can be read: %v", p)
	}
}

// leavesOf gives a structure's fields columns of their own, "invoice.month", as its CSV has them.
func (t *Table) leavesOf(c *parquet.Column, top int, prefix string) {
	if c.Leaf() {
		t.leaves, t.top = append(t.leaves, c), append(t.top, top)
		return
	}
	for _, child := range c.Columns() {
		at := top
		if !c.Repeated() && c.Type().LogicalType() == nil {
			t.names = append(t.names, prefix+c.Name()+"."+child.Name())
			at = len(t.names) - 1
		}
		t.leavesOf(child, at, prefix+c.Name()+".")
	}
}

// Columns are the names of the columns.
func (t *Table) Columns() []string { return t.names }

// Next is the next row.
func (t *Table) Next() (row []string, err error) {
	defer survive(&err)
	if len(t.have) == 0 {
		n, err := t.rows.ReadRows(t.buf[:])
		if n == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.EOF
			}
			return nil, err
		}
		t.have = t.buf[:n]
	}
	clear(t.cells)
	for _, v := range t.have[0] {
		i := v.Column()
		if v.IsNull() || i < 0 || i >= len(t.leaves) {
			continue
		}
		cell := &t.cells[t.top[i]]
		if *cell != "" {
			*cell += ","
		}
		*cell += text(t.leaves[i], v)
	}
	t.have = t.have[1:]
	return t.cells, nil
}

func text(c *parquet.Column, v parquet.Value) string {
	if logical := c.Type().LogicalType(); logical != nil {
		switch l := logical.Value.(type) {
		case *format.TimestampType:
			return timestamp(l.Unit.Value, v.Int64()).UTC().Format(time.RFC3339Nano)
		case *format.DateType:
			return time.Unix(int64(v.Int32())*24*3600, 0).UTC().Format(time.DateOnly)
		case *format.DecimalType:
			return decimal(v, int(l.Scale))
		}
	}
	if v.Kind() == parquet.Int96 { // Spark's: nanoseconds of a Julian day
		n := v.Int96()
		return time.Unix((int64(n[2])-2440588)*24*3600, int64(n[1])<<32|int64(n[0])).UTC().Format(time.RFC3339Nano)
	}
	return v.String()
}

func timestamp(unit format.TimeUnitValue, n int64) time.Time {
	switch unit.(type) {
	case *format.MilliSeconds:
		return time.UnixMilli(n)
	case *format.MicroSeconds:
		return time.UnixMicro(n)
	}
	return time.Unix(0, n)
}

// decimal is a whole number with so many digits after the point.
func decimal(v parquet.Value, scale int) string {
	n := new(big.Int)
	switch v.Kind() {
	case parquet.Int32:
		n.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		n.SetInt64(v.Int64())
	default: // big-endian, two's complement
		raw := v.ByteArray()
		if n.SetBytes(raw); len(raw) > 0 && raw[0]&0x80 != 0 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
		}
	}
	sign := ""
	if n.Sign() < 0 {
		sign = "-"
	}
	digits := n.Abs(n).String()
	if scale <= 0 {
		return sign + digits
	}
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}
