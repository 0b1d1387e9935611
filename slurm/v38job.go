package slurm

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"fsub/federation/reasons"
	"fsub/slurm/wire"
)

// job38 is a job as v0.0.38 writes it, where that differs from package wire.
type job38 struct {
	wire.Job
	ExitCode        wire.Int     `json:"exit_code"`         // as wait(2) gives it
	DerivedExitCode wire.Int     `json:"derived_exit_code"` // the same
	Resources       *resources38 `json:"job_resources"`
	TimeLimit       *int64       `json:"time_limit"` // null: none
	Nice            *int64       `json:"nice"`
}

type resources38 struct {
	Cores int64 `json:"allocated_cores"`
	CPUs  int64 `json:"allocated_cpus"`
	Nodes []struct {
		Name    string          `json:"nodename"`
		Memory  int64           `json:"memory_allocated"`
		Sockets json.RawMessage `json:"sockets"` // by number: {"0":{"cores":{"0":"allocated"}}}
	} `json:"allocated_nodes"`
}

// clockSkew is how far a site's clock may be behind ours. It is less than the shortest time limit.
const clockSkew = 30 * time.Second

// wire is j in the words of newer versions, as it is now.
func (j *job38) wire(now time.Time) wire.Job {
	out := j.Job
	// The word for a requeued job whose nodes are not free yet is that for an ending one. It waits: its end is a guess, from now on and by its limit.
	if len(out.State) == 1 && out.State.Has(wire.FlagCompleting) && j.RestartCnt > 0 && unix(j.EndTime.Value()).After(now.Add(clockSkew)) {
		out.State = wire.Strings{wire.StatePending, wire.FlagCompleting}
	}
	out.ExitCode, out.DerivedExitCode = exit38(int64(j.ExitCode)), exit38(int64(j.DerivedExitCode))
	if signal := out.ExitCode.Signal.ID.Value(); signal != 0 && out.StateReason == string(reasons.LaunchFailure) {
		out.StateReason = fmt.Sprintf("RaisedSignal:%d", signal) // newer versions have a word of their own for a script that dies by a signal
	}
	out.TimeLimit = wire.Inf()
	if j.Nice != nil {
		out.Nice = int64(int32(*j.Nice)) // one below zero comes as a number without a sign
	}
	if j.TimeLimit != nil {
		out.TimeLimit = wire.Num(*j.TimeLimit)
	}
	if j.Resources != nil {
		out.JobResources = j.Resources.wire(out.CPUs.Value())
	}
	return out
}

// exit38 reads a wait status.
func exit38(status int64) wire.ExitCode {
	var e wire.ExitCode
	e.ReturnCode, e.Signal.ID = wire.Num(status>>8&0xff), wire.Num(status&0x7f)
	return e
}

// wire counts the cores of each node: what is told beside them is what steps use. cpus are all of the job's.
func (r *resources38) wire(cpus int64) *wire.JobResources {
	var out wire.JobResources
	threads := int64(1)
	if r.Cores > 0 {
		threads = max(1, cpus/r.Cores)
	}
	for _, n := range r.Nodes {
		var sockets map[string]struct{ Cores map[string]string }
		_ = json.Unmarshal(n.Sockets, &sockets) // another shape: cores stay unknown
		var node wire.JobNode
		node.Name, node.Memory.Allocated = n.Name, n.Memory
		for _, s := range sockets {
			node.CPUs.Count += int64(len(s.Cores)) * threads
		}
		out.Nodes.Allocation = append(out.Nodes.Allocation, node)
	}
	return &out
}

// dbJob38 is a job as slurmdbd recorded it.
type dbJob38 struct {
	wire.DBJob
	ExitCode        dbExit38        `json:"exit_code"`
	DerivedExitCode dbExit38        `json:"derived_exit_code"`
	Reservation     json.RawMessage `json:"reservation"` // its name is a number
	Steps           json.RawMessage `json:"steps"`       // not needed
}

type dbExit38 struct {
	ReturnCode wire.Number `json:"return_code"`
	Signal     struct {
		ID wire.Number `json:"signal_id"`
	} `json:"signal"`
}

