package federation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxArrayIndex is the highest task index that is read; Slurm's own bound (MaxArraySize) is at most 4,000,001.
const MaxArrayIndex = 4_000_000

// ArrayIndices returns the task indices that an --array value names, in rising order and each once:
// "0-10:5,7%2" gives 0 5 7 10. It fails with ErrInvalid.
func ArrayIndices(spec string) ([]int, error) {
	list, limit, limited := strings.Cut(strings.TrimSuffix(spec, "]"), "%")
	if n, err := strconv.Atoi(limit); limited && (err != nil || n < 0) {
		return nil, fmt.Errorf("%w: array %q: %q after %% is no number", ErrInvalid, spec, limit)
	}
	list = strings.TrimSuffix(strings.TrimPrefix(list, "["), "]")
	var out []int
	for part := range strings.SplitSeq(list, ",") {
		lo, hi, step, err := arrayRange(part)
		if err != nil {
			return nil, fmt.Errorf("%w: array %q: %q is no index or range", ErrInvalid, spec, part)
		}
		if len(out)+(hi-lo)/step > 2*MaxArrayIndex { // the same range many times over
			return nil, fmt.Errorf("%w: array %q names too many tasks", ErrInvalid, spec)
		}
		for i := lo; i <= hi; i += step {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func arrayRange(part string) (lo, hi, step int, err error) {
	rng, stepText, hasStep := strings.Cut(part, ":")
	loText, hiText, isRange := strings.Cut(rng, "-")
	step = 1
	if lo, err = arrayNumber(loText); err != nil {
		return
	}
	hi = lo
	if isRange {
		if hi, err = arrayNumber(hiText); err != nil {
			return
		}
	}
	if hasStep {
		if step, err = arrayNumber(stepText); err != nil {
			return
		}
	}
	if hi < lo || step < 1 || (hasStep && !isRange) {
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

// ArrayStep is what SLURM_ARRAY_TASK_STEP is for an --array value: the first step that is written in it, 1 if there is none (24.11).
func ArrayStep(spec string) int {
	list, _, _ := strings.Cut(spec, "%")
	at := strings.IndexByte(list, ':')
	if at < 0 {
		return 1
	}
	digits := list[at+1:]
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end]
	}
	n, _ := strconv.Atoi(digits)
	return n
}

// FormatArray writes indices, which must rise, as Slurm writes an array: "0-3,7%2", or "0-8:2" if all are one step apart.
func FormatArray(indices []int, limit int) string {
	text := formatRanges(indices)
	if limit > 0 {
		text += "%" + strconv.Itoa(limit)
	}
	return text
}

func formatRanges(indices []int) string {
	if step := onlyStep(indices); step > 1 {
		return fmt.Sprintf("%d-%d:%d", indices[0], indices[len(indices)-1], step)
	}
	var b strings.Builder
	for i := 0; i < len(indices); {
		k := i
		for k+1 < len(indices) && indices[k+1] == indices[k]+1 {
			k++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(indices[i]))
		if k > i {
			b.WriteString("-" + strconv.Itoa(indices[k]))
		}
		i = k + 1
	}
	return b.String()
}

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
