package controller

import (
	"fsub/federation"

	"fsub/federation/action"
)

// Versions before this one handed an array over to a site as a whole where one site could start all of it. Those that
// are alive at a site are followed to their end here; none is made any more.

// units is how many things of the job may still run: its tasks that have not ended, or 1.
func (j *job) units() int {
	if j.whole == nil {
		return 1
	}
	n := 0
	for _, i := range j.whole {
		if t := j.tasks[i]; t == nil || !t.State.Ended() {
			n++
		}
	}
	return n
}

// takeTasks brings the records of an array's tasks in line with what the site says.
func (rp *reports) takeTasks(j *job, sj federation.SiteJob) {
	if j.whole == nil {
		return
	}
	changed := false
	for _, st := range sj.Tasks {
		t := j.tasks[st.Index]
		if t == nil {
			t = &federation.Task{Job: j.ID, Index: st.Index}
			j.tasks[st.Index] = t
		}
		now := federation.Task{
			Job: j.ID, Index: st.Index, SiteJobID: st.SiteJobID, State: st.State, Reason: st.Reason, Nodes: st.Nodes,
			Start: st.Start, End: st.End, ExitStatus: st.ExitStatus, Restarts: st.Restarts, Cost: t.Cost,
		}
		if *t != now {
			rp.batch.taskMoved(t, &now)
			*t = now
			rp.batch.task(t)
			changed = true
		}
	}
	if changed {
		rp.batch.job(j)
		rp.agenda.plan = true
		rp.queue.claim(j)
		rp.depends.changed(j)
	}
}

func (ch *charges) tasks(s *site, j *job, held federation.Held) {
	a := j.att
	a.Charged++
	for _, i := range j.whole {
		t := j.tasks[i]
		if t == nil || t.Start.IsZero() {
			continue
		}
		k := federation.Charge{Run: a.Charged, Task: t.Index, Held: held, Nodes: t.Nodes, State: t.State, Start: t.Start, End: t.End, From: federation.PriceTable}
		if s == nil || !t.State.Ended() {
			k.State, k.End, k.From = federation.NodeFail, ch.now().UTC(), federation.PriceNone
		}
		amount := ch.run(s, j, a, k)
		t.Cost += amount
		a.Cost += amount
		ch.batch.task(t)
	}
}

// refuseTasks refuses to hold, release or change some tasks of an array that one site has: they cannot be told
// apart there before they start, for slurmrestd takes no task in the path of an update. It reports false if that
// is not what r asks for.
func (rq *requests) refuseTasks(j *job, r action.Request) bool {
	if r.Tasks.Len() == 0 || j.whole == nil || !j.live() {
		return false
	}
	err := &federation.SlurmError{Kind: federation.ErrConflict, Number: -1, Text: "Requested operation not supported on this system",
		Detail: "the array waits at " + string(j.att.Site) + ", where its tasks cannot be changed one by one"}
	rq.refused.add(r.Seq, err)
	rq.batch.eventf(j, "%s refused: %v", r.Kind, err)
	return true
}
