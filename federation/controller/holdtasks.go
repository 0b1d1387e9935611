package controller

import "fsub/federation"

// spreadFirst makes sure that single tasks can be held or changed: an array that waits here is bound task by task from now on. It reports true
// if the request is to be read again, when there are numbers for those tasks.
func (c *Controller) spreadFirst(r federation.Request) bool {
	j := c.jobs[r.Job]
	if j == nil || len(r.Tasks) == 0 || j.size == 0 || j.live() || j.spreads() {
		return false
	}
	c.spread(j, "some of them are held or changed")
	delete(c.requests, r.Seq)
	return true
}

// refuseTasks refuses to hold, release or change some tasks of an array that one site has: they cannot be told apart there before they start, for
// slurmrestd takes no task in the path of an update. It reports false if that is not what r asks for.
func (c *Controller) refuseTasks(j *job, r federation.Request) bool {
	if len(r.Tasks) == 0 || j.size == 0 || !j.live() {
		return false
	}
	err := &federation.SlurmError{Kind: federation.ErrConflict, Number: -1, Text: "Requested operation not supported on this system",
		Detail: "the array waits at " + string(j.att.Site) + ", where its tasks cannot be changed one by one"}
	c.view.refuse(r.Seq, err)
	c.event(j, "%s refused: %v", r.Kind, err)
	return true
}
