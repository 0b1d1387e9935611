package sacct

import (
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "fsub/federation/api/v1"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// selects makes the selections that the daemon does not make. whole is the name of the federation,
// as a cluster.
func (c *command) selects(j *v1.AccountingJob, whole string) bool {
	oneOf := func(list []string, values ...string) bool {
		return len(list) == 0 || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(list, v) })
	}
	features := strings.FieldsFunc(j.Constraints, func(r rune) bool { return strings.ContainsRune("&|,[]()*", r) })
	return c.named(j) && oneOf(c.clusters, j.Cluster, whole) && c.onNodes(j.Nodes) &&
		oneOf(c.assocs, strconv.FormatInt(j.Association.ID, 10)) &&
		oneOf(c.constraints, append(features, j.Constraints)...) &&
		oneOf(c.flags, jobFlagsOf(j)...) &&
		oneOf(c.groups, j.Group, strconv.FormatUint(uint64(j.GroupID), 10)) &&
		oneOf(c.reasons, j.State.Reason) && oneOf(c.wckeys, j.WCKey.WCKey) &&
		c.nodeCount.has(j.AllocationNodes) && c.cpuCount.has(wire.CountOf(j.TRES.Allocated, "cpu")) && c.inLimits(j)
}

// named reports whether --jobs asks for j or a step of it.
func (c *command) named(j *v1.AccountingJob) bool {
	return len(c.refs) == 0 || slices.ContainsFunc(c.refs, func(r ref) bool { return r.has(j, c.wholeHet) })
}

// flagWords are slurmrestd's words for the flags, and sacct's.
var flagWords = [][2]string{{"STARTED_ON_SUBMIT", "SchedSubmit"}, {"STARTED_ON_SCHEDULE", "SchedMain"}, {"STARTED_ON_BACKFILL", "SchedBackfill"},
	{"START_RECEIVED", "StartReceived"}}

// flagsOf are a job's flags in sacct's words.
func flagsOf(j *v1.AccountingJob) []string {
	var out []string
	for _, w := range flagWords {
		if j.Flags.Has(w[0]) {
			out = append(out, w[1])
		}
	}
	return out
}

func jobFlagsOf(j *v1.AccountingJob) []string {
	if out := flagsOf(j); len(out) > 0 {
		return out
	}
	return []string{"None"}
}

func (c *command) onNodes(list string) bool {
	if c.nodes == "" {
		return true
	}
	want, _ := hostlist.Expand(c.nodes)
	has, _ := hostlist.Expand(list)
	return slices.ContainsFunc(has, func(n string) bool { return slices.Contains(want, n) })
}

// inLimits: --timelimit-min alone is the very limit; --timelimit-max alone is nothing to sacct.
func (c *command) inLimits(j *v1.AccountingJob) bool {
	if c.limitMin == 0 {
		return true
	}
	limit := time.Duration(j.Time.Limit.Number) * time.Minute
	if c.limitMax == 0 {
		return j.Time.Limit.Set && limit == c.limitMin
	}
	return j.Time.Limit.Set && limit >= c.limitMin && limit <= c.limitMax
}

// cutTimes is --truncate: a time before the window becomes its beginning, one after it its end.
func (c *command) cutTimes(j *v1.AccountingJob) {
	if !c.truncate || c.from.IsZero() || j.Time.Start == 0 {
		return
	}
	from, to := c.from.Unix(), c.to.Unix()
	j.Time.Start = max(j.Time.Start, from)
	if j.Time.End == 0 || j.Time.End > to {
		j.Time.End = to
	}
	j.Time.Elapsed = max(j.Time.End-j.Time.Start, 0)
}
