package slurm

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"fsub/sbatch"
)

// A script, its arguments and its environment are bytes, not text, and encoding/json would put U+FFFD in the place of what is no UTF-8.
// slurmrestd takes such bytes as they are inside JSON strings (22.05.8, 24.11.5 and 26.05.5 hand them on to the job unchanged; \u00e9 is
// two bytes there). So each of them is written as a rune from the end of the last private plane before the body is encoded, and as
// itself afterwards. Real runes of that kind are treated as bytes too.
const rawBase = 0x10ff00

// guard replaces the bytes of p that are not valid UTF-8; false if there are none and the body
// stays as it is.
func guard(p *sbatch.Payload) bool {
	script, found := guarded(p.Script)
	p.Script = script
	for _, list := range [...]*[]string{&p.Argv, &p.Environment} {
		copied := false
		for i, s := range *list {
			g, ok := guarded(s)
			if !ok {
				continue
			}
			if !copied { // the list is shared
				*list, copied, found = slices.Clone(*list), true, true
			}
			(*list)[i] = g
		}
	}
	return found
}

func guarded(s string) (string, bool) {
	if utf8.ValidString(s) && !strings.Contains(s, "\xf4\x8f\xbc") && !strings.Contains(s, "\xf4\x8f\xbd") &&
		!strings.Contains(s, "\xf4\x8f\xbe") && !strings.Contains(s, "\xf4\x8f\xbf") {
		return s, false
	}
	b := make([]byte, 0, len(s)+len(s)/4)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || r >= rawBase {
			for _, c := range []byte(s[i : i+size]) {
				b = utf8.AppendRune(b, rawBase+rune(c))
			}
		} else {
			b = append(b, s[i:i+size]...)
		}
		i += size
	}
	return string(b), true
}

// unguard puts the bytes back into an encoded body.
func unguard(body []byte) []byte {
	out := make([]byte, 0, len(body))
	for {
		i := bytes.Index(body, []byte("\xf4\x8f"))
		if i < 0 {
			return append(out, body...)
		}
		r, size := utf8.DecodeRune(body[i:])
		out = append(out, body[:i]...)
		if r >= rawBase && r <= rawBase+0xff {
			out = append(out, byte(r-rawBase))
		} else {
			out = append(out, body[i:i+size]...)
		}
		body = body[i+size:]
	}
}
