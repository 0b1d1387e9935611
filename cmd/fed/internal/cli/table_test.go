package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// On a terminal numbers end at the right of their column, and lists of nodes take no more room than there is.
func TestTableOnATerminal(t *testing.T) {
	var b bytes.Buffer
	tab := NewAligned(&b)
	tab.Row("NAME", "COST", "AGE", "NODELIST", "REASON")
	tab.Row("träger", "9.50", "3h10m", "alpha1", "")
	tab.Row("b", "1234.00", "12m", strings.Repeat("node-with-a-long-name-a,", 3)+"x[1-9],y[1-7]", "down")
	if err := tab.Flush(); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(b.String(), "\n")
	if !strings.HasPrefix(lines[0], "NAME       COST    AGE  NODELIST") || !strings.HasPrefix(lines[1], "träger     9.50  3h10m  alpha1  ") || !strings.HasPrefix(lines[2], "b       1234.00    12m  x[1-9]") ||
		!strings.Contains(lines[2], ",...+6  down") {
		t.Errorf("got\n%s", b.String())
	}
	for _, l := range lines {
		if len([]rune(l)) > 24+mostNodes+10 {
			t.Errorf("too wide: %q", l)
		}
	}
}

// To a pipe goes all that there is, with tabs.
func TestTableToAPipe(t *testing.T) {
	var b bytes.Buffer
	tab := NewTable(&b)
	tab.Row("NODELIST", "N")
	tab.Row(strings.Repeat("a,", 40)+"a", "")
	if err := tab.Flush(); err != nil || b.String() != "NODELIST\tN\n"+strings.Repeat("a,", 40)+"a\t-\n" {
		t.Errorf("%v: %q", err, b.String())
	}
}

func TestWhenSaysItsZone(t *testing.T) {
	at := time.Date(2026, 11, 24, 16, 42, 10, 0, time.UTC)
	if back, err := time.Parse(time.RFC3339, When(at)); err != nil || !back.Equal(at) {
		t.Errorf("%s: %v", When(at), err)
	}
}
