package ledger

import (
	"cmp"
	"time"

	"fsub/accounting"
)

// Sums is what reports add up. TRES-seconds are those that were allocated: of CPUs without the time for which a run was suspended, of all else with it, as
// sreport counts them. Mem is in MiB-seconds.
type Sums struct {
	Runs int64 // that ended
	CPU, Mem, Node, GPU, Billing,
	Wall int64 // seconds of runs, suspended or not

	Amount, Dearest, List, First accounting.Money

	Waited  int64          // seconds, of runs that started
	Waits   [Buckets]int64 // runs by how long they waited: see WaitBounds
	CPUUsed int64          // CPU seconds that were used, of runs of which that is measured
	CPUOf   int64          // CPU seconds that those runs had
	GPUUsed int64          // GPU seconds that were used, of runs of which that is measured
	GPUOf   int64
	LimitOf int64 // seconds of the time limits of runs that had one
	LimitBy int64 // seconds that those took
}

// Buckets is the number of classes of waits. WaitBounds are their upper bounds in seconds; the last class has none.
const Buckets = 7

var WaitBounds = [Buckets - 1]int64{60, 600, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600}

// Width is how many fields Sums has.
const Width = 18 + Buckets

// Fields are those of s in the order in which the store keeps them.
func (s *Sums) Fields() [Width]*int64 {
	w := &s.Waits
	return [Width]*int64{&s.Runs, &s.CPU, &s.Mem, &s.Node, &s.GPU, &s.Billing, &s.Wall, (*int64)(&s.Amount), (*int64)(&s.Dearest), (*int64)(&s.List), (*int64)(&s.First),
		&s.Waited, &s.CPUUsed, &s.CPUOf, &s.GPUUsed, &s.GPUOf, &s.LimitOf, &s.LimitBy, &w[0], &w[1], &w[2], &w[3], &w[4], &w[5], &w[6]}
}

// SumNames are the names of all of them, in the same order.
var SumNames = []string{"runs", "cpu", "mem", "node", "gpu", "billing", "wall", "amount", "dearest", "list", "first", "waited", "cpu_used", "cpu_of", "gpu_used", "gpu_of", "limit_of", "limit_by",
	"wait0", "wait1", "wait2", "wait3", "wait4", "wait5", "wait6"}

// Add adds o, or takes it away with sign -1.
func (s *Sums) Add(o *Sums, sign int64) {
	from := o.Fields()
	for i, to := range s.Fields() {
		*to += sign * *from[i]
	}
}

// Zero reports whether there is nothing in s.
func (s *Sums) Zero() bool { return *s == Sums{} }

const day = 24 * 3600

// DayOf is the UTC day of a Unix time, counted from 1970.
func DayOf(unix int64) int64 {
	if unix < 0 {
		return (unix+1)/day - 1
	}
	return unix / day
}

// Days calls take with what the run came to in each UTC day in which it ran, in their order. What is counted once for a run is counted on the day of its end. The
// days of a run add up to what it came to, to the second and to the millionth of a dollar.
func (e *Entry) Days(tres accounting.TRES, take func(day int64, s Sums)) {
	whole, from := e.whole(tres), e.Start
	elapsed := e.Elapsed()
	if elapsed == 0 || DayOf(e.Start) == DayOf(e.End-1) {
		last := e.End
		if elapsed > 0 {
			last--
		}
		take(DayOf(last), whole)
		return
	}
	var done Sums // of the days before
	for d := DayOf(e.Start); from < e.End; d++ {
		from = min((d+1)*day, e.End)
		if from == e.End {
			whole.Add(&done, -1)
			take(d, whole)
			return
		}
		upTo := e.until(&whole, from-e.Start, elapsed)
		part := upTo
		part.Add(&done, -1)
		done = upTo
		take(d, part)
	}
}

// until is the part of the first seconds of a run.
func (e *Entry) until(whole *Sums, seconds, elapsed int64) Sums {
	var s Sums
	all := whole.Fields()
	for i, to := range s.Fields() {
		*to = share(*all[i], seconds, elapsed)
	}
	s.Runs, s.Waited, s.Waits = 0, 0, [Buckets]int64{}
	return s
}

// whole is all of the run.
func (e *Entry) whole(tres accounting.TRES) Sums {
	elapsed := e.Elapsed()
	net := max(elapsed-e.Suspended, 0)
	gpus := GPUs(tres)
	s := Sums{
		Runs: 1, CPU: tres["cpu"] * net, Mem: tres["mem"] * elapsed, Node: tres["node"] * elapsed, GPU: gpus * elapsed, Billing: tres["billing"] * elapsed, Wall: elapsed,
		Amount: e.Amount, Dearest: e.at(e.DearestPerHour), List: e.at(e.ListPerHour), First: e.at(e.FirstPerHour), Waited: e.Wait,
	}
	if e.Kind == Moved {
		return Sums{Amount: e.Amount, Dearest: e.Amount, List: e.Amount, First: e.Amount}
	}
	if e.Kind == Machine || e.Kind == Billed {
		s.Runs, s.Waited = 0, 0
		if e.Kind == Billed {
			s.Wall = 0
		}
		return s
	}
	if e.CPUUsed >= 0 {
		s.CPUUsed, s.CPUOf = e.CPUUsed, s.CPU
	}
	if e.GPUUsed >= 0 {
		s.GPUUsed, s.GPUOf = share(s.GPU, e.GPUUsed, 1000), s.GPU
	}
	if e.Limit > 0 {
		s.LimitOf, s.LimitBy = e.Limit, net
	}
	s.Waits[waitClass(e.Wait)] = 1
	return s
}

// at is what the run would have come to at another price by the hour.
func (e *Entry) at(perHour accounting.Money) accounting.Money {
	if perHour == 0 {
		return e.Amount
	}
	return perHour.For(e.billed())
}

func waitClass(seconds int64) int {
	for i, bound := range WaitBounds {
		if seconds <= bound {
			return i
		}
	}
	return Buckets - 1
}

// Compare orders IDs.
func (a ID) Compare(b ID) int {
	return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Task, b.Task), cmp.Compare(a.At, b.At))
}

// MonthOf is the month of a day, both counted from their beginning: days from 1970, months from the year 0.
func MonthOf(day int64) int64 {
	t := time.Unix(day*24*3600, 0).UTC()
	return int64(t.Year())*12 + int64(t.Month()) - 1
}

// FirstDay is the first day of a month.
func FirstDay(month int64) int64 {
	return DayOf(time.Date(int(month/12), time.Month(month%12+1), 1, 0, 0, 0, 0, time.UTC).Unix())
}
