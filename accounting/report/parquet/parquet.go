// Package parquet writes reports as Parquet files, for notebooks and data lakes. It is apart since it links a large library. [Write] is all there is.
package parquet

import (
	"io"
	"math"

	"github.com/parquet-go/parquet-go"

	"fsub/accounting"
	"fsub/accounting/report"
)

// group is a struct whose fields keep their order. [parquet.Group] would sort them by name.
type group struct {
	parquet.Group
	names []string
}

func (g group) Fields() []parquet.Field {
	by := map[string]parquet.Field{}
	for _, f := range g.Group.Fields() {
		by[f.Name()] = f
	}
	out := make([]parquet.Field, len(g.names))
	for i, name := range g.names {
		out[i] = by[name]
	}
	return out
}

// Write writes the rows of a table, without its total. Keys are strings. Dollars are decimals with six digits after the point, counts whole numbers, all else
// doubles in the unit of its form; what is not known is null.
func Write(w io.Writer, t *report.Table) error {
	g := group{Group: parquet.Group{}}
	add := func(name string, n parquet.Node) {
		g.Group[name], g.names = parquet.Compressed(n, &parquet.Snappy), append(g.names, name)
	}
	for _, k := range t.Keys {
		add(k, parquet.String())
	}
	for _, c := range t.Columns {
		add(c.Name, parquet.Optional(nodeOf(c.Form)))
	}
	out := parquet.NewGenericWriter[any](w, parquet.NewSchema("report", g), parquet.CreatedBy("fsub", "", ""), parquet.KeyValueMetadata("title", t.Title), parquet.KeyValueMetadata("span", t.Span))
	for _, r := range t.Rows {
		row := make(parquet.Row, 0, len(g.names))
		for i, k := range r.Keys {
			row = append(row, parquet.ByteArrayValue([]byte(k)).Level(0, 0, i))
		}
		for i, v := range r.Numbers {
			at := len(r.Keys) + i
			if math.IsNaN(v) || math.IsInf(v, 0) {
				row = append(row, parquet.NullValue().Level(0, 0, at))
				continue
			}
			row = append(row, valueOf(t.Columns[i].Form, v).Level(0, 1, at))
		}
		if _, err := out.WriteRows([]parquet.Row{row}); err != nil {
			return err
		}
	}
	return out.Close()
}

// moneyDigits are those of [accounting.Money] after the point.
const moneyDigits = 6

func nodeOf(f report.Form) parquet.Node {
	switch f {
	case report.Money:
		return parquet.Decimal(moneyDigits, 18, parquet.Int64Type)
	case report.Count:
		return parquet.Int(64)
	}
	return parquet.Leaf(parquet.DoubleType)
}

func valueOf(f report.Form, v report.Value) parquet.Value {
	switch f {
	case report.Money:
		return parquet.Int64Value(int64(accounting.MoneyOf(v)))
	case report.Count:
		return parquet.Int64Value(int64(math.Round(v)))
	}
	return parquet.DoubleValue(v)
}
