package option

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"fsub/sbatch/getopt"
)

type choice struct {
	dead  bool
	name  string
	users []string
	depth string
}

var rows = []Row[choice]{
	{Name: "dead", Short: 'd', Flag: func(o *choice) *bool { return &o.dead }},
	{Name: "depth", Arg: getopt.OptionalArg, Print: func(_ *choice, v Value, w io.Writer) bool {
		if v.Text == "list" {
			io.WriteString(w, "1 2 3")
		}
		return v.Text == "list"
	}, Do: func(o *choice, v Value) error {
		if v.Text == "0" {
			return errors.New("cmd: error: no depth")
		}
		o.depth = fmt.Sprint(v.Text, v.Given)
		return nil
	}},
	{Name: "help", Say: "helped"},
	{Name: "hide"},
	{Name: "hidden"},
	{Name: "name", Short: 'n', Env: "CMD_NAME", Text: func(o *choice) *string { return &o.name }},
	{Name: "uid", As: "users"},
	{Name: "uids", As: "users"},
	{Name: "users", Short: 'u', Env: "CMD_USERS", List: func(o *choice) *[]string { return &o.users }},
	{Short: 'o', As: "name"}, // its old letter
}

func TestParse(t *testing.T) {
	const nothing = "{dead:false name: users:[] depth:}"
	for _, c := range []struct{ line, lax, strict string }{
		{"", nothing, ""},
		{"-d --name=x word", "{dead:true name:x users:[] depth:} [word]", ""},
		{"-ox -u a,,b", "{dead:false name:x users:[a b] depth:}", ""},
		{"--ui a", "{dead:false name: users:[a] depth:}", ""}, // names of one option are not ambiguous
		{"--hid", nothing, ""}, // nor are those that are ignored
		{"--depth", "{dead:false name: users:[] depth:false}", ""},
		{"--depth=", "{dead:false name: users:[] depth:true}", ""},
		{"--depth=2", "{dead:false name: users:[] depth:2true}", ""},
		{"--depth=list -x", "! cmd: invalid option -- 'x' (getopt)", ""},
		{"--depth=list -d", "1 2 3 ended", ""},
		{"--depth=0 -d", "! cmd: error: no depth", ""},
		{"--depth=0 --help", "helped ended", "! cmd: error: no depth"},
		{"--help --depth=0", "helped ended", ""},
		{"--de", "! cmd: option '--de' is ambiguous; possibilities: '--dead' '--depth' (getopt)", ""},
		{"--users", "! cmd: option '--users' requires an argument (getopt)", ""},
		{"--dead=1", "! cmd: option '--dead' doesn't allow an argument (getopt)", ""},
	} {
		if c.strict == "" {
			c.strict = c.lax
		}
		if got := parsed(NewSet(About{Name: "cmd"}, rows), c.line); got != c.lax {
			t.Errorf("%q: %s, want %s", c.line, got, c.lax)
		}
		if got := parsed(NewSet(About{Name: "cmd"}, rows).Strict(), c.line); got != c.strict {
			t.Errorf("%q, strict: %s, want %s", c.line, got, c.strict)
		}
	}
}

func parsed(s *Set[choice], line string) string {
	var o choice
	var out bytes.Buffer
	operands, ended, err := s.Parse(&o, strings.Fields(line), &out)
	switch {
	case errors.As(err, new(*getopt.Error)):
		return "! " + strings.TrimSuffix(err.Error(), "\nTry \"cmd --help\" for more information") + " (getopt)"
	case err != nil:
		return "! " + err.Error()
	case ended:
		return out.String() + " ended"
	case len(operands) > 0:
		return fmt.Sprintf("%+v %v", o, operands)
	}
	return fmt.Sprintf("%+v", o)
}

// The command line comes after the environment, and a variable without a value is none.
func TestEnvironment(t *testing.T) {
	var o choice
	s := NewSet(About{Name: "cmd"}, rows)
	if err := s.Environment(&o, []string{"CMD_NAME=n", "CMD_USERS=", "DEAD=1"}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%+v", o); got != "{dead:false name:n users:[] depth:}" {
		t.Error(got)
	}
	if _, _, err := s.Parse(&o, []string{"-nm"}, io.Discard); err != nil || o.name != "m" {
		t.Errorf("name %q, %v", o.name, err)
	}
}
