// Package place decides where jobs run: [Plan] looks at a [federation.Snapshot] and gives every job it looked at a
// [decision.Decision] with all the offers and rejections that led to it. It reads nothing but its arguments; equal
// arguments give equal plans. A [World] is the same with a memory: it is told what changes.
//
// How a plan comes about, and where to read:
//
//   - world.go, queue.go, jobqueue.go, merge.go: the World: its queue, and what it is told; progress.go: how far down that a plan has come; round.go: which jobs
//     are decided about together.
//   - members.go, site.go: the sites as they are known, and whom they can run (verdict.go).
//   - likeness.go, shape.go, class.go, limited.go: which jobs are alike.
//   - plan.go: what a plan decides about one job after another, in order of priority.
//   - model.go: what one [federation.Observation] means: pools, cells of like nodes, what falls free when. Never changes.
//   - follow.go: what the next observation means, where little has changed.
//   - ask.go, constraint.go: what a job's demand means for any pool; fit.go: what it takes in one.
//   - demand.go, accelerator.go: what it asks of the federation: sites, cost, kinds of GPU that will do.
//   - filter.go, group.go: which pools can run a job at all, or why not.
//   - rented.go: what nodes of rented pools cost, and those that must start first; starts.go: how many may.
//   - availability.go: what of that is passed over: machines that are seldom available, that were taken from the job, or that are too late for it.
//   - capacity.go: what is free, while a plan is being made and between plans; stock.go: now, and nodes in the order of that; timeline.go: when enough will
//     be; ready.go: nodes in the order of that.
//   - search.go: which nodes a job could have now; gang.go, chooser.go: several that are close to each other; searchmemory.go, estimates.go: what of all
//     that is remembered.
//   - candidate.go: a pool that can run a job; cost.go: what that costs in dollars; fullprice.go: that of one that is full, in a row.
//   - timeout.go: what a job loses where its time limit is likely to end it.
//   - shadowprice.go: what a job that waits for owned nodes costs those behind it, where there are rented ones too.
//   - shared.go: sites that others use too, where jobs wait in the site's own queue.
//   - preempt.go: jobs that make room for others.
//   - elsewhere.go, makeroom.go: what the rest of a run comes to elsewhere; who could move so that a gang can start. Both beside the plans, now and then.
//   - het.go: the components of a heterogeneous job, which start together.
//   - adapt.go: what a site is sent where it was offered something else than the job names; try.go: one job, only to tell.
//   - fault.go: a panic in any of this, with the job that brought it to light.
//   - explain.go, summary.go, guaranteetext.go, refusal.go: a decision in words, whole, grouped for a terminal, and for sbatch.
//
// It does not hand jobs to sites, and does not choose their nodes: those are the site's. The nodes it counts with are a
// model of what the site will do.
package place
