package sbatch

import (
	"bytes"
	"strconv"
	"strings"

	"fsub/sbatch/getopt"
)

// directives reads the #SBATCH lines of a script. All lines together are one command line, so that a value may stand
// on the line after its option.
func (p *parser) directives(script []byte, file string) error {
	words, err := p.directiveWords(script, file)
	if err != nil {
		return err
	}
	found, rest, gerr := p.set.Parse(words, getopt.StopAtFirst)
	if err := p.apply(found, fromScript); err != nil {
		return err
	}
	if gerr != nil {
		return p.badOption(gerr)
	}
	if len(rest) > 0 {
		return p.errorLine(exitBadOption, "Invalid directive found in batch script: ", rest[0])
	}
	return p.foreignDirectives(script, file)
}

// directiveWords collects the words of all directives: lines that begin with #SBATCH in column one, up to the first line
// that is neither blank nor a comment.
func (p *parser) directiveWords(script []byte, file string) (words []string, err error) {
	warned := false
	words = make([]string, 0, 16)
	for number := 1; len(script) > 0; number++ {
		var line []byte
		line, script, _ = bytes.Cut(script, []byte{'\n'})
		text, ok := bytes.CutPrefix(line, []byte("#SBATCH"))
		if !ok {
			text, ok = bytes.CutPrefix(line, []byte("#SLURM"))
			if ok && !warned {
				warned = true
				p.warn("sbatch: error: Change from #SLURM to #SBATCH in your script and verify the options are valid in sbatch")
			}
		}
		if ok {
			var het bool
			if words, het, err = p.directiveLine(words, text, file, number); err != nil {
				return nil, err
			}
			if het {
				return nil, p.notYet("a job of several components (#SBATCH hetjob)")
			}
		} else if t := bytes.TrimLeft(line, " \t\v\f\r"); len(t) > 0 && t[0] != '#' {
			break
		}
	}
	return words, nil
}

// directiveLine adds the words of one directive to words. het says that it begins another component of a heterogeneous job. An empty word
// ("" or a lone backslash) ends the line, as a comment does.
func (p *parser) directiveLine(words []string, line []byte, file string, number int) (_ []string, het bool, err error) {
	const blanks = " \t\v\f\r"
	line = bytes.TrimLeft(line, blanks)
	for {
		where := func(what string) error {
			return p.fatal(file + ": line " + strconv.Itoa(number) + ": " + what + " in [" + string(line) + "]")
		}
		start := bytes.TrimLeft(line, blanks)
		if len(start) > 0 && start[0] == ':' {
			return nil, false, where("Unexpected `:`")
		}
		word, rest, open := cutWord(start)
		if open != 0 {
			return nil, false, where("Unmatched `" + string(rune(open)) + "`")
		}
		if word == "" {
			return words, false, nil
		}
		plain := len(start)-len(rest) == len(word) // quoted, it is a word like any other
		if plain && (strings.EqualFold(word, "hetjob") || strings.EqualFold(word, "packjob")) {
			return words, true, nil
		}
		words = append(words, word)
		line = rest
	}
}

// cutWord takes the first word off a line. Quotes of both kinds may stand anywhere in it, a backslash keeps the next
// character as it is, and an unquoted # ends the line. open is the quote that was never closed, or 0.
func cutWord(line []byte) (word string, rest []byte, open byte) {
	i := 0
	for i < len(line) && !special(line[i]) {
		i++
	}
	if i == len(line) || isBlank(line[i]) || line[i] == '#' { // most words are plain
		return string(line[:i]), line[i:], 0
	}
	b := append(make([]byte, 0, 64), line[:i]...)
	escaped := false
scan:
	for ; i < len(line); i++ {
		c := line[i]
		switch {
		case escaped:
			b, escaped = append(b, c), false
		case c == '\\':
			escaped = true
		case open != 0 && c == open:
			open = 0
		case open == 0 && (c == '"' || c == '\''):
			open = c
		case open == 0 && (c == '#' || isBlank(c)):
			break scan
		default:
			b = append(b, c)
		}
	}
	return string(b), line[i:], open
}

// special characters end a word or mean something in it.
func special(c byte) bool { return c == '\\' || c == '"' || c == '\'' || c == '#' || isBlank(c) }

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
