package agentapi

import "time"

// Hello registers a machine. Its one-time token is in the Authorization header. The same Hello may
// be sent again after a lost reply; its Nonce identifies it. Status codes other than 200: 401 the
// token is not valid (any more) and the machine should end itself; 425 the daemon has not recorded
// the machine yet: try again soon.
type Hello struct {
	Instance string    `json:"instance"` // the provider's ID of the machine
	Nonce    string    `json:"nonce"`    // random, made by the agent at its start
	Version  string    `json:"version"`  // of the agent
	Steps    string    `json:"steps"`    // IP:PORT where it takes steps of srun from its gang; "" if it cannot
	Hostname string    `json:"hostname"`
	CPUs     int       `json:"cpus"`
	MemMiB   int64     `json:"mem_mib"`
	GPUs     []GPU     `json:"gpus,omitempty"`
	Booted   time.Time `json:"booted"`             // when the agent began
	Suspends bool      `json:"suspends,omitempty"` // it knows of Order.Suspend: agents of before there was that do not
}

// GPU is one accelerator that the machine has.
type GPU struct {
	Index int    `json:"index"`
	Type  string `json:"type,omitempty"`
	UUID  string `json:"uuid,omitempty"`
}

// Welcome is the answer to the first Hello with a good token.
type Welcome struct {
	Machine  string        `json:"machine"` // our ID of it
	Node     string        `json:"node"`    // the host name that it has from now on
	Session  string        `json:"session"` // the token of all further requests
	Lease    time.Duration `json:"lease"`   // without an answer for so long the machine ends itself
	PollWait time.Duration `json:"poll_wait"`
	Metadata string        `json:"metadata,omitempty"` // where the provider announces the machine's end: as in [Boot]; "" nowhere
	Epoch    int64         `json:"epoch,omitempty"`    // as in [Orders]
	Use      time.Duration `json:"use,omitempty"`      // how often the machine tells what its runs make use of; 0: not at all
	Beats    time.Duration `json:"beats,omitempty"`    // how often it tells the heartbeats of its runs; 0: every 20 seconds
}

