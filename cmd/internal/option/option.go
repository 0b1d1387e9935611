// Package option reads the command lines of Slurm's commands by tables: one [Row] for each option
// says how it is written and what it does to the command's options, a struct of its own. How words
// are taken apart is package getopt's, what options mean together the command's.
package option

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"fsub/cmd/internal/show"
	"fsub/sbatch/getopt"
)

// Row is one option of a command whose options are a T. One of Flag, Text, List, Say, Tell and Print says
// what it does, or Do; an option without any is taken and ignored.
type Row[T any] struct {
	Name  string
	Short byte
	As    string     // Name of the row that this is another name of; such a row has only Name and Short besides
	Env   string     // the variable that stands for it if it has a value
	Arg   getopt.Arg // of Do and Print; Text and List have a value anyway
	Value string     // what its value is called: "LIST"
	Help  string     // one sentence of what it is for, without a capital letter and a period; "" if it is ignored

	Flag  func(*T) *bool     // becomes true
	Text  func(*T) *string   // becomes the value
	List  func(*T) *[]string // becomes the words of the value, which stand between commas
	Say   string             // is printed, and ends the command
	Tell  bool               // the help of the command is printed, and ends it
	Print func(*T, Value, io.Writer) (ends bool)
	Do    func(*T, Value) error // if Print does not end the command. Its error is whole lines for stderr
}

// Value is what an option was given. Given tells an empty value from none.
type Value struct {
	Text  string
	Given bool
}

// Set is the options of one command. It is safe for concurrent use.
type Set[T any] struct {
	about  About
	rows   []Row[T]
	strict bool
	note   func(o *T, name string, v Value)
	once   sync.Once
	words  *getopt.Set
}

// NewSet makes a Set for a command. The order of rows is the order in which an ambiguity lists them. It does no
// work, so that a Set may be a package variable of a program that starts often.
func NewSet[T any](command About, rows []Row[T]) *Set[T] {
	return &Set[T]{about: command, rows: rows}
}

// Strict makes the first wrong value end the reading. It is called before the first Parse and returns s.
func (s *Set[T]) Strict() *Set[T] {
	s.strict = true
	return s
}

// Note has each option of the command line told to note, too, ignored ones included. It is called
// before the first Parse and returns s.
func (s *Set[T]) Note(note func(o *T, name string, v Value)) *Set[T] {
	s.note = note
	return s
}

// ignored is the ID of all options that are ignored; the others have the index of their row.
const ignored = -1

func (s *Set[T]) index() {
	options := make([]getopt.Option, len(s.rows))
	for i := range s.rows {
		at := i
		if as := s.rows[i].As; as != "" {
			at = slices.IndexFunc(s.rows, func(r Row[T]) bool { return r.Name == as })
		}
		row := &s.rows[at]
		options[i] = getopt.Option{Name: s.rows[i].Name, Short: s.rows[i].Short, Arg: row.takes(), ID: at}
		if row.ignored() {
			options[i].ID = ignored
		}
	}
	s.words = getopt.NewSet(s.about.Name, options)
}

// takes says whether the option has a value.
func (r *Row[T]) takes() getopt.Arg {
	if r.Text != nil || r.List != nil {
		return getopt.RequiredArg
	}
	return r.Arg
}

// ignored reports whether the option is taken and changes nothing.
func (r *Row[T]) ignored() bool {
	return r.Flag == nil && r.Text == nil && r.List == nil && r.Say == "" && !r.Tell && r.Print == nil && r.Do == nil
}

// Environment takes the variables that stand for options.
func (s *Set[T]) Environment(o *T, env []string) error {
	for i := range s.rows {
		if s.rows[i].Env == "" {
			continue
		}
		if v := show.Env(env, s.rows[i].Env); v != "" {
			if err := s.rows[i].set(o, Value{v, true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Parse reads args, the words after the command's name, into o. ended: an option has printed what
// it was given for, and nothing is left to do. The error is whole lines for stderr; it wraps
// a *getopt.Error if the words cannot be taken apart. A value that is wrong does not keep an option after it from
// printing, unless the set is [Set.Strict].
func (s *Set[T]) Parse(o *T, args []string, stdout io.Writer) (operands []string, ended bool, err error) {
	s.once.Do(s.index)
	found, operands, err := s.words.Parse(args, getopt.Permute)
	if err != nil {
		return nil, false, fmt.Errorf("%w\nTry \"%s --help\" for more information", err, s.about.Name)
	}
	for _, f := range found {
		if s.note != nil {
			s.note(o, f.Name, Value{f.Value, f.Given})
		}
		if f.ID == ignored {
			continue
		}
		row, v := &s.rows[f.ID], Value{f.Value, f.Given}
		if row.Tell {
			io.WriteString(stdout, s.Help())
			return nil, true, nil
		}
		if row.prints(o, v, stdout) {
			return nil, true, nil
		}
		if err == nil {
			err = row.set(o, v)
		}
		if err != nil && s.strict {
			break
		}
	}
	return operands, false, err
}

// prints prints what the option prints that may end the command, and reports whether it does.
func (r *Row[T]) prints(o *T, v Value, stdout io.Writer) bool {
	if r.Say != "" {
		io.WriteString(stdout, r.Say)
		return true
	}
	return r.Print != nil && r.Print(o, v, stdout)
}

func (r *Row[T]) set(o *T, v Value) error {
	switch {
	case r.Flag != nil:
		*r.Flag(o) = true
	case r.Text != nil:
		*r.Text(o) = v.Text
	case r.List != nil:
		*r.List(o) = show.List(v.Text)
	case r.Do != nil:
		return r.Do(o, v)
	}
	return nil
}

// Run is the whole of a command that takes no notice of operands: it reads the options of the environment and of args, and does what they say. The error of do is a whole line
// for stderr, as those of the options are. It returns the exit code.
func (s *Set[T]) Run(args, env []string, stdout, stderr io.Writer, do func(o *T) error) int {
	var o T
	err := s.Environment(&o, env)
	ended := false
	if err == nil {
		_, ended, err = s.Parse(&o, args, stdout)
	}
	if err == nil && !ended {
		err = do(&o)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}
