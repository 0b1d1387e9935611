package sbatch

import (
	"bytes"
	"strconv"
	"strings"

	"fsub/sbatch/getopt"
)

// scanner is a script and how far its directives are read.
type scanner struct {
	script  []byte
	file    string // the script's name in messages
	release Release
	notices *notices
	rest    []byte // behind the last line that was read
	number  int    // of that line

	slurmWarned, packjobWarned bool
}

// directives returns the words of the next component's #SBATCH lines and of its #FSUB lines. They begin in
// column one, up to the line that begins another component, or to the first one that is neither
// blank nor a comment.
func (s *scanner) directives() (words, fed []string, more bool, err error) {
	if s.number == 0 {
		s.rest = s.script
	}
	words = make([]string, 0, 16)
	for len(s.rest) > 0 {
		var line []byte
		line, s.rest, _ = bytes.Cut(s.rest, []byte{'\n'})
		s.number++
		text, ok := bytes.CutPrefix(line, []byte("#SBATCH"))
		if !ok {
			text, ok = bytes.CutPrefix(line, []byte("#SLURM"))
			if ok && !s.slurmWarned {
				s.slurmWarned = true
				s.notices.warn("sbatch: error: Change from #SLURM to #SBATCH in your script and verify the options are valid in sbatch")
			}
		}
		if ok {
			before := len(words)
			var het bool
			if words, het, err = s.words(words, text, s.number); err != nil {
				return nil, nil, false, err
			}
			if het && len(words) == before { // behind other words it only ends the line
				return words, fed, true, nil
			}
		} else if text, ok := bytes.CutPrefix(line, []byte("#FSUB")); ok {
			if fed, _, err = s.words(fed, text, s.number); err != nil {
				return nil, nil, false, err
			}
		} else if t := bytes.TrimLeft(line, " \t\v\f\r"); len(t) > 0 && t[0] != '#' {
			s.rest = nil
		}
	}
	return words, fed, false, nil
}

// words adds the words of one directive to words. het says that hetjob or packjob ended it.
// An empty word ("" or a lone backslash) ends the line, as a comment does.
func (s *scanner) words(words []string, line []byte, number int) (_ []string, het bool, err error) {
	const blanks = " \t\v\f\r"
	line = bytes.TrimLeft(line, blanks)
	for {
		where := func(what string) error {
			return fatal(s.file + ": line " + strconv.Itoa(number) + ": " + what + " in [" + string(line) + "]")
		}
		start := bytes.TrimLeft(line, blanks)
		if len(start) > 0 && start[0] == ':' {
			return nil, false, where("Unexpected `:`")
		}
		word, rest, open := cutWord(start, s.release < Slurm2411)
		if open != 0 {
			return nil, false, where("Unmatched `" + string(rune(open)) + "`")
		}
		if word == "" {
			return words, false, nil
		}
		plain := len(start)-len(rest) == len(word) // quoted, it is a word like any other
		if plain && strings.EqualFold(word, "hetjob") {
			return words, true, nil
		}
		if plain && strings.EqualFold(word, "packjob") {
			s.warnPackjob()
			return words, true, nil
		}
		words = append(words, word)
		line = rest
	}
}

// warnPackjob says once that the word is the old one.
func (s *scanner) warnPackjob() {
	switch {
	case s.packjobWarned:
	case s.release < Slurm2411:
		s.notices.warn(`sbatch: Warning: the "packjob" component separator is being deprecated. Please, use "hetjob" instead.`)
	default:
		s.notices.warn(`sbatch: warning: The "packjob" component separator is deprecated. Please use "hetjob" instead.`)
	}
	s.packjobWarned = true
}

// cutWord takes the first word off a line. Quotes of both kinds may stand anywhere in it, a
// backslash keeps the next character as it is, and an unquoted # ends the line. open is the quote
// that was never closed, or 0. An old sbatch (22.05) ends the word at a blank outside quotes even
// behind a backslash.
func cutWord(line []byte, old bool) (word string, rest []byte, open byte) {
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
		case escaped && !(old && open == 0 && isBlank(c)):
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

// directives reads the #SBATCH lines of the next component. They are one command line together, so
// that a value may stand on the line after its option. more says that another component follows.
func (p *parser) directives(s *scanner) (more bool, err error) {
	words, fed, more, err := s.directives()
	if err != nil {
		return false, err
	}
	found, rest, gerr := p.set.Parse(words, getopt.StopAtFirst)
	if err := p.apply(found, fromScript); err != nil {
		return false, err
	}
	if gerr != nil {
		return false, badOption(p.release, gerr)
	}
	if len(rest) > 0 {
		return false, errorLine(exitBadOption, "Invalid directive found in batch script: ", rest[0])
	}
	if len(fed) > 0 {
		if err := p.req.fedLines(fed); err != nil {
			return false, err
		}
	}
	if p.ignorePBS {
		return more, nil
	}
	f := foreign{lines: s, spec: &p.req.Spec, env: &p.env, give: p.giveNamed}
	return more, f.directives()
}

// giveNamed takes over an option by its name, as if the script had it.
func (p *parser) giveNamed(name, value string) error {
	for id := range options {
		if options[id].name == name {
			return p.give(id, value, fromScript)
		}
	}
	panic("sbatch: no option " + name)
}
