// Package getopt reads a command line as getopt_long of the GNU C library does, because Slurm's
// commands are read so and programs depend on each corner of it: unambiguous prefixes of long
// names, glued and bundled short options, values that begin with a dash, "--", and the exact words
// of each refusal.
//
// A command declares its options in a [Set] and calls [Set.Parse]; what the options mean is left to
// the command.
package getopt

import (
	"strings"
	"sync"
)

// Arg says whether an option takes a value.
type Arg uint8

const (
	NoArg       Arg = iota // --quiet
	RequiredArg            // --time 10, --time=10, -t10, -t 10
	OptionalArg            // --nice, --nice=10; a value must be joined to it
)

// Option is one option of a command. Name or Short may be missing, not both. ID is the command's
// own number for it; two names with one ID and one Arg are aliases, and a prefix that fits both is
// not ambiguous.
type Option struct {
	Name  string
	Short byte
	Arg   Arg
	ID    int
}

// Found is one option as it was given. Given tells an empty value from none: --nice= from --nice.
type Found struct {
	*Option
	Value string
	Given bool
}

// Mode says what happens at the first operand, a word that is not an option.
type Mode uint8

const (
	Permute     Mode = iota // operands may stand anywhere between options (squeue, scancel, ...)
	StopAtFirst             // the first operand ends the options (sbatch: its own arguments follow the script)
)

// Error is a refusal in the words of the C library, without a line end: "sbatch: unrecognized option '--x'".
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// Set is the options of one command. It is safe for concurrent use.
type Set struct {
	command string
	options []Option
	whole   []Option

	once  sync.Once
	short [256]uint16 // index + 1 of the option with that letter
	// The long options that begin with a byte stand between these indexes; others may stand there too.
	from, to [256]uint16
}

// NewSet makes a Set. The order of options is the order in which an ambiguity lists them. It does
// next to no work, so that a Set may be a package variable of a program that starts often.
func NewSet(command string, options []Option) *Set {
	return &Set{command: command, options: options}
}

// Whole gives s further long options that only their whole name selects, so that no prefix of
// another one changes its meaning. It is called before the first Parse and returns s.
func (s *Set) Whole(options []Option) *Set {
	s.whole = options
	return s
}

// index prepares the tables at the first use.
func (s *Set) index() {
	for i := range s.options {
		o := &s.options[i]
		if o.Short != 0 {
			s.short[o.Short] = uint16(i + 1)
		}
		if o.Name == "" {
			continue
		}
		c := o.Name[0]
		if s.to[c] == 0 {
			s.from[c] = uint16(i)
		}
		s.to[c] = uint16(i + 1)
	}
}

// Parse reads args, the words after the command's name. It stops at the first word that it refuses;
// what was found before is returned too.
func (s *Set) Parse(args []string, mode Mode) (found []Found, operands []string, err error) {
	s.once.Do(s.index)
	found = make([]Found, 0, len(args))
	for i := 0; i < len(args); {
		word := args[i]
		i++
		switch {
		case word == "--":
			return found, append(operands, args[i:]...), nil
		case len(word) < 2 || word[0] != '-': // "-" alone is an operand
			if mode == StopAtFirst {
				return found, args[i-1:], nil
			}
			operands = append(operands, word)
			continue
		}
		var used int
		if word[1] == '-' {
			found, used, err = s.longWord(found, word[2:], args[i:])
		} else {
			found, used, err = s.shortWord(found, word[1:], args[i:])
		}
		if err != nil {
			return found, operands, err
		}
		i += used
	}
	return found, operands, nil
}

// longWord reads --name or --name=value; used is 1 if it took the next word as its value.
func (s *Set) longWord(found []Found, word string, rest []string) (_ []Found, used int, err error) {
	name, value, given := strings.Cut(word, "=")
	o, err := s.match(name, word)
	if err != nil {
		return found, 0, err
	}
	switch {
	case given && o.Arg == NoArg:
		return found, 0, s.errorText("option '--", o.Name, "' doesn't allow an argument")
	case !given && o.Arg == RequiredArg:
		if len(rest) == 0 {
			return found, 0, s.errorText("option '--", o.Name, "' requires an argument")
		}
		value, given, used = rest[0], true, 1
	}
	return append(found, Found{o, value, given}), used, nil
}

// match finds the option called name, or the only one that begins with it.
func (s *Set) match(name, word string) (*Option, error) {
	var first *Option
	var others []*Option
	from, to := 0, len(s.options)
	if name != "" {
		from, to = int(s.from[name[0]]), int(s.to[name[0]])
	}
	for i := from; i < to; i++ {
		o := &s.options[i]
		if o.Name == "" || !strings.HasPrefix(o.Name, name) {
			continue
		}
		if len(o.Name) == len(name) {
			return o, nil
		}
		if first == nil {
			first = o
		} else if o.ID != first.ID || o.Arg != first.Arg {
			others = append(others, o)
		}
	}
	for i := range s.whole {
		if first == nil && s.whole[i].Name == name {
			return &s.whole[i], nil
		}
	}
	if first == nil {
		return nil, s.errorText("unrecognized option '--", word, "'")
	}
	if others == nil {
		return first, nil
	}
	list := " '--" + first.Name + "'"
	for _, o := range others {
		list += " '--" + o.Name + "'"
	}
	return nil, s.errorText("option '--", word, "' is ambiguous; possibilities:", list)
}

// shortWord reads the letters of a word such as -N2 or -HN 2.
func (s *Set) shortWord(found []Found, word string, rest []string) (_ []Found, used int, err error) {
	for i := 0; i < len(word); i++ {
		n := s.short[word[i]]
		if n == 0 {
			return found, 0, s.errorText("invalid option -- '", word[i:i+1], "'")
		}
		o := &s.options[n-1]
		value := word[i+1:]
		switch {
		case o.Arg == NoArg:
			found = append(found, Found{Option: o})
			continue
		case value != "" || o.Arg == OptionalArg:
			return append(found, Found{o, value, value != ""}), 0, nil
		case len(rest) == 0:
			return found, 0, s.errorText("option requires an argument -- '", word[i:i+1], "'")
		}
		return append(found, Found{o, rest[0], true}), 1, nil
	}
	return found, 0, nil
}

func (s *Set) errorText(parts ...string) *Error {
	return &Error{s.command + ": " + strings.Join(parts, "")}
}
