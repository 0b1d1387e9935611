package v1

import (
	"time"

	"fsub/federation"
	"fsub/sbatch/bounded"
)

// Health is what the rules of health know: the rules in force, the nodes of which something is remembered, and the breakers that have counted anything.
type Health struct {
	Breakers []HealthBreaker `json:"breakers"`
	Nodes    []HealthNode    `json:"nodes"`
	Rules    []HealthRule    `json:"rules"`
	Faults   []Fault         `json:"faults"`
}

// Fault is something that keeps the daemon from its work, or will.
type Fault struct {
	Name  string    `json:"name"` // disk, site NAME CONDITION, jobs aside
	Text  string    `json:"text"`
	Since time.Time `json:"since"`
}

// HealthRule is a rule in force.
type HealthRule struct {
	Name   string  `json:"name"`
	Action string  `json:"action"`                // off, notify, suspect, drain; of rules about jobs hold or end
	Needs  string  `json:"needs"`                 // what must have been seen
	What   string  `json:"what"`                  // what that means
	For    float64 `json:"for_seconds,omitempty"` // how long a suspicion lasts, or how long a job is idle before somebody is told
	Limit  int     `json:"limit,omitempty"`       // nodes of a pool that it drains within an hour, at most
}

// HealthNode is what is remembered of a node.
type HealthNode struct {
	Site      federation.SiteName `json:"site"`
	Name      string              `json:"name"`
	Failures  int                 `json:"failures"`                  // that were its own, of those that are remembered
	Last      *time.Time          `json:"last_time,omitempty"`       // of them
	Suspected *time.Time          `json:"suspected_until,omitempty"` // it is avoided until then
	Rule      string              `json:"rule,omitempty"`            // by which it is suspected
	Why       string              `json:"why,omitempty"`             // it is so, or its last failure
	Drained   string              `json:"drained_by,omitempty"`      // the rule that has drained it
	Denied    string              `json:"denied,omitempty"`          // a rule that may not do with it as it says
}

// HealthBreaker counts what a rule drains, or all rules at a site ("site:NAME"). While it is open nothing is drained by it. That of a switch or block ("part:SITE/NAME")
// or rail ("part:SITE/NAME:PORT") keeps gangs off it while it is open.
type HealthBreaker struct {
	Name  string     `json:"name"`
	Open  bool       `json:"open"`
	Since *time.Time `json:"since,omitempty"`
	Until *time.Time `json:"until,omitempty"` // it closes by itself then; none: an operator closes it
	Why   string     `json:"why,omitempty"`
}

// HealthFinding is what a rule has said.
type HealthFinding struct {
	Seq    int64               `json:"seq"` // increases
	Time   time.Time           `json:"time"`
	Rule   string              `json:"rule"`
	Action string              `json:"action"`
	Site   federation.SiteName `json:"site,omitempty"`
	Node   string              `json:"node,omitempty"`
	Job    federation.JobID    `json:"job_id,omitempty"`
	Why    string              `json:"why"`
	Denied string              `json:"denied,omitempty"` // why it was not done
}

// ResetHealth closes breakers.
type ResetHealth struct {
	Breaker string `json:"breaker,omitempty"` // none: all that are open
}

// ResetHealthResponse names the breakers that are closed now.
type ResetHealthResponse struct {
	Breakers []string `json:"breakers"`
}

// HealthCheck is what a node's health check has found.
type HealthCheck struct {
	Node     string                                      `json:"node"` // SITE/NAME
	Findings bounded.Slice[HealthProblem, bounded.Named] `json:"findings"`
}

// HealthProblem is one thing that a health check has found.
type HealthProblem struct {
	Code string `json:"code"` // check-gpu, check-link, check-disk or check-clock
	Text string `json:"text"`
	// Device is the port that it is about, as NCCL names it: mlx5_3:1. Ports of one name that go down on many nodes are laid to a rail.
	Device string `json:"device,omitempty"`
}

// HealthQuery is how many findings are listed.
type HealthQuery struct {
	Limit int    `query:"limit" min:"1" doc:"maximum number of findings; 200 if not given. Without sort and cursor they are the newest" flag:"limit,n" usage:"maximum number of lines, the newest" default:"200"`
	Sort  string `query:"sort" enum:"time,-time" doc:"the order of the page, which begins at its first; without it time, and the page is the last of it"`
}

// HealthFindings are what the rules of health have said.
var HealthFindings = Noun[HealthFinding, HealthQuery]{
	Key: func(x *HealthFinding) string { return numberKey(x.Seq) }, Logged: true,
	Path: "/fed/v1/health/history", Who: ForAnybody, Doc: "What the rules of health have said, oldest first",
	Columns: []Column[HealthFinding]{
		{"TIME", func(x *HealthFinding) string { return moment(x.Time) }},
		{"RULE", func(x *HealthFinding) string { return x.Rule }},
		{"ACTION", func(x *HealthFinding) string { return x.Action }},
		{"OBJECT", func(x *HealthFinding) string { return x.object() }},
		{"WHY", func(x *HealthFinding) string { return x.Why }},
		{"NOT DONE", func(x *HealthFinding) string { return x.Denied }},
	},
}

func (f *HealthFinding) object() string {
	switch {
	case f.Job != 0:
		return "job " + f.Job.String()
	case f.Node != "" && (f.Rule == "bad-part" || f.Rule == "bad-rail"):
		return "part " + string(f.Site) + "/" + f.Node
	case f.Node != "":
		return "node " + string(f.Site) + "/" + f.Node
	}
	return ""
}
