// Package v1 holds the JSON shapes of /fed/v1, the part of the daemon's API that Slurm has no word for. It is pure, so
// that the small client binary can have it without net/http. Which path takes and gives which of them is in api/routes.go, and is
// served as an OpenAPI document at /fed/v1/openapi.json, with the comments that stand here (comments.json: written anew by
// "go test ./federation/api -run TestComments -api.update").
package v1

import (
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/heartbeat"
	"fsub/federation/idle"
	"fsub/federation/spending"
	"fsub/federation/stored"
	"fsub/sbatch"
	"fsub/sbatch/bounded"
	"fsub/sbatch/getopt"
)

// SubmitRequest is a new job as fsub sends it.
type SubmitRequest struct {
	Spec       sbatch.Spec    `json:"spec"`
	Payload    sbatch.Payload `json:"payload"`
	SubmitHost string         `json:"submit_host,omitempty"`
	TestOnly   bool           `json:"test_only,omitempty"` // tell when it would start, and store nothing
	Explain    bool           `json:"explain,omitempty"`   // with test_only: tell also why, and why not elsewhere
	// Call: the daemon reads options, script and environment by sbatch's rules, for programs that cannot. There is no spec then, and the payload's script and
	// environment are the caller's own.
	Call *Call `json:"call,omitempty"`
}

// Call is a call of sbatch, as one would type it.
type Call struct {
	// Args are options. Those that name files, as --export-file, are refused: the daemon reads none.
	Args      []string         `json:"args,omitempty"`
	Script    string           `json:"script,omitempty"`     // absolute path of the script, of which the payload has text and arguments; "": it came from standard input
	Dir       string           `json:"dir"`                  // absolute: where the call is made
	UTCOffset int              `json:"utc_offset,omitempty"` // seconds east of UTC: --begin=16:00 is meant there
	Umask     int              `json:"umask,omitempty"`
	Nice      int              `json:"nice,omitempty"`   // of the calling process
	Limits    map[string]int64 `json:"limits,omitempty"` // its soft limits, in Slurm's names, as NOFILE; negative: none
}

// PayloadResponse is a job's payload. JSON strings cannot hold bytes that are no UTF-8: a script with such bytes is in Bytes too, as it is.
type PayloadResponse struct {
	sbatch.Payload
	Bytes []byte `json:"script_bytes,omitempty"`
}

// Exact puts the script into the payload as it was submitted.
func (r *PayloadResponse) Exact() *sbatch.Payload {
	if r.Bytes != nil {
		r.Script = string(r.Bytes)
	}
	return &r.Payload
}

// SubmitResponse is the answer to a submission. If JobID is not 0 the job is durable, whatever else is said.
type SubmitResponse struct {
	JobID federation.JobID `json:"job_id,omitempty"`
	// Mark is a mark of the log of changes from before the job: GET /fed/v1/events?after=MARK misses nothing of it. It is missing where the job had been submitted before,
	// under the same key, and while the daemon has not read its queue: read the job then.
	Mark  int64  `json:"mark,omitempty"`
	Error *Error `json:"error,omitempty"`
	// Array is which tasks a call asked for, as it was written: "0-9%3". "": none.
	Array string `json:"array,omitempty"`
	// Cluster is the site that --clusters has chosen: what "Submitted batch job N on cluster C" says. "" without that option.
	Cluster string `json:"cluster,omitempty"`
	// Warnings are sentences that the command prints as errors, although it goes on: clusters that nobody knows.
	Warnings []string `json:"warnings,omitempty"`
	// Note is one sentence for people about a job that was accepted: that no mail will come of it.
	Note string `json:"note,omitempty"`
	// Message is the answer to TestOnly, and JobID is 0 then: "Job N to start at ..." with the time in the daemon's zone.
	Message string `json:"message,omitempty"`
	// Place is what Message does not tell: the site, what the job would come to there, and how long it would wait.
	Place string `json:"place,omitempty"`
	// Explanation is the answer to Explain, what fed explain would say of the job: lines for people.
	Explanation string `json:"explanation,omitempty"`
	// Decision is the answer to Explain for programs: where the job may run, by the queue as it is, the chosen place first, then the cheapest, eight at most; and why it may not run elsewhere.
	Decision *decision.Decision `json:"decision,omitempty"`
	// Start is when it would start at the chosen place; nothing where nobody knows.
	Start *decision.Start `json:"start,omitempty"`
}

