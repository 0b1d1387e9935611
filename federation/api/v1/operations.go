package v1

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/reasons"
	"fsub/federation/spending"
	"fsub/sbatch"
	"fsub/sbatch/bounded"
)

// JobLine is a job as lists show it. Of an array one line tells of the tasks that wait, and each other task has a line of its own.
type JobLine struct {
	ID      federation.JobID `json:"job_id"`
	Array   federation.JobID `json:"array_job_id,omitempty"` // it is a task of, or the rest of
	Tasks   string           `json:"array_tasks,omitempty"`  // its index, or those that wait: "3-7"
	User    string           `json:"user"`
	Account string           `json:"account,omitempty"`
	// TreeAccount is the account of the federation's tree that it was submitted under, whose coordinators may act on it.
	TreeAccount string              `json:"tree_account,omitempty"`
	Name        string              `json:"name"`
	Group       string              `json:"group,omitempty"`
	State       federation.State    `json:"state"`
	Reason      reasons.Reason      `json:"reason,omitempty"`
	Site        federation.SiteName `json:"site,omitempty"` // none: it waits in the federation's queue
	Partition   string              `json:"partition,omitempty"`
	Nodes       string              `json:"nodes,omitempty"`
	Submit      time.Time           `json:"submit"`
	Start       *time.Time          `json:"start,omitempty"`
	End         *time.Time          `json:"end,omitempty"`
	Restarts    int                 `json:"restarts,omitempty"`

	Cost     federation.Money   `json:"cost_usd"`           // of its runs that have ended
	Spending *spending.Spending `json:"spending,omitempty"` // what it has come to, and may come to, while it runs
}

// JobQuery chooses jobs; without conditions, all that have not ended.
type JobQuery struct {
	Where []string `query:"where" doc:"KEY=VALUE[,VALUE...], KEY!=VALUE[,VALUE...], age>TIME or age<TIME; keys: id, state, user, account, group, site, partition, node, gpu, reason, name, age; may be repeated" flag:"where" split:"no" usage:"choose jobs: site=alpha, node=alpha/n[1-4], state=running, 'age>2h' ...; may be repeated"`
	Sort  string   `query:"sort" enum:"id,-id,submit,-submit,priority,-priority,state,-state,user,-user,account,-account,site,-site,start,-start,cost,-cost" doc:"the order of a page; with - before it from the last to the first. Jobs that have ended are in order of id only"`
}

// Jobs are the jobs of all sites. The daemon writes the whole list as it reads it, in order of ID; a page has its own order.
var Jobs = Noun[JobLine, JobQuery]{
	Path: "/fed/v1/jobs", Who: ForAnybody, Doc: "The jobs that conditions choose; those that have ended only where a state says so",
	Columns: []Column[JobLine]{
		{"JOBID", func(x *JobLine) string { return x.Ref() }},
		{"USER", func(x *JobLine) string { return x.User }},
		{"ACCOUNT", func(x *JobLine) string { return x.Account }},
		{"NAME", func(x *JobLine) string { return strings.ReplaceAll(x.Name, "\t", " ") }},
		{"STATE", func(x *JobLine) string { return string(x.State) }},
		{"REASON", func(x *JobLine) string { return x.Why() }},
		{"SITE", func(x *JobLine) string { return string(x.Site) }},
		{"PARTITION", func(x *JobLine) string { return x.Partition }},
		{"NODES", func(x *JobLine) string { return x.Nodes }},
		{"AGE", func(x *JobLine) string { return since(x.Submit) }},
		{"RESTARTS", func(x *JobLine) string { return strconv.Itoa(x.Restarts) }},
		{"COST", func(x *JobLine) string { return x.shownCost() }},
	},
	More: []Column[JobLine]{
		{"GROUP", func(x *JobLine) string { return x.Group }},
		{"MOST", func(x *JobLine) string { return x.shownMost() }},
	},
	Sort: map[string]func(a, b *JobLine) int{
		"JOBID": func(a, b *JobLine) int { return cmp.Compare(a.ID, b.ID) },
		"AGE":   func(a, b *JobLine) int { return b.Submit.Compare(a.Submit) },
		"COST":  func(a, b *JobLine) int { return cmp.Compare(a.cost(), b.cost()) },
	},
}

// Ref is the job as squeue names it: an array with those of its tasks that wait, a task by its index.
func (j *JobLine) Ref() string {
	switch {
	case j.Array == j.ID:
		return fmt.Sprintf("%d_[%s]", j.ID, j.Tasks)
	case j.Array != 0:
		return fmt.Sprintf("%d_%s", j.Array, j.Tasks)
	}
	return j.ID.String()
}

// Why is why it waits or ended so; "" if there is nothing to say.
func (j *JobLine) Why() string { return strings.TrimPrefix(string(j.Reason), "None") }

// cost is what a job has cost so far.
func (j *JobLine) cost() federation.Money {
	if j.Spending != nil {
		return j.Spending.SoFar
	}
	return j.Cost
}

// shownCost is empty for a job that has not run yet.
func (j *JobLine) shownCost() string {
	if j.Cost == 0 && j.Spending == nil && !j.State.Ended() {
		return ""
	}
	return j.cost().USD()
}

