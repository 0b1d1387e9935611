package v1

import (
	"fmt"

	"fsub/federation"
	"fsub/federation/reasons"
)

// SummaryQuery says what is counted.
type SummaryQuery struct {
	By    string   `query:"by" doc:"state, site, reason, user, account, group: what to tell apart, with commas. Not set: state"`
	Where []string `query:"where" doc:"conditions as of GET /fed/v1/jobs, on these same keys; may be repeated"`
	All   bool     `query:"all" doc:"where a state says that jobs which have ended are meant: those too that ended long ago. They are counted in the database, which takes a second for some hundred thousand"`
	Limit int      `query:"limit" min:"1" max:"10000" doc:"maximum number of counts, those of the most tasks; without it 1000"`
}

// JobCount is how many jobs have what is told apart in common. What is not told apart is missing.
type JobCount struct {
	State   federation.State    `json:"state,omitempty"`
	Site    federation.SiteName `json:"site,omitempty"` // none: they wait in the federation's queue
	Reason  reasons.Reason      `json:"reason,omitempty"`
	User    string              `json:"user,omitempty"`
	Account string              `json:"account,omitempty"`
	Group   string              `json:"group,omitempty"` // none: they are in no group
	Jobs    int64               `json:"jobs"`            // lines of GET /fed/v1/jobs
	Tasks   int64               `json:"tasks"`           // that these stand for; a job without tasks is one
}

// Summary counts jobs.
var Summary = Noun[JobCount, SummaryQuery]{
	Path: "/fed/v1/summary", Who: ForAnybody,
	Doc: "How many jobs there are, the most tasks first: those that have not ended, or where a state says so those that ended lately. From counters, however many there are; with all from the database",
	Columns: []Column[JobCount]{
		{"STATE", func(x *JobCount) string { return string(x.State) }},
		{"SITE", func(x *JobCount) string { return string(x.Site) }},
		{"REASON", func(x *JobCount) string { return string(x.Reason) }},
		{"USER", func(x *JobCount) string { return x.User }},
		{"ACCOUNT", func(x *JobCount) string { return x.Account }},
		{"GROUP", func(x *JobCount) string { return x.Group }},
		{"JOBS", func(x *JobCount) string { return fmt.Sprint(x.Jobs) }},
		{"TASKS", func(x *JobCount) string { return fmt.Sprint(x.Tasks) }},
	},
}
