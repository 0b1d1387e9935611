// Package plain bounds what people write into records that others read, and prints it so that it does nothing to their terminals. [Check] is for the
// entry, [Line] and [Writer] are for the way out.
package plain

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxReason is the most bytes of a reason or a description: it is kept for years, and shown in one cell of a table.
const MaxReason = 500

// Check says why text is not one line of at most so many bytes that shows what it has. name is what the error calls it.
func Check(name, text string, most int) error {
	if len(text) > most {
		return fmt.Errorf("invalid %s: it has %d bytes, at most %d are allowed", name, len(text), most)
	}
	if i := strings.IndexFunc(text, hidden); i >= 0 {
		return fmt.Errorf("invalid %s: a control character or something else that does not show at byte %d: want one line of text", name, i)
	}
	return nil
}

// hidden reports whether a terminal would obey a character instead of showing it: controls, and what changes the direction of writing.
func hidden(r rune) bool { return r == utf8.RuneError || !unicode.IsGraphic(r) }

// Line is s with all that a terminal would obey written out, line breaks too: \n, \t, \u001b.
func Line(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError:
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				fmt.Fprintf(&b, `\u%04x`, s[i])
				break
			}
			b.WriteRune(r)
		case hidden(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Raw is what a [Writer] writes to, for what is no text; any other w is itself.
func Raw(w io.Writer) io.Writer {
	if p, ok := w.(*Writer); ok {
		return p.To
	}
	return w
}

// Terminal reports whether w is a terminal, or a [Writer] to one.
func Terminal(w io.Writer) bool {
	f, ok := Raw(w).(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Writer passes on what is written to it, lines and tabs as they are and all else as [Line] has it. JSON stays JSON.
type Writer struct {
	To   io.Writer
	part []byte // of a character that the next write completes
}

func (w *Writer) Write(p []byte) (int, error) {
	all := append(w.part, p...)
	end := len(all)
	for i := 1; i < utf8.UTFMax && i <= len(all); i++ {
		if utf8.RuneStart(all[len(all)-i]) {
			if !utf8.FullRune(all[len(all)-i:]) {
				end = len(all) - i
			}
			break
		}
	}
	s := string(all[:end])
	w.part = append([]byte(nil), all[end:]...)
	if strings.ContainsFunc(s, hidden) {
		var b strings.Builder
		for s != "" {
			i := strings.IndexAny(s, "\n\t")
			if i < 0 {
				i = len(s)
			}
			b.WriteString(Line(s[:i]))
			if i < len(s) {
				b.WriteByte(s[i])
				i++
			}
			s = s[i:]
		}
		s = b.String()
	}
	if _, err := io.WriteString(w.To, s); err != nil {
		return 0, err
	}
	return len(p), nil
}
