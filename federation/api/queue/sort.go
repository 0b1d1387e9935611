package queue

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	v1 "fsub/federation/api/v1"
	"fsub/federation/decision"
	"fsub/slurm/wire"
)

// waitingTasks stands for the index of the row of those tasks of an array that have not started.
const waitingTasks = math.MaxInt32

// masterID is the number that the ID of a row begins with.
func masterID(w *wire.Job) int64 {
	return cmp.Or(w.ArrayJobID.Value(), w.HetJobID.Value(), w.JobID)
}

// taskIndex is the task's of a row, or its place among the components of its job.
func taskIndex(w *wire.Job) int32 {
	switch {
	case w.ArrayTaskID.Set:
		return int32(w.ArrayTaskID.Number)
	case w.ArrayTaskString != "":
		return waitingTasks
	}
	return int32(w.HetJobOffset.Value())
}

func taskNumber(w *wire.Job) int64 { return int64(taskIndex(w)) }

// sortKey is a value by which rows are ordered: by number, then by text.
type sortKey struct {
	number int64
	text   string
}

func (k sortKey) compare(other sortKey) int {
	return cmp.Or(cmp.Compare(k.number, other.number), strings.Compare(k.text, other.text))
}

// sortField is one field of --sort.
type sortField struct {
	key  func(w *wire.Job, now time.Time) sortKey
	down bool
}

// readOrder reads a --sort: letters of --format with commas, each with + or - before it. Letters that nothing can be ordered by are
// left out; squeue has refused those that are none.
func readOrder(text string) ([]sortField, error) {
	var order []sortField
	seen := map[byte]bool{} // by what comes twice nothing is ordered any more
	for item := range strings.SplitSeq(text, ",") {
		down := strings.HasPrefix(item, "-")
		letter := strings.TrimLeft(item, "+-%.0123456789")
		if letter == "" || seen[letter[0]] {
			continue
		}
		seen[letter[0]] = true
		for _, key := range sortKeys[letter[0]] {
			order = append(order, sortField{key, down})
		}
	}
	return order, nil
}

