package cloud

import (
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/sbatch/gres"
)

// What is written to the records, as JSON. Fields are only ever added.

// jobRecord is an attempt that the site has taken.
type jobRecord struct {
	Job       federation.Job `json:"job"`
	Key       string         `json:"key"`
	Partition string         `json:"partition"`
	User      agentapi.User  `json:"user"`
	Wants     []want         `json:"wants"`              // one for each component
	Claim     int64          `json:"claim,omitempty"`    // their number
	Base      int            `json:"base,omitempty"`     // restarts by the federation
	Restarts  int            `json:"restarts,omitempty"` // and here
	Accepted  time.Time      `json:"accepted"`
	Expect    time.Duration  `json:"expect,omitempty"`    // how long it is expected to run
	Boots     int            `json:"boots,omitempty"`     // gangs that did not come up for it
	Runs      int            `json:"runs,omitempty"`      // runs that were named for it
	NotBefore time.Time      `json:"not_before,omitzero"` // after a requeue

	State    federation.State `json:"state"`
	Reason   reasons.Reason   `json:"reason,omitempty"`
	Detail   string           `json:"detail,omitempty"`
	Returned bool             `json:"returned,omitempty"`
	Start    time.Time        `json:"start,omitzero"`
	End      time.Time        `json:"end,omitzero"`
	Exit     int32            `json:"exit,omitempty"`
	Run      *runRecord       `json:"run,omitempty"` // the one that holds machines, else the last
	Steps    []agentapi.Step  `json:"steps,omitempty"`
	// Suspension is that of the last run.
	Suspension federation.Suspension `json:"suspension,omitzero"`
	// Earlier are the runs that a requeue has ended here.
	Earlier []federation.AttemptRun `json:"earlier,omitempty"`
	// Kept are the machines that stay its own while it waits for others; nil: none.
	Kept *kept `json:"kept,omitempty"`
	// Losses are the nodes that it has lost without its end.
	Losses []federation.NodeLoss `json:"losses,omitempty"`
}

// want is a decision.Claim as it is kept: what placement grants a component.
type want struct {
	Partition string           `json:"partition"`
	Offering  string           `json:"offering,omitempty"` // "": the cheapest
	Nodes     int              `json:"nodes,omitempty"`
	PerHour   federation.Money `json:"per_hour,omitempty"` // of so many nodes at most, if they are rented anew; 0: no bound
}

// runRecord is a job with the machines that it was given.
type runRecord struct {
	ID      string           `json:"id"`
	Members []member         `json:"members"`
	Taken   time.Time        `json:"taken,omitzero"` // when it was given its machines
	Stop    *agentapi.Stop   `json:"stop,omitempty"`
	End     *outcome         `json:"end,omitempty"`   // how it ends, once that is known; it has ended when nothing of it lives
	Price   federation.Money `json:"price,omitempty"` // by the hour
	// Gone are the nodes that it goes on without, Spent what it had cost at SpentTo, when it lost the last one.
	Gone    []string         `json:"gone,omitempty"`
	Spent   federation.Money `json:"spent,omitempty"`
	SpentTo time.Time        `json:"spent_to,omitzero"`
	Parts   []part           `json:"parts,omitempty"` // one for each component
}

// part is what a component holds, in Slurm's words.
type part struct {
	Nodes    string `json:"nodes"`
	TRES     string `json:"tres"`
	NumNodes int    `json:"num_nodes"`
	CPUs     int    `json:"cpus"`
	GPUs     int    `json:"gpus,omitempty"`
	GPUType  string `json:"gpu_type,omitempty"`
}

func (r *runRecord) part(group int) *part {
	if group < len(r.Parts) {
		return &r.Parts[group]
	}
	return &part{}
}

// member is what a run has of one machine. Members are in the order of groups and nodes: the first is the head.
type member struct {
	Machine MachineID         `json:"machine"`
	Name    string            `json:"name"`
	Group   int               `json:"group,omitempty"`
	Node    int               `json:"node,omitempty"`
	CPUs    int               `json:"cpus"`
	Mem     sbatch.MemMiB     `json:"mem,omitempty"`
	GPUs    []int             `json:"gpus,omitempty"`
	GRES    []gres.Resource   `json:"gres,omitempty"` // other than GPUs
	Tasks   int               `json:"tasks"`
	State   agentapi.RunState `json:"state,omitempty"` // what its agent said last; RunEnded also where that is proven otherwise
}

