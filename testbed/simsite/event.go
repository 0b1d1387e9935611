package simsite

type eventKind uint8

const (
	evRunEnd   eventKind = iota // a script ends at the node
	evLimit                     // a job's time limit
	evBegin                     // a job's begin time
	evSave                      // the controller saves its state
	evPass                      // something changed for the scheduler: a reservation, a job that gives up on switches
	evComplete                  // the nodes of an ended job are free
	evMissing                   // a node still does not know the job that its controller thinks it runs
)

type event struct {
	at   int64
	seq  uint64
	kind eventKind
	gen  int
	job  *job
	run  *run
}

// events is a heap, by time and then by the order in which the events were planned.
type events struct {
	heap []event
	seq  uint64
}

func (a *event) before(b *event) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

func (s *Site) push(at int64, e event) {
	q := &s.events
	q.seq++
	e.at, e.seq = at, q.seq
	q.heap = append(q.heap, e)
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.heap[i].before(&q.heap[up]) {
			break
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

func (q *events) pop() event {
	h := q.heap
	top := h[0]
	last := len(h) - 1
	h[0], h[last] = h[last], event{}
	h = h[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && h[c+1].before(&h[c]) {
			c++
		}
		if !h[c].before(&h[i]) {
			break
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
	q.heap = h
	return top
}