// shownMost is what a running job may cost by its time limit; empty if nothing bounds it.
func (j *JobLine) shownMost() string {
	if j.Spending == nil || j.Spending.AtMost == 0 {
		return ""
	}
	return j.Spending.AtMost.USD()
}

// NewOperation asks that one thing be done to many jobs. Which they are is written down at once; each gets it once, whatever crashes. Conditions may choose a million
// jobs that have not ended, and 100,000 others.
type NewOperation struct {
	// Verb is hold, release, requeue, requeuehold, cancel, update or move.
	Verb action.Kind `json:"verb"`
	// Where chooses the jobs, as of GET /fed/v1/jobs; all conditions must be met.
	Where []string `json:"where,omitempty"`
	// Jobs: only these of them, as a preview has shown them. None: all that Where chooses when the operation is written down.
	Jobs []federation.JobID `json:"jobs,omitempty"`
	// Last: none with a higher number, as a preview of very many has it.
	Last   federation.JobID                            `json:"last,omitempty"`
	Change bounded.Slice[sbatch.Change, bounded.Named] `json:"change,omitempty"` // of update
	To     []federation.SiteName                       `json:"to,omitempty"`     // of move: to one of these sites; none: away from where it is
	Queued bool                                        `json:"queued,omitempty"` // of move: jobs that have started stay where they are
	Now    bool                                        `json:"now,omitempty"`    // of move: jobs that run are cancelled at once; else those with --signal get that first, and the time that it says
	Force  bool                                        `json:"force,omitempty"`  // of move: though none of the sites can run the job
	Why    string                                      `json:"why,omitempty"`
	Ticket string                                      `json:"ticket,omitempty"`
	// Preview: nothing is done; the answer tells of which jobs it would be. An operation of the caller that asks for the same, and whose end he
	// has not read yet, is the answer instead: it goes on, or went on without him.
	Preview bool `json:"preview,omitempty"`
}

// Operation is how an operation stands.
type Operation struct {
	ID      action.OperationID `json:"id,omitempty"` // none: a preview
	Time    time.Time          `json:"time"`
	User    string             `json:"user"`
	Verb    action.Kind        `json:"verb"`
	Command string             `json:"command,omitempty"`
	Why     string             `json:"why,omitempty"`
	Ticket  string             `json:"ticket,omitempty"`
	Jobs    int                `json:"jobs"`
	Settled int                `json:"settled"`           // so many of them are done, or will not be
	Failed  int                `json:"failed"`            // so many of these will not be
	Ended   *time.Time         `json:"ended,omitempty"`   // all are settled
	Waiting []string           `json:"waiting,omitempty"` // what it waits for: sites that do not answer
	// AskAbove: people are asked first where there are more jobs.
	AskAbove int `json:"ask_above,omitempty"`
	// Items are those of a preview, of very many jobs the first thousand, and then Last is the highest number; else those settled after the n-th, in order, at most 10,000.
	Items []OperationItem  `json:"items,omitempty"`
	Last  federation.JobID `json:"last,omitempty"`
}

// OperationItem is one job of an operation.
type OperationItem struct {
	N       int                 `json:"n"`
	Settled int                 `json:"settled,omitempty"` // it was the n-th; none: not yet
	Job     string              `json:"job"`               // as squeue names it: 30000001, 30000001_7, 30000001_[3-5]
	ID      federation.JobID    `json:"job_id"`
	User    string              `json:"user,omitempty"` // in a preview, like the next three
	Name    string              `json:"name,omitempty"`
	State   federation.State    `json:"state,omitempty"`
	Nodes   string              `json:"nodes,omitempty"`
	Site    federation.SiteName `json:"site,omitempty"` // where it was when it was chosen
	Failed  bool                `json:"failed,omitempty"`
	Note    string              `json:"note,omitempty"` // why it failed, or what else is to be said
}

// Operations are the newest operations on many jobs.
var Operations = Noun[Operation, None]{
	Key:  func(x *Operation) string { return numberKey(x.ID) },
	Path: "/fed/v1/operations", Who: ForOwners, Doc: "The newest operations on many jobs, oldest first; a user's own, an operator all",
	Columns: []Column[Operation]{
		{"ID", func(x *Operation) string { return x.ID.String() }},
		{"TIME", func(x *Operation) string { return moment(x.Time) }},
		{"USER", func(x *Operation) string { return x.User }},
		{"COMMAND", func(x *Operation) string { return x.Command }},
		{"JOBS", func(x *Operation) string { return strconv.Itoa(x.Jobs) }},
		{"SETTLED", func(x *Operation) string { return strconv.Itoa(x.Settled) }},
		{"FAILED", func(x *Operation) string { return strconv.Itoa(x.Failed) }},
		{"ENDED", func(x *Operation) string { return x.ended() }},
		{"WAITS FOR", func(x *Operation) string { return strings.Join(x.Waiting, ", ") }},
	},
}

func (o *Operation) ended() string {
	if o.Ended == nil {
		return ""
	}
	return moment(*o.Ended)
}
