package v1

import (
	"encoding/binary"
	"slices"

	"fsub/slurm/wire"
)

// Waiting is what a job that waits has of its own in its row, beside those that are like it. Times are seconds since 1970.
type Waiting struct {
	ID, Priority, Submit int64
}

// WaitingOf takes out of the record of a job what it has of its own, so that what is left is the same for all that are like it. Not ok: the record is
// not of the usual form, and is left alone.
func WaitingOf(j *wire.Job) (w Waiting, ok bool) {
	if !j.Priority.Set || !j.SubmitTime.Set || j.AccrueTime != j.SubmitTime || j.EligibleTime != j.SubmitTime {
		return w, false
	}
	w = Waiting{ID: j.JobID, Priority: j.Priority.Number, Submit: j.SubmitTime.Number}
	j.JobID, j.Priority, j.SubmitTime, j.AccrueTime, j.EligibleTime = 0, wire.Number{}, wire.Number{}, wire.Number{}, wire.Number{}
	return w, true
}

// Append completes a row of what like jobs have in common.
func (w *Waiting) Append(b []byte) []byte {
	b = appendNumber(b, waitingTags.id, w.ID)
	b = appendNumber(b, waitingTags.priority, w.Priority)
	for _, tag := range waitingTags.times {
		b = appendNumber(b, tag, w.Submit)
	}
	return b
}

// Size is the length of what Append appends.
func (w *Waiting) Size() int {
	var b [binary.MaxVarintLen64]byte
	return waitingTags.size + binary.PutVarint(b[:], w.ID) + binary.PutVarint(b[:], w.Priority) + len(waitingTags.times)*binary.PutVarint(b[:], w.Submit)
}

// waitingTags are the tags of its fields, and how long all of them are.
var waitingTags = func() (t struct {
	id, priority uint64
	times        [3]uint64
	size         int
}) {
	var probe wire.Job
	tag := func(same func(*rowField) bool) uint64 {
		i := slices.IndexFunc(rowFields[:], func(f rowField) bool { return same(&f) })
		n := uint64(i)<<2 + rowNumber
		t.size += len(binary.AppendUvarint(nil, n))
		return n
	}
	number := func(n *wire.Number) uint64 {
		return tag(func(f *rowField) bool { return f.number != nil && f.number(&probe) == n })
	}
	t.id = tag(func(f *rowField) bool { return f.int != nil && f.int(&probe) == &probe.JobID })
	t.priority = number(&probe.Priority)
	t.times = [3]uint64{number(&probe.SubmitTime), number(&probe.AccrueTime), number(&probe.EligibleTime)}
	return t
}()
