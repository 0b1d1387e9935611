package v1

import (
	"encoding/binary"
	"sync"

	"fsub/slurm/wire"
)

// Waiting is what a job that waits shares in its row with no other that is like it. Times are seconds since 1970.
type Waiting struct {
	ID, Priority, Submit int64
}

// WaitingOf takes out of the record of a job what is not like in others, so that what is left is the same for all that are like it. Not ok: the record is
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
	tags := waitingTags()
	b = appendNumber(b, tags.id, w.ID)
	b = appendNumber(b, tags.priority, w.Priority)
	for _, tag := range tags.times {
		b = appendNumber(b, tag, w.Submit)
	}
	return b
}

// Size is the length of what Append appends.
func (w *Waiting) Size() int {
	var b [binary.MaxVarintLen64]byte
	tags := waitingTags()
	return tags.size + binary.PutVarint(b[:], w.ID) + binary.PutVarint(b[:], w.Priority) + len(tags.times)*binary.PutVarint(b[:], w.Submit)
}

// waitingTags are the tags of its fields, and how long all of them are.
var waitingTags = sync.OnceValue(func() (t tagsOfWaiting) {
	tag := func(name string) uint64 {
		n := jobRow().tagOf(name)
		t.size += len(binary.AppendUvarint(nil, n))
		return n
	}
	t.id, t.priority = tag("JobID"), tag("Priority")
	t.times = [...]uint64{tag("SubmitTime"), tag("AccrueTime"), tag("EligibleTime")}
	return t
})

type tagsOfWaiting struct {
	id, priority uint64
	times        [3]uint64
	size         int
}
