package replay

import (
	"cmp"
	"time"
)

// end is when a run ends.
type end struct {
	at   time.Time
	job  int
	held []start
}

// atTheBeginning stands for the number of a job that ran at the beginning.
const atTheBeginning = -1

// ends is a heap.
type ends []end

func (e ends) Len() int { return len(e) }
func (e ends) Less(i, j int) bool {
	return cmp.Or(e[i].at.Compare(e[j].at), cmp.Compare(e[i].job, e[j].job)) < 0
}
func (e ends) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)   { *e = append(*e, x.(end)) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
