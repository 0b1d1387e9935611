package submit

import (
	"errors"
	"strings"
)

// split splits a line into words as a shell does: blanks end a word, unless they are quoted or behind a backslash. Nothing is expanded.
func split(line string) (words []string, err error) {
	var word strings.Builder
	begun := false
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t':
			end()
		case '\'':
			closing := strings.IndexByte(line[i+1:], '\'')
			if closing < 0 {
				return nil, errors.New("a single quote is not closed")
			}
			word.WriteString(line[i+1 : i+1+closing])
			i, begun = i+1+closing, true
		case '"':
			n, err := quoted(&word, line[i+1:])
			if err != nil {
				return nil, err
			}
			i, begun = i+n, true
		case '\\':
			if i++; i == len(line) {
				return nil, errors.New("the line ends with a backslash: a job has one line")
			}
			word.WriteByte(line[i])
			begun = true
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	end()
	return words, nil
}

// quoted takes what is between double quotes, of which the first was before text, and returns its length with the closing one.
func quoted(word *strings.Builder, text string) (n int, err error) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\' && i+1 < len(text) && strings.IndexByte("\"\\$`", text[i+1]) >= 0:
			i++
			word.WriteByte(text[i])
		default:
			word.WriteByte(c)
		}
	}
	return 0, errors.New("a double quote is not closed")
}
