package cli

import (
	"bytes"
	"strings"
	"testing"

	v1 "fsub/federation/api/v1"
)

// TestView: a list is sorted by the size of what its cells say, and shows the columns and lines that are asked for.
func TestView(t *testing.T) {
	type row struct{ name, size, age, note string }
	n := &v1.Noun[row, v1.None]{
		Columns: []v1.Column[row]{{Head: "NAME", Cell: func(x *row) string { return x.name }}, {Head: "SIZE", Cell: func(x *row) string { return x.size }},
			{Head: "NOT DONE", Cell: func(x *row) string { return x.note }}},
		More: []v1.Column[row]{{Head: "AGE", Cell: func(x *row) string { return x.age }}},
		Sort: map[string]func(a, b *row) int{"NOT DONE": func(a, b *row) int { return len(a.note) - len(b.note) }},
	}
	rows := func() []row {
		return []row{{"b", "$9.50", "2d1h", "xx"}, {"c", "<$0.01", "45s", "y"}, {"a", "$1234.00", "3h10m", "zzz"}, {"d", "-$1.00", "", ""}}
	}
	for _, c := range []struct {
		v    View
		want string
	}{
		{View{}, "NAME\tSIZE\tNOT DONE|b\t$9.50\txx|c\t<$0.01\ty|a\t$1234.00\tzzz|d\t-$1.00\t-|"},
		{View{Columns: []string{"name"}, Sort: "size"}, "NAME|d|c|b|a|"},
		{View{Columns: []string{"name", "age"}, Sort: "-age", Limit: 2}, "NAME\tAGE|b\t2d1h|a\t3h10m|"},
		{View{Columns: []string{"Name"}, Sort: "name", Limit: 9}, "NAME|a|b|c|d|"},
		{View{Columns: []string{"not-done"}, Sort: "not-done"}, "NOT DONE|-|y|xx|zzz|"},
	} {
		var b bytes.Buffer
		if err := PrintRows(&b, n, rows(), c.v); err != nil || strings.ReplaceAll(b.String(), "\n", "|") != c.want {
			t.Errorf("%+v: %v\n got %q\nwant %q", c.v, err, strings.ReplaceAll(b.String(), "\n", "|"), c.want)
		}
	}
	for _, v := range []View{{Columns: []string{"moon"}}, {Sort: "-moon"}} {
		if err := PrintRows(&bytes.Buffer{}, n, rows(), v); err == nil || err.Error() != `unknown column "moon": want name, size, not-done, age` {
			t.Errorf("%+v: %v", v, err)
		}
	}
}
