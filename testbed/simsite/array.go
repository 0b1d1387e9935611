package simsite

import (
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
)

// array is a job array: the record that bears its ID, and a record for each task that has started.
type array struct {
	id      uint32
	max     int // tasks that may run at once, 0: no limit
	tasks   []*job
	running int
	alive   int // records that have not ended
}

// parseArray reads "0-7:2,11%3".
func (s *Site) parseArray(text string) (tasks []int, limit int, err error) {
	list, lim, ok := strings.Cut(text, "%")
	if ok {
		if limit, err = strconv.Atoi(lim); err != nil || limit < 1 {
			return nil, 0, errArray
		}
	}
	for r := range strings.SplitSeq(list, ",") {
		r, step, stepped := strings.Cut(r, ":")
		lo, hi, isRange := strings.Cut(r, "-")
		if !isRange {
			hi = lo
		}
		a, err1 := strconv.Atoi(lo)
		b, err2 := strconv.Atoi(hi)
		by := 1
		if stepped {
			if by, err = strconv.Atoi(step); err != nil {
				return nil, 0, errArray
			}
		}
		if err1 != nil || err2 != nil || a < 0 || b < a || by < 1 || b >= s.cfg.MaxArraySize {
			return nil, 0, errArray
		}
		for i := a; i <= b; i += by {
			tasks = append(tasks, i)
		}
	}
	slices.Sort(tasks)
	return slices.Compact(tasks), limit, nil
}

// splitTask makes a record of its own for the next task of an array. It takes its number from the site's counter; the
// last task gets the array's own record.
func (s *Site) splitTask(meta *job) *job {
	s.touch(meta)
	t := meta.waiting[0]
	if len(meta.waiting) == 1 {
		s.dequeue(meta)
		meta.task, meta.waiting = t, nil
		s.addGhost(meta)
		return meta
	}
	meta.waiting = meta.waiting[1:]
	j := &job{id: s.takeID(), array: meta.array, desc: meta.desc, user: meta.user, need: meta.need, does: meta.does, key: meta.key,
		live: meta.live}
	j.waiting, j.row, j.run, j.task = nil, nil, nil, t
	a := s.arrays[meta.array]
	a.alive++
	s.addJob(j)
	s.record(meta)
	return j
}

// throttled: as many tasks of j's array run as may.
func (s *Site) throttled(j *job) bool {
	a := s.arrays[j.array]
	return a != nil && a.max > 0 && a.running >= a.max
}

// throttle hides an array from the scheduler once enough of it runs.
func (s *Site) throttle(a *array) {
	if meta := s.jobs[a.id]; a.max > 0 && a.running >= a.max && meta != nil && meta.state == federation.Pending {
		s.dequeue(meta)
	}
}

func (s *Site) unthrottle(a *array) {
	if a.max == 0 {
		return
	}
	for _, j := range a.tasks {
		s.enqueue(j)
	}
}

// takeID gives out the next number of the site's own counter.
func (s *Site) takeID() uint32 {
	for {
		id := s.nextID
		s.nextID++
		if s.nextID > s.cfg.MaxJobID {
			s.nextID = s.cfg.FirstJobID
		}
		if s.jobs[id] == nil {
			return id
		}
	}
}

// addJob files a new record.
func (s *Site) addJob(j *job) {
	s.seq++
	j.seq = s.seq
	j.isNew = true
	j.pos = len(s.order)
	s.order = append(s.order, j)
	s.jobs[j.id] = j
	if j.array != 0 {
		a := s.arrays[j.array]
		a.tasks = append(a.tasks, j)
	}
	s.touch(j)
}
