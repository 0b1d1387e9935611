package cli

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/spf13/pflag"

	v1 "fsub/federation/api/v1"
)

type thing struct{ Name, Note string }

type thingQuery struct {
	Owner string    `query:"user" flag:"who" usage:"only of this user"`
	Since time.Time `query:"since" flag:"since"`
	Most  int       `query:"limit" flag:"limit,n" default:"20"`
	All   bool      `query:"all" flag:"all"`
	Other string    `query:"other"`
}

// TestFlags: the fields of a query that have a flag are set by it.
func TestFlags(t *testing.T) {
	var q thingQuery
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	flagsOf(f, reflect.ValueOf(&q).Elem())
	if q.Most != 20 || f.Lookup("other") != nil || f.Lookup("who").Usage != "only of this user" {
		t.Errorf("%+v", q)
	}
	if err := f.Parse([]string{"--who", "ann", "--since", "2026-11-22", "-n", "3", "--all"}); err != nil {
		t.Fatal(err)
	}
	if want := (thingQuery{"ann", time.Date(2026, 11, 22, 0, 0, 0, 0, time.Local), 3, true, ""}); q != want {
		t.Errorf("%+v, want %+v", q, want)
	}
}

func TestPrintRows(t *testing.T) {
	n := &v1.Noun[thing, v1.None]{Columns: []v1.Column[thing]{
		{Head: "NAME", Cell: func(x *thing) string { return x.Name }}, {Head: "NOTE", Cell: func(x *thing) string { return x.Note }},
	}}
	var out bytes.Buffer
	if err := PrintRows(&out, n, []thing{{"a", "first\nline"}, {"b", ""}}, View{}); err != nil || out.String() != "NAME\tNOTE\na\tfirst\\nline\nb\t-\n" {
		t.Errorf("%v %q", err, out.String())
	}
}
