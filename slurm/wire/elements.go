package wire

import "bytes"

// Elements finds the list under a key of a JSON object, and returns its elements as they are written, and where in body they stand: body[:from] and
// body[to:] are what comes before and after them. It reads no more than it needs for that and believes what it skips: whoever takes an element decodes it. Not ok:
// there is no such list, or body is broken.
func Elements(body []byte, key string) (elements [][]byte, from, to int, ok bool) {
	s := scanner{b: body}
	if !s.take('{') {
		return nil, 0, 0, false
	}
	for {
		name, ok := s.text()
		if !ok || !s.take(':') {
			return nil, 0, 0, false
		}
		if string(name) == key && s.take('[') {
			break
		}
		if !s.skip() || !s.take(',') {
			return nil, 0, 0, false
		}
	}
	from = s.at
	for first := true; !s.take(']'); first = false {
		if !first && !s.take(',') {
			return nil, 0, 0, false
		}
		s.space()
		begin := s.at
		if !s.skip() {
			return nil, 0, 0, false
		}
		elements = append(elements, body[begin:s.at])
	}
	return elements, from, s.at - 1, true
}

// scanner goes over JSON without checking what it means.
type scanner struct {
	b  []byte
	at int
}

func (s *scanner) space() {
	for s.at < len(s.b) && (s.b[s.at] == ' ' || s.b[s.at] == '\n' || s.b[s.at] == '\t' || s.b[s.at] == '\r') {
		s.at++
	}
}

// take goes past c, if that is next.
func (s *scanner) take(c byte) bool {
	s.space()
	if s.at == len(s.b) || s.b[s.at] != c {
		return false
	}
	s.at++
	return true
}

// text goes past a string and returns what is between its quotes.
func (s *scanner) text() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	for begin := s.at; ; {
		n := bytes.IndexByte(s.b[s.at:], '"')
		if n < 0 {
			return nil, false
		}
		s.at += n + 1
		escapes := 0
		for s.b[s.at-2-escapes] == '\\' { // it ends at the opening quote
			escapes++
		}
		if escapes%2 == 0 {
			return s.b[begin : s.at-1], true
		}
	}
}

// skip goes past one value.
func (s *scanner) skip() bool {
	s.space()
	begin, depth := s.at, 0
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case '"':
			if _, ok := s.text(); !ok {
				return false
			}
			if depth == 0 {
				return true
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return s.at > begin
			}
			if depth--; depth == 0 {
				s.at++
				return true
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return s.at > begin
			}
		}
		s.at++
	}
	return false
}
