package api

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// decodeSubmit reads a v1.SubmitRequest. Most of one is the script and the environment, and encoding/json took half of all
// the time of a submission to copy them string by string. So the form that fsub sends is read by a scanner whose strings
// share one copy of the body; at anything unusual it gives up and encoding/json reads the whole. Both give the same.
func decodeSubmit(body []byte, req *v1.SubmitRequest) error {
	s := scanner{text: string(body)}
	if s.request(body, req) {
		return nil
	}
	*req = v1.SubmitRequest{}
	if !utf8.Valid(body) { // encoding/json would change it without a word
		return errors.New("it has invalid UTF-8 outside of the payload that fsub writes")
	}
	return json.Unmarshal(body, req)
}

// scanner reads JSON from text at pos. Its methods report false at what they do not expect: the input may be wrong, or only
// rare.
type scanner struct {
	text string
	pos  int
	raw  bool // strings may have bytes that are no UTF-8
}

func (s *scanner) request(body []byte, req *v1.SubmitRequest) bool {
	return s.object(func(key string) (ok bool) {
		switch key {
		case "spec":
			s.blanks()
			from := s.pos
			return s.skipObject() && utf8.Valid(body[from:s.pos]) && json.Unmarshal(body[from:s.pos], &req.Spec) == nil
		case "call":
			s.blanks()
			from := s.pos
			return s.skipObject() && utf8.Valid(body[from:s.pos]) && json.Unmarshal(body[from:s.pos], &req.Call) == nil
		case "payload":
			s.raw = true // a job's script, arguments and environment are bytes
			ok = s.payload(&req.Payload)
			s.raw = false
			return ok
		case "submit_host":
			req.SubmitHost, ok = s.string()
			return ok
		case "test_only":
			s.blanks()
			if ok = strings.HasPrefix(s.text[s.pos:], "true"); ok {
				s.pos += len("true")
				req.TestOnly = true
			}
			return ok
		}
		return false
	}) && s.atEnd()
}

func (s *scanner) payload(p *sbatch.Payload) bool {
	return s.object(func(key string) (ok bool) {
		switch key {
		case "script":
			p.Script, ok = s.string()
		case "argv":
			p.Argv, ok = s.strings()
		case "environment":
			p.Environment, ok = s.strings()
		}
		return ok
	})
}

// object reads an object; field reads the value of each key, none of which may come twice.
func (s *scanner) object(field func(key string) bool) bool {
	if !s.next('{') {
		return false
	}
	var seen [5]string
	for n := 0; n < len(seen); n++ {
		key, ok := s.string()
		if !ok || !s.next(':') {
			return false
		}
		for _, k := range seen[:n] {
			if k == key {
				return false
			}
		}
		seen[n] = key
		if !field(key) {
			return false
		}
		if s.next('}') {
			return true
		}
		if !s.next(',') {
			return false
		}
	}
	return false
}

func (s *scanner) strings() ([]string, bool) {
	if !s.next('[') {
		return nil, false
	}
	out := make([]string, 0, 64)
	if s.next(']') {
		return out, true
	}
	for {
		v, ok := s.string()
		if !ok {
			return nil, false
		}
		out = append(out, v)
		if s.next(']') {
			return out, true
		}
		if !s.next(',') {
			return nil, false
		}
	}
}

// string reads a string. Without escapes it is a piece of text.
func (s *scanner) string() (string, bool) {
	if !s.next('"') {
		return "", false
	}
	rest := s.text[s.pos:]
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '"':
			s.pos += i + 1
			return rest[:i], s.raw || utf8.ValidString(rest[:i])
		case c == '\\':
			return s.escaped(i)
		case c < ' ':
			return "", false
		}
	}
	return "", false
}

// escaped goes on with a string whose first escape is i bytes away.
func (s *scanner) escaped(i int) (string, bool) {
	rest := s.text[s.pos:]
	out := make([]byte, i, i+2*strings.IndexByte(rest[i:], '"')+64)
	copy(out, rest)
	for i < len(rest) {
		// Up to the next byte that means something.
		from := i
		for i < len(rest) && rest[i] != '"' && rest[i] != '\\' && rest[i] >= ' ' {
			i++
		}
		out = append(out, rest[from:i]...)
		if i == len(rest) || rest[i] < ' ' {
			return "", false
		}
		if rest[i] == '"' {
			s.pos += i + 1
			return string(out), s.raw || utf8.Valid(out)
		}
		var n int
		if out, n = unescape(out, rest[i:]); n == 0 {
			return "", false
		}
		i += n
	}
	return "", false
}

// unescape appends what the escape at the beginning of text stands for; n is its length, 0 if it is left to encoding/json.
func unescape(out []byte, text string) (_ []byte, n int) {
	if len(text) < 2 {
		return out, 0
	}
	if i := strings.IndexByte(`"\/bfnrt`, text[1]); i >= 0 {
		return append(out, "\"\\/\b\f\n\r\t"[i]), 2
	}
	if text[1] != 'u' || len(text) < 6 {
		return out, 0
	}
	var r rune
	for _, c := range []byte(text[2:6]) {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return out, 0
		}
	}
	if r >= 0xd800 && r < 0xe000 {
		return out, 0 // half of a pair
	}
	return utf8.AppendRune(out, r), 6
}

// skipObject goes past an object without looking into it.
func (s *scanner) skipObject() bool {
	depth := 0
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case '{':
			depth++
		case '}':
			depth--
		case '"':
			if !s.skipString() {
				return false
			}
			continue
		}
		s.pos++
		if depth == 0 {
			return s.text[s.pos-1] == '}'
		}
	}
	return false
}

func (s *scanner) skipString() bool {
	for i := s.pos + 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '"':
			s.pos = i + 1
			return true
		}
	}
	return false
}

// next goes past c, if it comes next.
func (s *scanner) next(c byte) bool {
	s.blanks()
	if s.pos < len(s.text) && s.text[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) atEnd() bool {
	s.blanks()
	return s.pos == len(s.text)
}

func (s *scanner) blanks() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}
