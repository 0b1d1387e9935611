package queue

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/api/restd"
)

// world is what of the sites the rows depend on: partitions' limits and defaults, and the types of GRES.
type world struct {
	text    string
	seen    []*federation.Observation // of which text was made
	adopted time.Time                 // until then rows stay as they are while a site has not been seen
}

// changed reports whether the world has changed since the last call.
func (w *world) changed(v *restd.View) bool {
	seen := make([]*federation.Observation, len(v.Sites))
	for i, site := range v.Sites {
		seen[i] = site.Seen
	}
	unknown := len(seen) < len(w.seen) || slices.Contains(seen, nil)
	if slices.Equal(seen, w.seen) || unknown && v.Now.Before(w.adopted) {
		return false
	}
	w.seen = seen
	before := w.text
	w.text = worldOf(v)
	return w.text != before
}

func worldOf(v *restd.View) string {
	b := []byte(v.Default)
	number := func(n int64) { b = binary.AppendVarint(b, n) }
	text := func(s string) { b = append(append(b, s...), 0) }
	for _, site := range v.Sites {
		text(string(site.Name))
		if site.Seen == nil {
			continue
		}
		for i := range site.Seen.Partitions {
			p := &site.Seen.Partitions[i]
			text(p.Name)
			number(int64(p.MaxTime))
			number(int64(p.DefaultTime))
			number(int64(p.DefMemPerCPU))
			number(int64(p.DefMemPerNode))
		}
		for i := range site.Seen.Nodes {
			n := &site.Seen.Nodes[i]
			text(n.Name)
			for _, g := range n.GRES {
				text(g.Name)
				text(g.Type)
			}
		}
	}
	return string(b)
}

// remake makes the rows again, because the sites are others in what rows depend on. What jobs that wait alike have in common is written once for all of
// them, and where it stays the same so do their rows; other jobs are read again.
func (q *Queue) remake(ctx context.Context, v *restd.View) error {
	var read []federation.JobID
	for id, k := range q.jobs { // only this goroutine changes it
		if k.rest != nil {
			read = append(read, id)
		}
	}
	var jobs []federation.Job
	var tasks map[federation.JobID][]federation.Task
	if len(read) > 0 {
		var err error
		if jobs, tasks, err = q.fetch(ctx, read); err != nil {
			return err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.remakeKinds(v); err != nil {
		return err
	}
	for i := range jobs {
		q.take(v, &jobs[i], tasks[jobs[i].ID])
	}
	return nil
}

// remakeKinds makes the rows of jobs that wait alike again.
func (q *Queue) remakeKinds(v *restd.View) error {
	others := map[*rowKind]*rowKind{}
	for like, kind := range q.kinds {
		next, ok := kindOf(v, kind.job)
		if !ok {
			return errOtherForm
		}
		next.rows, next.who, next.class = kind.rows, kind.who, kind.class
		switch {
		case !q.shown:
			kind.facts, kind.shared = next.facts, next.shared // the rest is read without the lock: see build
		case next.facts != kind.facts || next.shared != kind.shared:
			q.kinds[like], others[kind] = next, next
		}
	}
	for id, k := range q.jobs {
		if kind := others[k.row.kind]; k.rest == nil && kind != nil {
			k.row.dead = true
			q.dead++
			row := k.row
			row.kind, row.dead = kind, false
			other := &queuedJob{row: row}
			q.add(id, other)
			q.lists.replace(k, other)
		}
	}
	return nil
}

var errOtherForm = errors.New("the rows of jobs that wait have another form now")
