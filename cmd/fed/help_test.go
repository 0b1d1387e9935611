package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestHelpIsGrouped: users find theirs first, and nothing says that fed is not for them.
func TestHelpIsGrouped(t *testing.T) {
	cmd := newCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--help"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	at := -1
	for _, want := range []string{"Your jobs:", "\n  completion ", "\n  explain ", "Your team:", "\n  report ", "The operators':", "\n  serve ", "\n  site "} {
		i := strings.Index(text, want)
		if i <= at {
			t.Errorf("%q is not there, or not in its place:\n%s", want, text)
		}
		at = i
	}
	if strings.Contains(text, "Additional Commands") || strings.Contains(text, "for those who run") {
		t.Errorf("%s", text)
	}
}

func TestDidYouMean(t *testing.T) {
	for word, want := range map[string]string{"jobs": "did you mean: job", "cost": "did you mean: report cost", "show": "job show", "machines": "did you mean: pool machines", "explian": "did you mean: explain"} {
		if err := unknownCommand(newCommand(), word); !strings.HasSuffix(err.Error(), want) && !strings.Contains(err.Error(), want+",") {
			t.Errorf("%s: %v, want %q", word, err, want)
		}
	}
}