// sortRows orders rows; those that are equal stay as they are.
func sortRows(rows []*queueRow, starts decision.Starts, order []sortField, now time.Time) ([]*queueRow, error) {
	type keyed struct {
		row  *queueRow
		keys []sortKey
	}
	list := make([]keyed, len(rows))
	keys := make([]sortKey, len(rows)*len(order))
	var w wire.Job
	var text []byte
	for i, r := range rows {
		text = r.bytes(text[:0])
		if err := v1.ReadRow(text, &w); err != nil {
			return nil, err
		}
		foretell(r, &w, starts)
		list[i] = keyed{r, keys[i*len(order) : (i+1)*len(order)]}
		for n, f := range order {
			list[i].keys[n] = f.key(&w, now)
		}
	}
	slices.SortStableFunc(list, func(a, b keyed) int {
		for n, f := range order {
			c := a.keys[n].compare(b.keys[n])
			if f.down {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	out := make([]*queueRow, len(rows))
	for i := range list {
		out[i] = list[i].row
	}
	return out, nil
}

func byNumber(of func(*wire.Job) int64) []func(*wire.Job, time.Time) sortKey {
	return []func(*wire.Job, time.Time) sortKey{func(w *wire.Job, _ time.Time) sortKey { return sortKey{number: of(w)} }}
}

// byAmount puts what is not told, or has no bound, behind all others.
func byAmount(of func(*wire.Job) wire.Number) []func(*wire.Job, time.Time) sortKey {
	return byNumber(func(w *wire.Job) int64 { return of(w).Or(1 << 62) })
}

func byText(of func(*wire.Job) string) []func(*wire.Job, time.Time) sortKey {
	return []func(*wire.Job, time.Time) sortKey{func(w *wire.Job, _ time.Time) sortKey { return sortKey{text: of(w)} }}
}

// sortKeys are squeue's letters. An ID is ordered by its number, then by the task.
var sortKeys = map[byte][]func(*wire.Job, time.Time) sortKey{
	'a': byText(func(w *wire.Job) string { return w.Account }),
	'A': byNumber(func(w *wire.Job) int64 { return w.JobID }),
	'b': byText(func(w *wire.Job) string { return w.TRESPerNode }),
	'B': byText(func(w *wire.Job) string { return w.BatchHost }),
	'c': byAmount(func(w *wire.Job) wire.Number { return w.MinCPUsPerNode }),
	'C': byAmount(func(w *wire.Job) wire.Number { return w.CPUs }),
	'd': byAmount(func(w *wire.Job) wire.Number { return w.MinTmpDiskPerNode }),
	'D': byAmount(func(w *wire.Job) wire.Number { return w.NodeCount }),
	'e': byNumber(func(w *wire.Job) int64 { return w.EndTime.Value() }),
	'f': byText(func(w *wire.Job) string { return w.Features }),
	'F': byNumber(func(w *wire.Job) int64 { return cmp.Or(w.ArrayJobID.Value(), w.JobID) }),
	'g': byText(func(w *wire.Job) string { return w.GroupName }),
	'G': byNumber(func(w *wire.Job) int64 { return int64(w.GroupID) }),
	'i': append(byNumber(masterID), byNumber(taskNumber)...),
	'j': byText(func(w *wire.Job) string { return w.Name }),
	'K': byNumber(taskNumber),
	'l': byAmount(func(w *wire.Job) wire.Number { return w.TimeLimit }),
	'L': {func(w *wire.Job, now time.Time) sortKey { return sortKey{number: timeLeft(w, now)} }},
	'm': byAmount(func(w *wire.Job) wire.Number { return w.MemoryPerNode }),
	'M': {func(w *wire.Job, now time.Time) sortKey { return sortKey{number: timeUsed(w, now)} }},
	'n': byText(func(w *wire.Job) string { return w.RequiredNodes }),
	'N': byText(func(w *wire.Job) string { return cmp.Or(w.Nodes, "\xff") }), // none comes last
	'o': byText(func(w *wire.Job) string { return w.Command }),
	'p': byNumber(func(w *wire.Job) int64 { return w.Priority.Value() }),
	'P': byText(func(w *wire.Job) string { return w.Partition }),
	'q': byText(func(w *wire.Job) string { return w.QOS }),
	'Q': byNumber(func(w *wire.Job) int64 { return w.Priority.Value() }),
	'r': byText(func(w *wire.Job) string { return w.StateReason }),
	'R': byText(func(w *wire.Job) string { return cmp.Or(w.Nodes, w.StateReason) }),
	'S': byNumber(func(w *wire.Job) int64 { return cmp.Or(w.StartTime.Value(), 1<<62) }),
	't': byText(func(w *wire.Job) string { return wire.CompactState(wire.ShownState(w.State)) }),
	'T': byText(func(w *wire.Job) string { return wire.ShownState(w.State) }),
	'u': byText(func(w *wire.Job) string { return w.UserName }),
	'U': byNumber(func(w *wire.Job) int64 { return int64(w.UserID) }),
	'v': byText(func(w *wire.Job) string { return w.ReservationName }),
	'V': byAmount(func(w *wire.Job) wire.Number { return w.SubmitTime }),
	'w': byText(func(w *wire.Job) string { return w.WCKey }),
	'W': byText(func(w *wire.Job) string { return w.Licenses }),
	'Z': byText(func(w *wire.Job) string { return w.WorkDir }),
}

// timeUsed is how long a job has run, in seconds.
func timeUsed(w *wire.Job, now time.Time) int64 { return w.RunTime(now.Unix()) }

func timeLeft(w *wire.Job, now time.Time) int64 {
	if w.TimeLimit.Infinite || !w.TimeLimit.Set {
		return 1 << 62
	}
	return 60*w.TimeLimit.Number - timeUsed(w, now)
}
