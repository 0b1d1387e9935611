package report

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"time"
)

// Write is a number as people read it.
func (c Column) Write(v Value) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case math.IsInf(v, 1):
		return "more"
	}
	switch c.Form {
	case Count:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case Money:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case Percent:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case Span:
		return (time.Duration(v) * time.Second).String()
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// CSV writes the table with a head line, and numbers with all that is known of them: hours, dollars, percent, seconds.
func (t *Table) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := append([]string(nil), t.Keys...)
	for _, c := range t.Columns {
		head = append(head, c.Name)
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, r := range t.Rows {
		line := append([]string(nil), r.Keys...)
		for _, v := range r.Numbers {
			text := ""
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				text = strconv.FormatFloat(v, 'f', -1, 64)
			}
			line = append(line, text)
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// JSON writes the table as an object: title, span, notes, and rows of named values. What is not known is left out.
func (t *Table) JSON(w io.Writer) error {
	row := func(r Row) map[string]any {
		out := map[string]any{}
		for i, k := range r.Keys {
			out[t.Keys[i]] = k
		}
		for i, v := range r.Numbers {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				out[t.Columns[i].Name] = v
			}
		}
		return out
	}
	rows := make([]map[string]any, 0, len(t.Rows))
	for _, r := range t.Rows {
		rows = append(rows, row(r))
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"title": t.Title, "span": t.Span, "columns": t.Columns, "rows": rows, "total": row(t.Total), "notes": t.Notes})
}
