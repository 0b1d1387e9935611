package federation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fsub/sbatch/bounded"
	"fsub/slurm/hostlist"
)

// MaxArrayIndex is the highest task index that is read; Slurm's own bound (MaxArraySize) is at most 4,000,001.
const MaxArrayIndex = 4_000_000

// MaxNamed bounds the jobs, and the tasks one by one, that a request names.
const MaxNamed = bounded.MaxNamed

// Array is what an --array value names, as ranges: a few bytes may name millions of tasks, and are not spelled out before it is known how many.
type Array struct {
	ranges []arrayRange
	limit  int
}

type arrayRange struct{ lo, hi, step int }

func (r arrayRange) len() int { return (r.hi-r.lo)/r.step + 1 }

// ReadArray reads an --array value: "0-10:5,7%2". It fails with ErrInvalid.
func ReadArray(spec string) (Array, error) {
	var a Array
	list, limit, limited := strings.Cut(strings.TrimSuffix(spec, "]"), "%")
	var err error
	if a.limit, err = strconv.Atoi(limit); limited && (err != nil || a.limit < 0) {
		return Array{}, fmt.Errorf("%w: array %q: invalid number %q after %%", ErrInvalid, spec, limit)
	}
	list = strings.TrimSuffix(strings.TrimPrefix(list, "["), "]")
	for part := range strings.SplitSeq(list, ",") {
		r, err := readArrayRange(part)
		if err != nil {
			return Array{}, fmt.Errorf("%w: array %q: invalid index or range %q", ErrInvalid, spec, part)
		}
		a.ranges = append(a.ranges, r)
	}
	if a.Len() > 2*MaxArrayIndex { // the same range many times over
		return Array{}, fmt.Errorf("%w: array %q names too many tasks", ErrInvalid, spec)
	}
	return a, nil
}

// Len is how many tasks a has at most: one that is named twice counts twice.
func (a Array) Len() int {
	n := 0
	for _, r := range a.ranges {
		n += r.len()
	}
	return n
}

// Scattered is how many tasks and ranges a is written as at most. Steps of a range count one by one, unless there is nothing beside it.
func (a Array) Scattered() int {
	if len(a.ranges) == 1 {
		return 1
	}
	n := 0
	for _, r := range a.ranges {
		if r.step == 1 {
			n++
		} else {
			n += r.len()
		}
	}
	return n
}

// Max is the highest index.
func (a Array) Max() int {
	highest := 0
	for _, r := range a.ranges {
		highest = max(highest, r.lo+(r.len()-1)*r.step)
	}
	return highest
}

// Has reports whether a names task i.
func (a Array) Has(i int) bool {
	return slices.ContainsFunc(a.ranges, func(r arrayRange) bool { return r.lo <= i && i <= r.hi && (i-r.lo)%r.step == 0 })
}

// Indices spells a out: in rising order, each once.
func (a Array) Indices() []int {
	out := make([]int, 0, a.Len())
	for _, r := range a.ranges {
		for i := r.lo; i <= r.hi; i += r.step {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ArrayIndices returns the task indices that an --array value names, in rising order and each once: "0-10:5,7%2" gives 0 5 7 10. It fails
// with ErrInvalid. Of a value that was not checked yet [ReadArray] tells first how many there are.
func ArrayIndices(spec string) ([]int, error) {
	a, err := ReadArray(spec)
	if err != nil {
		return nil, err
	}
	return a.Indices(), nil
}

func readArrayRange(part string) (r arrayRange, err error) {
	rng, stepText, hasStep := strings.Cut(part, ":")
	loText, hiText, isRange := strings.Cut(rng, "-")
	r.step = 1
	if r.lo, err = arrayNumber(loText); err != nil {
		return
	}
	r.hi = r.lo
	if isRange {
		if r.hi, err = arrayNumber(hiText); err != nil {
			return
		}
	}
	if hasStep {
		if r.step, err = arrayNumber(stepText); err != nil {
			return
		}
	}
	if r.hi < r.lo || r.step < 1 || (hasStep && !isRange) {
		err = ErrInvalid
	}
	return
}

func arrayNumber(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > MaxArrayIndex || s[0] == '+' {
		return 0, ErrInvalid
	}
	return n, nil
}

// ArrayLimit returns how many tasks of an array may run at once, 0 for no limit: 3 for "0-9%3".
func ArrayLimit(spec string) int {
	_, limit, _ := strings.Cut(strings.TrimSuffix(spec, "]"), "%")
	n, _ := strconv.Atoi(limit)
	return n
}

// FormatArray writes indices, which must rise, as Slurm writes an array: "0-3,7%2", or "0-12:2" if all are one step apart and
// they are not few.
func FormatArray(indices []int, limit int) string {
	text := formatRanges(indices)
	if limit > 0 {
		text += "%" + strconv.Itoa(limit)
	}
	return text
}

func formatRanges(indices []int) string {
	if step := onlyStep(indices); step > 1 && stepped(len(indices), indices[0], indices[len(indices)-1]) {
		return fmt.Sprintf("%d-%d:%d", indices[0], indices[len(indices)-1], step)
	}
	return hostlist.Ranges(indices)
}

// stepped reports whether Slurm writes n tasks that are equally far apart with their step: shorter ones are written out (22.05 to 26.05).
func stepped(n, first, last int) bool { return n > 5 && last-first > 10 }

// onlyStep is the distance that all neighbours have, 0 if they differ or there are none.
func onlyStep(indices []int) int {
	if len(indices) < 2 {
		return 0
	}
	step := indices[1] - indices[0]
	for i := 2; i < len(indices); i++ {
		if indices[i]-indices[i-1] != step {
			return 0
		}
	}
	return step
}
