package sacct

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/slurm/wire"
)

// Values that only the site has measured, and has not reported.
func unknown(*command, *record) string { return "" }

// ofJob is a value that steps do not have, ofStep one that jobs do not have.
func ofJob(of func(*record) string) func(*command, *record) string {
	return func(_ *command, r *record) string {
		if r.step != nil {
			return ""
		}
		return of(r)
	}
}

func ofStep(of func(*record) string) func(*command, *record) string {
	return func(_ *command, r *record) string {
		if r.step == nil {
			return ""
		}
		return of(r)
	}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func clock(seconds int64) string { return show.Clock(seconds) }

// when writes a time, or none where there is none yet.
func (c *command) when(unix int64, none string) string {
	if unix <= 0 {
		return none
	}
	return c.times.Unix(unix)
}

func start(c *command, r *record) string {
	switch {
	case r.step != nil:
		return c.when(r.step.Time.Start.Value(), "Unknown")
	case r.Time.Start == 0 && r.Time.End != 0:
		return "None" // it ended before it had started
	}
	return c.when(r.Time.Start, "Unknown")
}

func end(c *command, r *record) string {
	if r.step != nil {
		return c.when(r.step.Time.End.Value(), "Unknown")
	}
	return c.when(r.Time.End, "Unknown")
}

// submitted is when a job came; a step comes, and is eligible, when it starts.
func submitted(c *command, r *record) string {
	if r.step != nil {
		return c.when(r.step.Time.Start.Value(), "Unknown")
	}
	return c.when(r.Time.Submission, "Unknown")
}

func eligible(c *command, r *record) string {
	if r.step != nil {
		return c.when(r.step.Time.Start.Value(), "Unknown")
	}
	return c.when(r.Time.Eligible, "Unknown")
}

// times are the CPU times of a job or a step.
type times struct{ system, total, user wire.Duration }

// cpuTime writes one of them as sacct does: thousandths of a second below an hour.
func cpuTime(of func(times) wire.Duration) func(*command, *record) string {
	return func(c *command, r *record) string {
		t := times{r.Time.System, r.Time.Total, r.Time.User}
		switch {
		case c.allocations: // sacct adds up the steps, which it does not read then
			t = times{}
		case r.step != nil:
			t = times{r.step.Time.System, r.step.Time.Total, r.step.Time.User}
		}
		d := of(t)
		if ms := d.Microseconds / 1000; ms > 0 && d.Seconds < 3600 {
			return fmt.Sprintf("%02d:%02d.%03d", d.Seconds/60, d.Seconds%60, ms)
		}
		return clock(d.Seconds)
	}
}

func suspended(r *record) int64 {
	if r.step != nil {
		return r.step.Time.Suspended
	}
	return r.Time.Suspended
}

// fileName is a file of the job's: with its patterns, or with --expand-patterns without.
func fileName(of func(*record) (name, expanded string)) func(*command, *record) string {
	return func(c *command, r *record) string {
		if r.step != nil {
			return ""
		}
		name, expanded := of(r)
		if c.expand && name != "" {
			return expanded
		}
		return name
	}
}

func nonZero(n int64) string {
	if n == 0 {
		return ""
	}
	return decimal(n)
}

// displayID is the job's ID as users write it, rawText as numbers.
func displayID(r *record) string {
	switch id := strconv.FormatInt(r.Array.JobID, 10); {
	case r.Het.JobID != 0:
		return fmt.Sprintf("%d+%d", r.Het.JobID, r.Het.JobOffset.Value())
	case r.Array.JobID == 0:
		return decimal(r.JobID)
	case r.Array.TaskID.Set:
		return id + "_" + decimal(r.Array.TaskID.Number)
	case r.Array.Task != "":
		return id + "_[" + r.Array.Task + "]"
	default:
		return id
	}
}

func jobID(_ *command, r *record) string { return withStep(r, displayID(r)) }

func rawID(_ *command, r *record) string { return withStep(r, decimal(r.JobID)) }

func withStep(r *record, id string) string {
	if r.step == nil {
		return id
	}
	return id + "." + stepName(r.step)
}

func name(r *record) string {
	if r.step != nil {
		return r.step.Step.Name
	}
	return r.Name
}

// state returns the state in words. It names the user who cancelled a job for the job only, and for
// a step that was cancelled alone.
func state(_ *command, r *record) string {
	list := r.State.Current
	if r.step != nil {
		list = r.step.State
	}
	s, by := wire.ShownState(list), r.CancelledBy
	if r.step != nil {
		by = nil
		if uid, ok := r.StepsCancelledBy[string(r.step.Step.ID)]; ok {
			by = &uid
		}
	}
	if s == wire.StateCancelled && by != nil {
		return s + " by " + strconv.FormatUint(uint64(*by), 10)
	}
	return s
}

// exitText is "code:signal". A code above 128 is how a shell says that a signal ended its last
// command; sacct takes 128 off.
func exitText(e wire.ExitCode) string {
	code := e.ReturnCode.Value()
	if code > 128 {
		code -= 128
	}
	return fmt.Sprintf("%d:%d", code, e.Signal.ID.Value())
}

func exitCode(_ *command, r *record) string {
	if r.step != nil {
		return exitText(r.step.ExitCode)
	}
	return exitText(r.ExitCode)
}

func elapsed(r *record) int64 {
	if r.step != nil {
		return r.step.Time.Elapsed
	}
	return r.Time.Elapsed
}

// cpus are the CPUs that were given: a batch step has those of its node.
func cpus(r *record) int64 {
	if r.step != nil && len(r.step.TRES.Allocated) > 0 {
		return wire.CountOf(r.step.TRES.Allocated, "cpu")
	}
	n := wire.CountOf(r.TRES.Allocated, "cpu")
	if r.step != nil && r.AllocationNodes > 1 {
		return max(n/r.AllocationNodes, 1)
	}
	return n
}

func allocCPUs(_ *command, r *record) string { return decimal(cpus(r)) }

func requestedCPUs(r *record) string {
	if r.step != nil {
		return decimal(cpus(r))
	}
	return decimal(r.Required.CPUs)
}

func requestedNodes(r *record) string {
	if r.step != nil {
		return decimal(r.step.Nodes.Count)
	}
	return decimal(wire.CountOf(r.TRES.Requested, "node"))
}

func cpuSeconds(_ *command, r *record) int64 { return cpus(r) * elapsed(r) }

func allocNodes(_ *command, r *record) string {
	if r.step != nil {
		return decimal(r.step.Nodes.Count)
	}
	return decimal(r.AllocationNodes)
}

// nodeCount is what a job has, or asks for until then.
func nodeCount(c *command, r *record) string {
	if r.step == nil && r.AllocationNodes == 0 {
		return decimal(wire.CountOf(r.TRES.Requested, "node"))
	}
	return allocNodes(c, r)
}

func nodeList(_ *command, r *record) string {
	if r.step != nil {
		return r.step.Nodes.Range
	}
	return r.Nodes
}

// planned is how long a job waited from when it could have started.
func planned(c *command, r *record) int64 {
	switch {
	case r.Time.Planned.Set:
		return r.Time.Planned.Number
	case r.Time.Eligible == 0:
		return 0
	case r.Time.End != 0:
		return max(r.Time.End-r.Time.Eligible, 0)
	}
	return max(c.times.Now().Unix()-r.Time.Eligible, 0)
}

func timeLimit(r *record, minutes func(int64) string) string {
	switch {
	case r.Time.Limit.Infinite:
		return "UNLIMITED"
	case !r.Time.Limit.Set:
		return "Partition_Limit"
	}
	return minutes(r.Time.Limit.Number)
}

func requestedMemory(c *command, r *record) string {
	if mem := wire.CountOf(r.TRES.Requested, "mem"); mem > 0 {
		return c.memory(mem)
	}
	return "0"
}

// memory writes MiB as --units and --noconvert ask for it.
func (c *command) memory(mib int64) string {
	shift := strings.Index("MGTP", c.units)
	switch {
	case c.units == "K":
		return decimal(mib*1024) + "K"
	case c.noConvert || c.units != "" && shift == 0:
		return decimal(mib) + "M"
	case c.units == "":
		return show.Memory(mib)
	}
	n := float64(mib)
	for range shift {
		n /= 1024
	}
	if n == float64(int64(n)) {
		return decimal(int64(n)) + c.units
	}
	return strconv.FormatFloat(n, 'f', 2, 64) + c.units
}

// tres writes a list of TRES in the order of sacct, that of the alphabet.
func tres(c *command, list []wire.TRES) string {
	var out []string
	for _, t := range list {
		key, value := t.Type, decimal(t.Count)
		if t.Name != "" {
			key += "/" + t.Name
		}
		if t.Type == "mem" {
			value = c.memory(t.Count)
		}
		out = append(out, key+"="+value)
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

func allocTRES(c *command, r *record) string {
	switch {
	case r.step == nil:
		return tres(c, r.TRES.Allocated)
	case len(r.step.TRES.Allocated) > 0:
		return tres(c, r.step.TRES.Allocated)
	}
	var list []wire.TRES
	for _, t := range r.TRES.Allocated {
		switch {
		case t.Type == "billing":
			continue
		case t.Type == "node":
			t.Count = 1
		case r.AllocationNodes > 1:
			t.Count = max(t.Count/r.AllocationNodes, 1)
		}
		list = append(list, t)
	}
	return tres(c, list)
}