// outcome is how a run ends.
type outcome struct {
	State  federation.State `json:"state"` // PENDING: it is to run again
	Reason reasons.Reason   `json:"reason,omitempty"`
	Detail string           `json:"detail,omitempty"`
	Exit   int32            `json:"exit,omitempty"`
	At     time.Time        `json:"at"`
}

// gangRecord is a request for machines.
type gangRecord struct {
	Number   int64             `json:"number"`
	Token    string            `json:"token"`
	Pool     string            `json:"pool"`
	Offering provider.Offering `json:"offering"`
	Names    []string          `json:"names"`
	Near     bool              `json:"near,omitempty"`
	Asked    time.Time         `json:"asked"`
	Expires  time.Time         `json:"expires"` // its machines must have said hello
	State    gangState         `json:"state"`
	Why      string            `json:"why,omitempty"`
	Run      time.Duration     `json:"run,omitempty"`    // for how long its machines were asked for; 0: they stay
	Warm     bool              `json:"warm,omitempty"`   // it is of the pool's minimum: no job need wait for it
	Lives    int               `json:"lives,omitempty"`  // daemons that have taken it up while it was asked for
	Resume   string            `json:"resume,omitempty"` // how the provider goes on with a request that the cloud has queued
	// Servers are the daemons' addresses that its machines are told, where there are several: another daemon that asks again does so in the same words.
	Servers []string `json:"servers,omitempty"`
}

// coolRecord is a refusal that is remembered.
type coolRecord struct {
	Kind  provider.ErrorKind `json:"kind"`
	Text  string             `json:"text"`
	Until time.Time          `json:"until"`
	Times int                `json:"times"` // refusals one after the other
	// CPUs: of what shares a quota only machines with so many or more are not asked for. Smaller ones may be had still.
	CPUs int `json:"cpus,omitempty"`
}

type gangState string

const (
	gangAsked gangState = "asked" // Create may have been called
	gangMade  gangState = "made"  // its machines are in the records
	gangOver  gangState = "over"  // none of it is used any more
)

// machineRecord is a machine with what it has cost.
type machineRecord struct {
	Gang     string              `json:"gang"`
	Index    int                 `json:"index"`
	Pool     string              `json:"pool"`
	Name     string              `json:"name"`
	Instance provider.InstanceID `json:"instance"`
	Offering string              `json:"offering"`
	Market   provider.Market     `json:"market,omitempty"`
	Price    federation.Money    `json:"price"`           // per hour
	Least    time.Duration       `json:"least,omitempty"` // Offering.Least
	CPUs     int                 `json:"cpus,omitempty"`  // of the offering; 0 of a orphan, and in records of older versions
	GPUs     int                 `json:"gpus,omitempty"`
	GPUType  string              `json:"gpu_type,omitempty"`
	State    machineState        `json:"state"`
	User     string              `json:"user,omitempty"` // the only one whose jobs it may run
	Held     string              `json:"held,omitempty"` // why operators let it have no new jobs
	Addr     string              `json:"addr,omitempty"`
	Devices  []int               `json:"devices,omitempty"` // Instance.GPUs
	Steps    string              `json:"steps,omitempty"`
	Nonce    string              `json:"nonce,omitempty"`    // SHA-256 of what it introduced itself with
	Agent    string              `json:"agent,omitempty"`    // version
	Suspends bool                `json:"suspends,omitempty"` // its agent can suspend jobs

	// Silence is how long its jobs may live on without an answer: lease and KillWait, the longest that it was ever told. A daemon with shorter ones waits for it.
	Silence time.Duration `json:"silence,omitempty"`

	LastJob federation.JobID `json:"last_job,omitempty"`

	Created time.Time `json:"created"`
	Ready   time.Time `json:"ready,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Why     string    `json:"why,omitempty"` // it ended, or is to end

	Stray    bool             `json:"stray,omitempty"` // see driver.Machine
	Busy     time.Duration    `json:"busy,omitempty"`  // for how long jobs were charged for it that had it until BusyFrom
	BusyFrom time.Time        `json:"busy_from,omitzero"`
	Cost     federation.Money `json:"cost,omitempty"` // of its whole life; set at its end
	IdleCost federation.Money `json:"idle_cost,omitempty"`
	Meter    meter            `json:"meter,omitzero"`
}

type machineState string

const (
	machineAsked   machineState = "asked" // in memory only: the gang's record stands for it
	machineBooting machineState = "booting"
	machineUp      machineState = "up"
	machineEnding  machineState = "ending"
	machineEnded   machineState = "ended"
)
