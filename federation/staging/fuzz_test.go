package staging

import (
	"strings"
	"testing"
)

// FuzzParseState reads what a job's own node says of it: counts are within what a log may have, and an error shows the text, shortened.
func FuzzParseState(f *testing.F) {
	for _, text := range []string{"out 5 err 0 run 0 done -", "out 5 err 7 run 1 done 137\n", "out -1 err 0 run 0 done 0", "out 9223372036854775807 err 1 run 2 done x", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseState(text)
		switch {
		case err != nil && len(err.Error()) > 500+len("what the node said cannot be read: "):
			t.Errorf("%d bytes of error", len(err.Error()))
		case err == nil && (!s.Known || s.Out < 0 || s.Out > MaxLog || s.Err < 0 || s.Err > MaxLog || s.Run < 0 || s.Done != !strings.Contains(text, "done -")):
			t.Errorf("%q: %+v", text, s)
		}
	})
}
