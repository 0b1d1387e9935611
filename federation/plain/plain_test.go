package plain

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"Grüße, 東京 🚀":            "",
		"a\x1b[2J":               "at byte 1",
		"two\nlines":             "at byte 3",
		"a\rb":                   "at byte 1",
		"\u202egnp.exe":          "at byte 0", // writes from right to left
		"\u009b2J":               "at byte 0", // the other escape
		"\xff":                   "at byte 0",
		"\u2028":                 "at byte 0",
		strings.Repeat("x", 501): "it has 501 bytes, at most 500 are allowed",
		strings.Repeat("x", 500): "",
	} {
		if err := Check("reason", text, MaxReason); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

func TestLine(t *testing.T) {
	for text, want := range map[string]string{"plain ü": "plain ü", "a\x1b]0;t\x07b\r\nc\td": `a\u001b]0;t\u0007b\u000d\nc\td`, "\xffx\u202e": `\u00ffx\u202e`, "\U000e0001": `\U000e0001`} {
		if got := Line(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// However a text is cut into writes, it comes out the same.
func TestWriter(t *testing.T) {
	const text = "ü\tone\x1b[2J\ntwo\u202e 🚀\r\n"
	const want = "ü\tone\\u001b[2J\ntwo\\u202e 🚀\\u000d\n"
	for size := 1; size <= len(text); size++ {
		var b strings.Builder
		w := &Writer{To: &b}
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			fmt.Fprint(w, rest[:n])
			rest = rest[n:]
		}
		if b.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", size, b.String(), want)
		}
	}
	var b strings.Builder
	var got string
	if err := json.NewEncoder(&Writer{To: &b}).Encode("\x7f\u202e\u009b"); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil || got != "\x7f\u202e\u009b" {
		t.Errorf("%q reads as %q, %v", b.String(), got, err)
	}
}
