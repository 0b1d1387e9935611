package squeue

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
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

// shownEntries are the fields that v1.Shown names: those of a job that Slurm does not have.
func shownEntries() (all []entry) {
	for f := range reflect.TypeFor[v1.Shown]().Fields() {
		name, header, _ := strings.Cut(f.Tag.Get("column"), ",")
		all = append(all, entry{0, name, header, orNull(func(r *row) string { return fmt.Sprint(reflect.ValueOf(&r.next.Shown).Elem().FieldByIndex(f.Index)) })})
	}
	return all
}

// tellsMore reports whether the rows show what is beyond a wire.Job.
func (c *command) tellsMore() bool {
	named := func(e entry) bool { return strings.Contains(strings.ToLower(c.format2), strings.ToLower(e.name)) }
	return c.tellsStarts() || c.document == "" && slices.ContainsFunc(shownEntries(), named)
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
