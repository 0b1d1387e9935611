package federation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// fewTasks are written as a list of numbers: programs that know no other form name single tasks.
const fewTasks = 8

// MarshalJSON writes few tasks as a list, [3,7], and others as an array is written, "0-99,200".
func (s TaskSet) MarshalJSON() ([]byte, error) {
	switch {
	case s.n == 0:
		return []byte("null"), nil
	case s.n <= fewTasks:
		return json.Marshal(slices.Collect(s.All()))
	}
	return strconv.AppendQuote(nil, s.Format(0)), nil
}

// UnmarshalJSON reads both forms. A list may be of any length: earlier versions have written all tasks of large arrays so.
func (s *TaskSet) UnmarshalJSON(text []byte) error {
	*s = TaskSet{}
	if len(text) > 0 && text[0] == '"' {
		var spec string
		if err := json.Unmarshal(text, &spec); err != nil || spec == "" {
			return err
		}
		many := strings.Count(spec, ",") >= MaxNamed
		var a Array
		if !many {
			var err error
			if a, err = ReadArray(spec); err != nil {
				return err
			}
		}
		if many || a.Scattered() > MaxNamed {
			return fmt.Errorf("%w: tasks %.20q...: more than %d are named one by one", ErrInvalid, spec, MaxNamed)
		}
		*s = a.Set()
		return nil
	}
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	list, found := bytes.CutPrefix(text, []byte("["))
	list, ended := bytes.CutSuffix(list, []byte("]"))
	if !found || !ended {
		return fmt.Errorf("%w: invalid tasks %.20q: want a list of numbers, or a text such as \"0-99,200\"", ErrInvalid, text)
	}
	if len(bytes.TrimSpace(list)) == 0 {
		return nil
	}
	b := taskSetBuilder{rising: true}
	for number := range bytes.SplitSeq(list, []byte(",")) {
		i, err := strconv.ParseInt(string(bytes.TrimSpace(number)), 10, 32)
		if err != nil {
			return fmt.Errorf("%w: invalid task %.20q", ErrInvalid, number)
		}
		b.add(int(i))
	}
	if *s = b.set(); s.n <= fewTasks {
		*s = TaskSetOf(slices.Collect(s.All()))
	}
	return nil
}

// taskSetBuilder makes a set of indices that are told one after another. Those that rise by one take the memory of their span.
type taskSetBuilder struct {
	s      TaskSet
	rising bool
	rest   []int // once they do not rise any more
}

func (b *taskSetBuilder) add(i int) {
	n := len(b.s.spans)
	switch {
	case !b.rising:
		b.rest = append(b.rest, i)
	case n == 0 || i > b.s.spans[n-1].hi+1:
		b.s.spans = append(b.s.spans, arrayRange{i, i, 1})
		b.s.n++
	case i == b.s.spans[n-1].hi+1:
		b.s.spans[n-1].hi = i
		b.s.n++
	default:
		b.rising, b.rest = false, []int{i}
	}
}

func (b *taskSetBuilder) set() TaskSet {
	if b.rising {
		return b.s
	}
	return Tasks(slices.AppendSeq(b.rest, b.s.All())...)
}