// Error is why something was refused. Text is Slurm's sentence where Slurm has one: what follows
// "Batch job submission failed: ". Every answer with an HTTP status of 400 and above has this shape under "error".
type Error struct {
	Number int    `json:"number,omitempty"` // Slurm's error number
	Said   string `json:"said,omitempty"`   // what slurmctld says to the user before the sentence; one line or several
	Text   string `json:"text"`
	Detail string `json:"detail,omitempty"` // what to look at, for people: one line
	Alone  bool   `json:"alone,omitempty"`  // Text is not to be put after "Batch job submission failed: "
	// Lines are the lines of a batch that are refused, the first of them; Detail tells of the first.
	Lines []LineError `json:"lines,omitempty"`
}

// ErrorResponse is the body of a refused call.
type ErrorResponse struct {
	Error Error `json:"error"`
}

// JobRecord is all that the daemon has written down of one job.
type JobRecord struct {
	Job      Job            `json:"job"`
	Tasks    []Task         `json:"tasks,omitempty"`    // of an array, in order of their index
	Attempts []Attempt      `json:"attempts,omitempty"` // in order
	Events   []HistoryEntry `json:"events,omitempty"`   // in order
	// Spending is what a job that runs has come to, and may come to; cost_usd is of runs that have ended.
	Spending *spending.Spending `json:"spending,omitempty"`
}

// Explanation is why a job is where it is: what placement said when it was bound, or says now if it waits.
type Explanation struct {
	Job      Job               `json:"job"`
	Decision decision.Decision `json:"decision"`
	// Chosen is what the newest attempt was bound for; nil while the job waits.
	Chosen *decision.Offer `json:"chosen,omitempty"`
	// Start is when and where a waiting job is expected to start; nil where nothing says when.
	Start *decision.Start `json:"start,omitempty"`
	// Components are what placement says of each component of a heterogeneous job that waits, if it were a job of its own. Those start together.
	Components []decision.Decision `json:"components,omitempty"`
	// Waits are what keeps a job from being sent to a site, whatever is free: the most important first. A job that has any does not wait for nodes.
	Waits []decision.Wait `json:"waits,omitempty"`
	// Holdbacks are what of the account tree keeps a waiting job back.
	Holdbacks []decision.Holdback `json:"holdbacks,omitempty"`
	// KeptOff are the switches and blocks that a waiting job of several nodes is kept off, since failures of such jobs were laid to them.
	KeptOff []decision.KeptOff `json:"kept_off,omitempty"`
	// Sooner is what would have a waiting job start sooner.
	Sooner []decision.Sooner `json:"sooner,omitempty"`
	// Priority is what a waiting job's place in the queue is made of.
	Priority []decision.PriorityPart `json:"priority,omitempty"`
	// PathSeconds is how long the longest path of its workflow is expected to take from a waiting job on, the job included, where that matters to the job's place in the queue.
	PathSeconds int64 `json:"path_seconds,omitempty"`
	// Spending is what a job that runs has come to, and may come to.
	Spending *spending.Spending `json:"spending,omitempty"`
	Moved    *decision.Moved    `json:"moved,omitempty"` // the newest move of the running job that the planner has decided
	Stays    string             `json:"stays,omitempty"` // why the running job is not moved from a node that is drained with move
	Idle     *idle.Record       `json:"idle,omitempty"`  // its newest attempt has left idle what it holds, and who was told
	// Heartbeat is what the heartbeats of its newest attempt have shown.
	Heartbeat *heartbeat.Record `json:"heartbeat,omitempty"`
	Now       time.Time         `json:"now"`
}

// ActRequest asks that something be done with jobs. For operators Force skips nothing: rights come from the caller alone.
type ActRequest struct {
	Jobs   bounded.Slice[JobRef, bounded.Named]        `json:"jobs"`
	Signal stored.Signal                               `json:"signal,omitzero"`   // for /jobs/signal
	Change bounded.Slice[sbatch.Change, bounded.Named] `json:"change,omitempty"`  // for /jobs/update
	AsUser bool                                        `json:"as_user,omitempty"` // for /jobs/hold: an operator's hold that the job's owner may release
}

// JobRef names a job, or some tasks of an array.
type JobRef struct {
	ID federation.JobID `json:"id"`
	// Tasks are indices of the array's tasks: a list of numbers, or a text such as "0-99,200".
	Tasks federation.TaskSet `json:"tasks,omitzero"`
}

// ActResponse has one result for each reference of the request, in its order. The actions are durable when it arrives.
type ActResponse struct {
	Results []ActResult `json:"results"`
}

