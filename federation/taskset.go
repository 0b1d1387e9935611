package federation

import (
	"iter"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// TaskSet is a set of indices of an array's tasks, as spans: the waiting tasks of an array of a million take a few bytes. Its zero value is empty.
type TaskSet struct {
	spans []arrayRange // apart from each other, in rising order; hi is in its span
	n     int
}

// Set returns the tasks that a names.
func (a Array) Set() TaskSet {
	spans := make([]arrayRange, len(a.ranges))
	for i, r := range a.ranges {
		spans[i] = spanOf(r.lo, r.lo+(r.len()-1)*r.step, r.step)
	}
	return setOfAny(spans)
}

// ReadTasks reads what [TaskSet.Format] has written, of any length: what a request names is bounded where it is read from JSON. "" is no task.
func ReadTasks(text string) (TaskSet, error) {
	if text == "" {
		return TaskSet{}, nil
	}
	a, err := ReadArray(text)
	return a.Set(), err
}

// setOfAny is the set of spans in any order, which may overlap. It changes spans.
func setOfAny(spans []arrayRange) TaskSet {
	slices.SortFunc(spans, func(a, b arrayRange) int { return a.lo - b.lo })
	apart := true
	for i := 1; i < len(spans); i++ {
		apart = apart && spans[i].lo > spans[i-1].hi
	}
	if !apart {
		return joined(spans)
	}
	return setOf(spans)
}

// setOf is the set of spans that are apart from each other and rise.
func setOf(spans []arrayRange) TaskSet {
	s := TaskSet{spans: spans}
	for _, r := range spans {
		s.n += r.len()
	}
	return s
}

// joined is the set of spans in order of lo that overlap. Those with steps are spelled out.
func joined(spans []arrayRange) TaskSet {
	var whole []arrayRange
	var steps []int
	for _, r := range spans {
		switch n := len(whole); {
		case r.step > 1:
			for i := r.lo; i <= r.hi; i += r.step {
				steps = append(steps, i)
			}
		case n > 0 && r.lo <= whole[n-1].hi+1:
			whole[n-1].hi = max(whole[n-1].hi, r.hi)
		default:
			whole = append(whole, r)
		}
	}
	s := TaskSet{spans: whole}
	slices.Sort(steps)
	b := taskSetBuilder{rising: true}
	for _, i := range slices.Compact(steps) {
		if !s.Has(i) {
			b.add(i)
		}
	}
	all := append(whole, b.s.spans...)
	slices.SortFunc(all, func(a, b arrayRange) int { return a.lo - b.lo })
	return setOf(all)
}

func spanOf(lo, hi, step int) arrayRange {
	if lo == hi {
		step = 1
	}
	return arrayRange{lo, hi, step}
}

// TaskSetOf returns the set of indices, which must rise.
func TaskSetOf(indices []int) TaskSet {
	s := TaskSet{n: len(indices)}
	for i := 0; i < len(indices); {
		k, step := i, 1
		if i+2 < len(indices) && indices[i+2]-indices[i+1] == indices[i+1]-indices[i] { // three make a span with a step
			step = indices[i+1] - indices[i]
		}
		for k+1 < len(indices) && indices[k+1]-indices[k] == step {
			k++
		}
		s.spans = append(s.spans, spanOf(indices[i], indices[k], step))
		i = k + 1
	}
	return s
}

// Tasks is the set of some indices in any order.
func Tasks(indices ...int) TaskSet {
	slices.Sort(indices)
	return TaskSetOf(slices.Compact(indices))
}

// Len is how many tasks s has.
func (s *TaskSet) Len() int { return s.n }

// IsZero reports whether s is empty.
func (s TaskSet) IsZero() bool { return s.n == 0 }

// find returns the span that has task i, or where it would be.
func (s *TaskSet) find(i int) (at int, has bool) {
	at = sort.Search(len(s.spans), func(k int) bool { return s.spans[k].hi >= i })
	return at, at < len(s.spans) && s.spans[at].lo <= i && (i-s.spans[at].lo)%s.spans[at].step == 0
}

// Has reports whether task i is in s.
func (s *TaskSet) Has(i int) bool {
	_, has := s.find(i)
	return has
}

// Covers reports whether s has all tasks of t.
func (s *TaskSet) Covers(t *TaskSet) bool {
	for range t.Without(s) {
		return false
	}
	return true
}

// Without are the tasks of s that t does not have, in rising order.
func (s *TaskSet) Without(t *TaskSet) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, r := range s.spans {
			for i := r.lo; i <= r.hi; i += r.step {
				at, has := t.find(i)
				if !has {
					if !yield(i) {
						return
					}
					continue
				}
				if q := t.spans[at]; r.step%q.step == 0 { // it has the next ones, too
					i += (min(r.hi, q.hi) - i) / r.step * r.step
				}
			}
		}
	}
}

