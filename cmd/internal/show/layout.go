package show

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Field is one thing that can be shown of a T.
type Field[T any] struct {
	Header string
	Value  func(*T) string
	// Sum marks a value that is made of all the rows that are shown as one, so that it does not
	// keep two apart (sinfo).
	Sum bool
}

// Column is a field as a format string asks for it: at most, and at least, Width characters wide
// (0: as wide as its text), followed by Suffix.
type Column[T any] struct {
	*Field[T] // nil: only Suffix is shown
	Width     int
	Right     bool
	Suffix    string
}

// Layout is a line of columns.
type Layout[T any] []Column[T]

// Header is the line above the rows.
func (l Layout[T]) Header() string {
	var b []byte
	for _, c := range l {
		if c.Field != nil {
			b = AppendFit(b, c.Header, c.Width, c.Right)
		}
		b = append(b, c.Suffix...)
	}
	return string(b)
}

// Row is the line of v.
func (l Layout[T]) Row(v *T) string { return string(l.AppendRow(nil, v)) }

// AppendRow writes the line of v after b.
func (l Layout[T]) AppendRow(b []byte, v *T) []byte {
	for i := range l {
		c := &l[i]
		if c.Field != nil {
			b = AppendFit(b, c.Value(v), c.Width, c.Right)
		}
		b = append(b, c.Suffix...)
	}
	return b
}

// Fit pads text with blanks to width characters, or cuts it there; width 0 leaves it as it is.
func Fit(text string, width int, right bool) string {
	return string(AppendFit(nil, text, width, right))
}

// AppendFit writes after b what Fit makes of text.
func AppendFit(b []byte, text string, width int, right bool) []byte {
	if width <= 0 {
		return append(b, text...)
	}
	n := len(text)
	for i := range n {
		if text[i] >= utf8.RuneSelf {
			n = utf8.RuneCountInString(text)
			break
		}
	}
	switch {
	case n > width && n == len(text):
		return append(b, text[:width]...)
	case n > width:
		return append(b, string([]rune(text)[:width])...)
	case right:
		return append(appendBlanks(b, width-n), text...)
	}
	return appendBlanks(append(b, text...), width-n)
}

func appendBlanks(b []byte, n int) []byte {
	const blanks = "                                                                "
	for ; n > len(blanks); n -= len(blanks) {
		b = append(b, blanks...)
	}
	return append(b, blanks[:n]...)
}

// Format reads the format of -o: "%[.][width]letter" with any text between. What it does not know
// is shown as it is written; its letters are returned so that the command can complain about them.
func Format[T any](format string, fields map[byte]*Field[T]) (l Layout[T], unknown []string) {
	for format != "" {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			return append(l, Column[T]{Suffix: format}), unknown
		}
		if i > 0 {
			l = append(l, Column[T]{Suffix: format[:i]})
			format = format[i:]
		}
		c, used, ok := spec(format, fields)
		if !ok {
			unknown = append(unknown, strings.TrimLeft(format[:used], "%.0123456789"))
		}
		l = append(l, c)
		format = format[used:]
	}
	return l, unknown
}

// spec reads one "%.8u"; used is its length.
func spec[T any](format string, fields map[byte]*Field[T]) (c Column[T], used int, ok bool) {
	i := 1
	if i < len(format) && format[i] == '.' {
		c.Right = true
		i++
	}
	from := i
	for i < len(format) && format[i] >= '0' && format[i] <= '9' {
		i++
	}
	c.Width, _ = strconv.Atoi(format[from:i])
	if i == len(format) {
		return Column[T]{Suffix: format}, i, false
	}
	f := fields[format[i]]
	if f == nil {
		return Column[T]{Suffix: format[:i+1]}, i + 1, false
	}
	c.Field = f
	return c, i + 1, true
}

// LongFormat reads the format of -O: names with commas, each with ":[.][width][suffix]" after it. A
// name without that is 20 wide; with it but without a number, as wide as its text.
func LongFormat[T any](format string, fields map[string]*Field[T]) (l Layout[T], unknown []string) {
	for item := range strings.SplitSeq(format, ",") {
		name, how, given := strings.Cut(item, ":")
		c := Column[T]{Field: fields[strings.ToLower(name)], Width: 20}
		if given {
			how, c.Right = strings.CutPrefix(how, ".")
			digits := len(how) - len(strings.TrimLeft(how, "0123456789"))
			c.Width, _ = strconv.Atoi(how[:digits])
			c.Suffix = how[digits:]
		}
		if c.Field == nil {
			unknown = append(unknown, name)
			c = Column[T]{}
		}
		l = append(l, c)
	}
	return l, unknown
}
