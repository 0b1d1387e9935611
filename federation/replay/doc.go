// Package replay runs jobs through the planner in virtual time: [Run] is given a fleet, the jobs of a trace with how long each runs, and a policy, and
// tells what became of each. The planner is the daemon's own ([place.World]), and so are the forecasts of run times (package predict): how long a job runs
// the planner learns only when it has ended. The sites are simulated: a job that is bound starts at once on the nodes that the planner counts with.
// Equal arguments give equal outcomes.
//
// Read config.go for what goes in and what comes out, replay.go for the course of things, fleet.go for the sites, forecast.go for what the planner knows, order.go for the order of the queue, summary.go for the
// figures. Package trace reads traces, package chart draws.
//
// It does not simulate what a controller does: looks at sites, lost replies, backlogs at sites, queues of others. testbed/sim runs the real controller.
package replay