// Both is the set of the tasks that s and t have.
func (s *TaskSet) Both(t *TaskSet) TaskSet {
	var both TaskSet
	for _, r := range t.spans {
		for i := r.lo; i <= r.hi; i += r.step {
			at, has := s.find(i)
			switch {
			case has && r.step%s.spans[at].step == 0:
				last := i + (min(r.hi, s.spans[at].hi)-i)/r.step*r.step
				both.spans = append(both.spans, spanOf(i, last, r.step))
				both.n += (last-i)/r.step + 1
				i = last
			case has:
				both.spans = append(both.spans, spanOf(i, i, 1))
				both.n++
			case at == len(s.spans):
				return both
			case s.spans[at].lo > i: // there is nothing before it
				i += (s.spans[at].lo - i - 1) / r.step * r.step
			}
		}
	}
	return both
}

// Or is the set of the tasks that s or t has. Where they stand between each other, steps are spelled out.
func (s *TaskSet) Or(t *TaskSet) TaskSet {
	switch {
	case s.n == 0:
		return *t
	case t.n == 0:
		return *s
	}
	return setOfAny(slices.Concat(s.spans, t.spans))
}

// Minus is the set of the tasks of s that t does not have. Where their steps differ, tasks are looked at one by one.
func (s *TaskSet) Minus(t *TaskSet) TaskSet {
	var left []arrayRange
	for _, r := range s.spans {
		for i := r.lo; i <= r.hi; {
			at := sort.Search(len(t.spans), func(k int) bool { return t.spans[k].hi >= i })
			if at == len(t.spans) || t.spans[at].lo > r.hi { // nothing of t is left in r
				left = append(left, spanOf(i, r.hi, r.step))
				break
			}
			q := t.spans[at]
			if q.lo > i { // what is before q stays
				last := i + (q.lo-1-i)/r.step*r.step
				left = append(left, spanOf(i, last, r.step))
				i = last + r.step
				continue
			}
			end := i + (min(r.hi, q.hi)-i)/r.step*r.step // the last of r within q
			if r.step%q.step == 0 {
				if (i-q.lo)%q.step != 0 { // they pass each other
					left = append(left, spanOf(i, end, r.step))
				}
			} else {
				left = append(left, apart(i, end, r.step, q)...)
			}
			i = end + r.step
		}
	}
	return setOf(left)
}

// apart are the tasks from lo to hi, a step apart, that q does not have.
func apart(lo, hi, step int, q arrayRange) []arrayRange {
	var left []int
	for i := lo; i <= hi; i += step {
		if (i-q.lo)%q.step != 0 {
			left = append(left, i)
		}
	}
	return TaskSetOf(left).spans
}

// Remove takes task i out of s, and reports whether it was there.
func (s *TaskSet) Remove(i int) bool {
	at, has := s.find(i)
	if !has {
		return false
	}
	r := s.spans[at]
	var left []arrayRange
	if i > r.lo {
		left = append(left, spanOf(r.lo, i-r.step, r.step))
	}
	if i < r.hi {
		left = append(left, spanOf(i+r.step, r.hi, r.step))
	}
	if len(left) == 1 {
		s.spans[at] = left[0]
	} else {
		s.spans = slices.Replace(s.spans, at, at+1, left...)
	}
	s.n--
	return true
}

// All are the tasks in rising order.
func (s *TaskSet) All() iter.Seq[int] { return s.From(math.MinInt) }

// From are the tasks from i on, in rising order.
func (s *TaskSet) From(i int) iter.Seq[int] {
	return func(yield func(int) bool) {
		at, _ := s.find(i)
		for _, r := range s.spans[at:] {
			k := r.lo
			if k < i {
				k += (i - k + r.step - 1) / r.step * r.step
			}
			for ; k <= r.hi; k += r.step {
				if !yield(k) {
					return
				}
			}
		}
	}
}

// Format writes s as [FormatArray] does.
func (s *TaskSet) Format(limit int) string {
	var b strings.Builder
	switch {
	case len(s.spans) == 1 && s.spans[0].step > 1 && stepped(s.n, s.spans[0].lo, s.spans[0].hi):
		r := s.spans[0]
		b.WriteString(strconv.Itoa(r.lo) + "-" + strconv.Itoa(r.hi) + ":" + strconv.Itoa(r.step))
	case len(s.spans) == 1 && s.spans[0].step == 1, s.continuous():
		for i := 0; i < len(s.spans); {
			k := i
			for k+1 < len(s.spans) && s.spans[k+1].lo == s.spans[k].hi+1 {
				k++
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.Itoa(s.spans[i].lo))
			if s.spans[k].hi > s.spans[i].lo {
				b.WriteString("-" + strconv.Itoa(s.spans[k].hi))
			}
			i = k + 1
		}
	default:
		return FormatArray(slices.Collect(s.All()), limit)
	}
	if limit > 0 {
		b.WriteString("%" + strconv.Itoa(limit))
	}
	return b.String()
}

// continuous reports whether s has no step, and some tasks stand side by side, so that it is no list with one step either.
func (s *TaskSet) continuous() bool {
	side := false
	for i, r := range s.spans {
		if r.step > 1 {
			return false
		}
		side = side || r.hi > r.lo || i > 0 && s.spans[i-1].hi+1 == r.lo
	}
	return side
}