// ActResult is the outcome for one reference; Error is nil if it was accepted.
type ActResult struct {
	ID    federation.JobID `json:"id"`
	Error *Error           `json:"error,omitempty"`
	// Tasks are there where it was accepted for some tasks of an array and refused for others, or refused for different reasons: all of those that were meant.
	Tasks []TaskResult `json:"tasks,omitempty"`
}

// TaskResult is the outcome for some tasks of an array, "0-3,7".
type TaskResult struct {
	Tasks string `json:"tasks"`
	Error *Error `json:"error,omitempty"`
}

// Site is one member of the federation for people and programs.
type Site struct {
	Name       federation.SiteName `json:"name"`
	State      federation.FedState `json:"state"`
	StateWhy   string              `json:"state_reason,omitempty"`
	Answering  bool                `json:"answering"`
	Error      string              `json:"error,omitempty"` // why it does not answer, and what to do
	ErrorSince time.Time           `json:"error_since,omitzero"`
	NextTry    time.Time           `json:"next_try,omitzero"` // while it does not answer: when it is asked again
	Lost       time.Time           `json:"lost,omitzero"`     // when an operator said that it is gone
	Conditions []Condition         `json:"conditions"`        // what is wrong with it, the worst first
	Seen       time.Time           `json:"seen,omitzero"`     // time of the last good look
	Cluster    string              `json:"cluster,omitempty"`
	Version    string              `json:"version,omitempty"`
	Mode       federation.Mode     `json:"mode,omitempty"`
	Nodes      int                 `json:"nodes"` // of a rented pool as many as it may have, whatever there is to choose from
	NodesIdle  int                 `json:"nodes_idle"`
	GPUs       int                 `json:"gpus"`
	GPUsFree   int                 `json:"gpus_free"`
	// JobsIdleHeld are jobs that run and leave idle what they hold, by the rule of health idle-held, and GPUsIdleHeld the GPUs that they hold.
	JobsIdleHeld int        `json:"jobs_idle_held,omitempty"`
	GPUsIdleHeld int        `json:"gpus_idle_held,omitempty"`
	Fragments    []FreeGPUs `json:"fragments,omitempty"` // how whole the free GPUs are, by type; none: that is not known
	Running      int        `json:"running"`             // jobs of ours
	Bound        int        `json:"bound"`               // jobs of ours that wait there
	Warnings     []string   `json:"warnings,omitempty"`
	// Interactive: users get inside their jobs there: fed attach, srun, salloc.
	Interactive bool `json:"interactive"`
	// CallsPerSecond is how often the daemon may call the site at the most, and CallsUsed how much of that is used now: 0 to 1.
	CallsPerSecond float64 `json:"calls_per_second,omitempty"`
	CallsUsed      float64 `json:"calls_used,omitempty"`
}

// FreeGPUs is how whole the free GPUs of one type are at a site.
type FreeGPUs struct {
	Type     string `json:"type"`      // "gpu": the site tells none
	Free     int    `json:"free"`      // on nodes that take jobs
	OnNodes  int    `json:"on_nodes"`  // of these, on nodes that are free as a whole
	OnLeaves int    `json:"on_leaves"` // on leaves of which all nodes that take jobs are free
	OnBlocks int    `json:"on_blocks"` // on what is right above leaves, likewise
	Leaves   int    `json:"leaves"`    // leaves with such GPUs; 0: the site tells of none
	Blocks   int    `json:"blocks"`    // what is right above these, likewise
	// Fragmented is the share of the free ones that jobs of the sizes asked for lately cannot take: 0 to 1.
	Fragmented float64 `json:"fragmented"`
}

// PluginOption is an option that plugins of some sites add to sbatch's.
type PluginOption struct {
	Name  string                `json:"name"`            // long, without dashes
	Short string                `json:"short,omitempty"` // one letter
	Value federation.TakesWhat  `json:"value"`           // "optional" also where sites differ
	Sites []federation.SiteName `json:"sites"`
}

// Plugin is the option as package sbatch reads it.
func (o *PluginOption) Plugin() sbatch.Plugin {
	p := sbatch.Plugin{Name: o.Name, Short: o.Short, Arg: getopt.RequiredArg}
	switch o.Value {
	case federation.TakesNoValue:
		p.Arg = getopt.NoArg
	case federation.MayTakeValue:
		p.Arg = getopt.OptionalArg
	}
	return p
}

// PluginOptions are the options that plugins of sites add to sbatch's.
var PluginOptions = Noun[PluginOption, None]{Key: func(x *PluginOption) string { return key(x.Name) }, Path: "/fed/v1/options", Who: ForAnybody, Doc: "Options that plugins of sites add to sbatch's"}
