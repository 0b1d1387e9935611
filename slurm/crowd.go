package slurm

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"fsub/federation"
)

// Where many short jobs come and go, most calls for details would tell of jobs that have changed again by the next look. Of a crowd only
// those are read at once that have ended.

const (
	// notEndedMost bounds the jobs that have not ended and whose details are read in one look, where many have changed.
	notEndedMost = 16
	// lateMost is for how many looks the details of such a job are left to the next one.
	lateMost = 2
)

// postpone leaves to the next look what can wait where many jobs have changed and are read one by one: of jobs that take a second most
// have ended by then, and nobody has missed their start. What was left to the next look often enough comes first.
func (m *mark) postpone(changed []number, mine map[number][]row, atOnce bool) (now, later []number) {
	if atOnce || len(changed) <= notEndedMost {
		return changed, nil
	}
	for _, id := range changed {
		if rows := mine[id]; len(rows) == 1 && !state(rows[0].state).Ended() {
			later = append(later, id)
		} else {
			now = append(now, id)
		}
	}
	slices.SortStableFunc(later, func(a, b number) int { return cmp.Compare(m.late[b], m.late[a]) })
	n := 0
	for n < len(later) && n < notEndedMost && m.late[later[n]] >= lateMost {
		n++
	}
	return append(now, later[:n]...), later[n:]
}

// putOff notes that the details of a job were not read. One that nobody has seen before, and that waits, is as it was sent: it comes to its turn
// with the others that wait. Any other is still to be told. It reports whether the job is seen to have begun for the first time: that is told at once,
// for its controller may forget it.
func (m *mark) putOff(id number, old *mark, rows []row, now time.Time) (begun bool) {
	is := state(rows[0].state)
	if _, seen := old.seen[id]; !seen && old.late[id] == 0 && is == federation.Pending {
		m.waiting[id] = waiting{read: now}
		return false
	}
	m.late[id] = old.late[id] + 1
	m.unsee(id)
	return is.Started() && old.late[id] == 0
}

// lateFirst sorts jobs so that those which were left to a later look come first.
func (m *mark) lateFirst(ids []number) {
	slices.SortStableFunc(ids, func(a, b number) int { return cmp.Compare(m.late[b], m.late[a]) })
}

// leave notes that there was no time for the details of a job: it is still to be told. It reports whether the job is seen to have begun for the first time.
func (m *mark) leave(id number, old *mark, rows []row) (begun bool) {
	m.late[id] = old.late[id] + 1
	m.unsee(id)
	return len(rows) == 1 && old.late[id] == 0 && state(rows[0].state).Started()
}

// begun are records that hold nodes and have not been read yet, and since when they have been seen so.
type begun map[int64]time.Time

// with are b and ids, for which there was no time.
func (b begun) with(ids []int64, now time.Time) begun {
	if len(ids) == 0 {
		return b
	}
	all := begun{}
	maps.Copy(all, b)
	for _, id := range ids {
		all[id] = now
	}
	return all
}

// unreadFor is how long a job of a crowd holds nodes before its details are read.
const unreadFor = 3 * time.Second

// ripe are those of ids that are to be read now, and the others: none where all are read at once.
func (b begun) ripe(ids []int64, atOnce bool, now time.Time) (read []int64, others begun) {
	if atOnce || len(ids) <= notEndedMost {
		return ids, nil
	}
	others = begun{}
	for _, id := range ids {
		since, known := b[id]
		if !known {
			since = now
		}
		if now.Sub(since) >= unreadFor {
			read = append(read, id)
		} else {
			others[id] = since
		}
	}
	return read, others
}