func (j *dbJob38) wire() wire.DBJob {
	out := j.DBJob
	out.ExitCode.ReturnCode, out.ExitCode.Signal.ID = j.ExitCode.ReturnCode, j.ExitCode.Signal.ID
	out.DerivedExitCode.ReturnCode, out.DerivedExitCode.Signal.ID = j.DerivedExitCode.ReturnCode, j.DerivedExitCode.Signal.ID
	if out.State.Current.Has(wire.StateFailed) && out.ExitCode.ReturnCode.Value() == 0 && out.ExitCode.Signal.ID.Value() == 0 {
		out.ExitCode.ReturnCode = wire.Num(1) // 22.05.8 says 0 for all that exited
	}
	if !out.Time.Limit.Set {
		out.Time.Limit = wire.Inf()
	}
	allocated := out.TRES.Allocated[:0:0]
	for _, t := range out.TRES.Allocated {
		if t.Type != "energy" { // null where it was not measured
			allocated = append(allocated, t)
		}
	}
	out.TRES.Allocated = allocated
	return out
}

// node38 is a node: its state is one word in lower case, and flags apart from it.
type node38 struct {
	wire.Node
	Flags   wire.Strings `json:"state_flags"`
	Version string       `json:"slurmd_version"`
	FreeMem wire.Number  `json:"free_memory"`
}

func (n *node38) wire() wire.Node {
	out := n.Node
	out.Version, out.FreeMem, out.State = n.Version, n.FreeMem, nil
	for _, s := range append(n.Node.State, n.Flags...) {
		out.State = append(out.State, strings.ToUpper(s))
	}
	return out
}

// partition38 is a partition; all its fields are at one level. null and -1 say that there is no limit.
type partition38 struct {
	Name                 string       `json:"name"`
	Nodes                string       `json:"nodes"`
	State                string       `json:"state"`
	Flags                wire.Strings `json:"flags"`
	AllowedAccounts      string       `json:"allowed_accounts"`
	DeniedAccounts       string       `json:"denied_accounts"`
	AllowedGroups        string       `json:"allowed_groups"`
	AllowedQOS           string       `json:"allowed_qos"`
	DeniedQOS            string       `json:"denied_qos"`
	QOS                  string       `json:"qos"`
	DefaultMemoryPerCPU  wire.Number  `json:"default_memory_per_cpu"`
	DefaultMemoryPerNode wire.Number  `json:"default_memory_per_node"`
	DefaultTime          wire.Number  `json:"default_time_limit"`
	MaxTime              *int64       `json:"max_time_limit"`
	MaxNodes             *int64       `json:"maximum_nodes_per_job"`
	MinNodes             int64        `json:"min nodes per job"`
	Tier                 int64        `json:"priority_tier"`
	TotalNodes           int64        `json:"total_nodes"`
	TotalCPUs            int64        `json:"total_cpus"`
	TRES                 string       `json:"tres"`
}

func (p *partition38) wire() wire.Partition {
	var out wire.Partition
	out.Name, out.Nodes.Configured, out.Nodes.Total, out.CPUs.Total = p.Name, p.Nodes, p.TotalNodes, p.TotalCPUs
	out.Accounts.Allowed, out.Accounts.Deny, out.Groups.Allowed = p.AllowedAccounts, p.DeniedAccounts, p.AllowedGroups
	out.QOS.Allowed, out.QOS.Deny, out.QOS.Assigned = p.AllowedQOS, p.DeniedQOS, p.QOS
	out.Defaults.PartitionMemoryPerCPU, out.Defaults.PartitionMemoryPerNode = p.DefaultMemoryPerCPU, p.DefaultMemoryPerNode
	out.Defaults.Time = p.DefaultTime
	out.Maximums.Time, out.Maximums.Nodes = limit38(p.MaxTime), limit38(p.MaxNodes)
	out.Maximums.Shares, out.Maximums.OverSubscribe.Jobs = 1, 1 // not reported: Slurm's default, as 0 is EXCLUSIVE
	out.Minimums.Nodes, out.Priority.Tier, out.TRES.Configured = p.MinNodes, p.Tier, p.TRES
	out.Partition.State = wire.Strings{p.State}
	for _, f := range p.Flags {
		out.Flags = append(out.Flags, strings.ToUpper(f))
	}
	return out
}

func limit38(n *int64) wire.Number {
	if n == nil || *n < 0 {
		return wire.Inf()
	}
	return wire.Num(*n)
}

type reservation38 struct {
	wire.Reservation
	Watts wire.Int `json:"watts"`
}

type association38 struct {
	wire.Association
	IsDefault wire.Int `json:"is_default"`
}
