package squeue

import (
	"fsub/federation"
	"fsub/slurm/wire"
)

// startEntries are fields that Slurm does not have: what is known of the expected start of a job that waits. Where nothing is known they show what Slurm shows then.
func (c *command) startEntries() []entry {
	return []entry{
		{0, "SchedSite", "SCHED_SITE", orNull(func(r *row) string { return r.next.Site })},
		{0, "SchedCost", "SCHED_COST", orNA(schedCost)},
		{0, "StartTimeP90", "START_TIME_P90", c.when(func(r *row) wire.Number { return wire.Num(r.next.Within) })},
	}
}

// schedCost is what a job that waits would come to in dollars, or what one that runs has come to; "" if that is not known. It is a number: programs add it up.
func schedCost(r *row) string {
	switch {
	case r.next.Spent.Set:
		return federation.Money(r.next.Spent.Number).Text(2)
	case r.next.Site != "":
		return r.next.Price.Text(2)
	}
	return ""
}

// schedPlace is where a job is expected to run: SITE, or SITE/NODES where the site has said which.
func schedPlace(r *row) string {
	if r.next.Site == "" || r.ScheduledNodes == "" {
		return cmpOr(r.next.Site, cmpOr(r.ScheduledNodes, "(null)"))
	}
	return r.next.Site + "/" + r.ScheduledNodes
}

// reasonAndStart is the reason, and after it what the job would come to, and when it has started in nine of ten cases.
func (c *command) reasonAndStart(r *row) string {
	text := reasonList(r)
	if r.next.Site == "" {
		return text
	}
	text += " " + r.next.Price.USD()
	if r.next.Within > 0 {
		text += ", p90 " + c.times.Unix(r.next.Within)
	}
	return text
}
