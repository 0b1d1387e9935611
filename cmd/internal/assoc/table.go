package assoc

import (
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
)

// Field is a column that a table may have: its name in --format, its header, its usual width
// (negative: left-justified).
type Field[T any] struct {
	Name, Header string
	Width        int
	Value        func(*T) string
}

// Column is a field as it was asked for.
type Column[T any] struct {
	*Field[T]
	Width int
}

// Columns reads a list of fields, "user,account%20". unknown is the first name that is not a field.
func Columns[T any](list string, fields []Field[T]) (out []Column[T], unknown string) {
	for _, item := range Words(list) {
		name, width, sized := strings.Cut(item, "%")
		f := find(strings.ToLower(strings.TrimSpace(name)), fields)
		if f == nil {
			return nil, name
		}
		c := Column[T]{f, f.Width}
		if sized {
			c.Width, _ = strconv.Atoi(width)
		}
		out = append(out, c)
	}
	return out, ""
}

// find finds a field by its name, else by its beginning.
func find[T any](name string, fields []Field[T]) *Field[T] {
	for i := range fields {
		if strings.ToLower(fields[i].Name) == name {
			return &fields[i]
		}
	}
	for i := range fields {
		if name != "" && strings.HasPrefix(strings.ToLower(fields[i].Name), name) {
			return &fields[i]
		}
	}
	return nil
}

// Style says how a table is written.
type Style struct {
	NoHeader bool
	// Parsable: text with | behind each cell; Parsable2: between cells only.
	Parsable, Parsable2 bool
}

// Format writes rows under their headers. A cell that is too long is cut, and marked with a +.
func Format[T any](s Style, columns []Column[T], rows []T) string {
	var b strings.Builder
	line := func(cell func(Column[T]) string, mark bool) {
		for i, c := range columns {
			switch {
			case s.Parsable2 && i == len(columns)-1:
				b.WriteString(cell(c))
			case s.Parsable || s.Parsable2:
				b.WriteString(cell(c) + "|")
			default:
				b.WriteString(fit(cell(c), c.Width, mark) + " ")
			}
		}
		b.WriteByte('\n')
	}
	if !s.NoHeader {
		line(func(c Column[T]) string { return c.Header }, false)
		if !s.Parsable && !s.Parsable2 {
			line(func(c Column[T]) string { return strings.Repeat("-", max(c.Width, -c.Width)) }, false)
		}
	}
	for i := range rows {
		line(func(c Column[T]) string { return c.Value(&rows[i]) }, true)
	}
	return b.String()
}

func fit(text string, width int, mark bool) string {
	right, width := width > 0, max(width, -width)
	if runes := []rune(text); mark && len(runes) > width && width > 0 {
		return string(runes[:width-1]) + "+"
	}
	if width == 0 {
		return ""
	}
	return show.Fit(text, width, right)
}