// Poll asks for orders. The server holds it for up to Welcome.PollWait while the orders are still
// those of Version.
type Poll struct {
	Version uint64   `json:"version"` // of the Orders that the agent carries out; 0: none yet
	Known   []string `json:"known"`   // the runs whose Launch the agent has
	Signals uint64   `json:"signals"` // highest [Signal.Seq] that it has carried out
	// Missed are those of them whose step did not run.
	Missed []uint64 `json:"missed,omitempty"`
	// Problems are what the machine's health check has found last.
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is one thing that a machine's health check has found: a GPU that is lost, a disk that is full.
type Problem struct {
	Code string `json:"code"` // see federation/health/nodecheck
	Text string `json:"text"`
	// Device is the port that it is about: mlx5_3:1. An agent of before there were any does not tell it.
	Device string `json:"device,omitempty"`
}

// Orders are what a machine is to do.
type Orders struct {
	Version uint64 `json:"version"`
	// Daemon changes when the daemon restarts: it then knows only the steps in its records.
	Daemon string `json:"daemon,omitempty"`
	// Epoch is that of the lease under which the daemon leads others that share its database; 0: it is alone. An agent that has seen a newer one
	// refuses the orders, and they do not renew its lease: the daemon was frozen or cut off, and another one leads. 0 is never refused.
	Epoch int64         `json:"epoch,omitempty"`
	Lease time.Duration `json:"lease"`
	// Servers are the addresses of all daemons' agent servers by now, as in [Boot]; none: those that the agent knows.
	Servers []string `json:"servers,omitempty"`
	Runs    []Order  `json:"runs,omitempty"`
	Signals []Signal `json:"signals,omitempty"` // signals that the agent has yet to deliver
	// StepSignals are those to single steps, apart from the others: an agent of before there were
	// any is not to send them to all steps.
	StepSignals []Signal `json:"step_signals,omitempty"`
	// Streams are connections that the daemon waits for. An agent of before there were any does not make them.
	Streams []Stream `json:"streams,omitempty"`
	End     string   `json:"end,omitempty"` // why the machine is to end itself: "idle", ...; "" it stays
}

// Stream is a connection that the agent is to make to the daemon, once, at PathStream: somebody wants to speak to the step service of a run. The agent begins with a frame
// that describes the job ([fsub/cloud/steps/wire.JobInfo]); after that it passes on what comes from either side.
type Stream struct {
	ID  string `json:"id"` // good for one connection, of this machine
	Run string `json:"run"`
}

// Order is one run that the machine is to have. A run that the agent does not know and that comes
// without a Launch is not its to start.
type Order struct {
	Run    string  `json:"run"`
	Launch *Launch `json:"launch,omitempty"` // what the agent does not have yet
	Stop   *Stop   `json:"stop,omitempty"`   // end it
	// TimeLimit is the run's from now on; zero: that of its launch.
	TimeLimit time.Duration `json:"time_limit,omitempty"`
	// Suspend: its processes are stopped, on all machines of the gang, for as long as the orders
	// say so; its first machine sees to that. Its time limit does not run meanwhile. A Stop ends it
	// all the same.
	Suspend bool `json:"suspend,omitempty"`
	// Gone are nodes of the run that are lost, and that it goes on without: the first machine's agent counts them as lost in its steps, and places no other there. An agent of before
	// there were any hears of it when its connections break.
	Gone []string `json:"gone,omitempty"`
	// Ended: the run's end is recorded; the agent may forget it.
	Ended bool `json:"ended,omitempty"`
}

// Stop ends a run: SIGCONT and SIGTERM, and SIGKILL after Grace. With WhyPreempt another machine of
// the gang is taken after Grace, and the run is ended as at a notice of its own.
type Stop struct {
	Why   Why           `json:"why"`
	Grace time.Duration `json:"grace"`
}

// Signal is what scancel asks to be sent, as [fsub/federation.Signal] means it. Array tasks are
// runs of their own.
type Signal struct {
	Seq   uint64 `json:"seq"`
	Run   string `json:"run"`
	Name  string `json:"name"` // "USR1" or a number
	Batch bool   `json:"batch,omitempty"`
	Full  bool   `json:"full,omitempty"`
	// Step is the one step that is meant. With it an empty Name kills it, on behalf of the user By.
	Step string `json:"step,omitempty"`
	By   uint32 `json:"by,omitempty"`
}

// Report tells of runs and of the machine. The whole of each run that has changed; a status is sent
// again until it was answered.
type Report struct {
	Runs   []Status `json:"runs,omitempty"`
	Notice *Notice  `json:"notice,omitempty"`
	Load   *Load    `json:"load,omitempty"`
	Use    []InUse  `json:"use,omitempty"`   // of all runs that live on the machine
	Beats  []Beat   `json:"beats,omitempty"` // of those that have written heartbeats
	// Ending: the machine ends itself now, and why. Nothing runs on it any more.
	Ending string `json:"ending,omitempty"`
}

// RunState is how far a run is on one machine.
type RunState string

const (
	RunReady   RunState = "ready"   // prepared: its user, directory and step service are there. All that the further machines of a gang say
	RunRunning RunState = "running" // the batch script has begun
	RunEnded   RunState = "ended"   // nothing of it lives on this machine
)

// Why says what ended a run, if not its script by itself.
type Why string

const (
	WhyExit    Why = ""        // the script ended by itself
	WhyCancel  Why = "cancel"  // it was asked for
	WhyRequeue Why = "requeue" // it was asked for: the job is to run again
	WhyTimeout Why = "timeout"
	WhyPreempt Why = "preempt" // the provider takes the machine
	WhyMemory  Why = "memory"  // the kernel killed it at its memory limit
	WhyLaunch  Why = "launch"  // it never began: no such directory or user, output not writable. Status.Detail says what
	WhyNode    Why = "node"    // the machine, or another of its gang, failed
	WhyLease   Why = "lease"   // the daemon was not heard for as long as the lease
)

// Status is a run on one machine.
type Status struct {
	Run   string    `json:"run"`
	State RunState  `json:"state"`
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
	// Exit is how the batch script ended, as wait(2) gives it: exit code << 8 | signal. Only the
	// first machine of a gang has it.
	Exit   int32  `json:"exit,omitempty"`
	Why    Why    `json:"why,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Steps are the batch step and srun's, of the whole gang; on its first machine. For a run that
	// has ended they are all of them, before that the new ones and those that changed since the last report.
	Steps []Step `json:"steps,omitempty"`
}

// Step is one step of a run: "batch", or a number as srun gives it.
type Step struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	State   string    `json:"state"` // RUNNING, COMPLETED, FAILED, CANCELLED, ...
	Nodes   string    `json:"nodes"` // hostlist
	Tasks   int       `json:"tasks"`
	CPUs    int       `json:"cpus"`          // on all its nodes, as the others
	Mem     int64     `json:"mem,omitempty"` // MiB
	GPUs    int       `json:"gpus,omitempty"`
	GPUType string    `json:"gpu_type,omitempty"`
	Layout  string    `json:"layout,omitempty"` // how tasks were spread over nodes: "Block", "Cyclic"
	Start   time.Time `json:"start,omitzero"`
	End     time.Time `json:"end,omitzero"`
	Exit    int32     `json:"exit"`
	Used    Used      `json:"used"`
	// Limit is its own time limit, SrunHost and SrunPID are the srun that it was started with.
	Limit    time.Duration `json:"limit,omitempty"`
	SrunHost string        `json:"srun_host,omitempty"`
	SrunPID  int           `json:"srun_pid,omitempty"`
	// CancelledBy is the uid of the user who cancelled this step alone, by scancel.
	CancelledBy *uint32 `json:"cancelled_by,omitempty"`
	// Suspended is for how long its job was suspended since its start, as often as it was resumed.
	Suspended time.Duration `json:"suspended,omitempty"`
}

// Used is what processes have used.
type Used struct {
	User     time.Duration `json:"user"` // CPU time
	System   time.Duration `json:"system"`
	MaxRSS   int64         `json:"max_rss"`            // bytes, the most that one task had at one time
	MaxNode  string        `json:"max_node"`           // where that was
	MaxTask  int           `json:"max_task,omitempty"` // which
	RSS      int64         `json:"rss,omitempty"`      // the same of all tasks together; 0: there is one task
	Read     int64         `json:"read"`               // bytes
	Written  int64         `json:"written"`
	GPUMem   int64         `json:"gpu_mem,omitempty"`   // bytes, most at one time
	GPUUtil  float64       `json:"gpu_util,omitempty"`  // percent, on average
	GPUHours float64       `json:"gpu_hours,omitempty"` // busy
}

// Notice is what the provider has announced.
type Notice struct {
	Kind NoticeKind `json:"kind"`
	At   time.Time  `json:"at"` // when the machine goes
}

// NoticeKind is a kind of notice.
type NoticeKind string

const (
	NoticePreempt   NoticeKind = "preempt"   // the machine ends at At
	NoticeRebalance NoticeKind = "rebalance" // it is more likely to than others
)

// Load is the machine as a whole.
type Load struct {
	Load1  float64 `json:"load1"`
	FreeMi int64   `json:"free_mib"`
}

// InUse is how busy a run keeps its part of the machine.
type InUse struct {
	Run  string        `json:"run"`
	CPU  time.Duration `json:"cpu"` // that its processes have used so far, as far as it is known: it may become less when steps end
	CPUs int           `json:"cpus"`
	GPUs int           `json:"gpus,omitempty"`
	GPU  *float64      `json:"gpu,omitempty"` // percent of these, on average since it was told last; nil: not known
}

// Beat is the heartbeat of a run on its machine (#FSUB --heartbeat).
type Beat struct {
	Run  string        `json:"run"`
	Node int           `json:"node,omitempty"` // which of the run's nodes the machine is
	Step int64         `json:"step,omitempty"` // the last that was written; 0: none was
	Age  time.Duration `json:"age"`            // how long ago that was
	Work time.Duration `json:"work,omitempty"` // what a step took without waiting for others, on average since it was told last; 0: the file does not say
}

// LogSize is the answer to a piece of output: how much the daemon has now. With 409 there was a gap
// before the piece, and the agent goes on from Size.
type LogSize struct {
	Size int64 `json:"size"`
}
