package v1

import "time"

// The queries of what is not the list of a noun.

// LogQuery says which output of a job is meant.
type LogQuery struct {
	Stream string `query:"stream" doc:"stdout or stderr"`
	Task   *int   `query:"task" doc:"index of an array's task"`
}

// LogTextQuery is a LogQuery, and where to begin.
type LogTextQuery struct {
	LogQuery
	Offset int64 `query:"offset" doc:"bytes that are known already"`
}

// AccountingQuery is what GET /fed/v1/accounting takes beside the words of GET /slurmdb/<version>/jobs.
type AccountingQuery struct {
	Cost bool `query:"cost" doc:"1: with the cost of jobs so far"`
}

// AssociationQuery chooses associations.
type AssociationQuery struct {
	Cluster []string `query:"cluster" doc:"sites, with commas"`
}

// ChosenJobs are words that choose jobs for squeue and sprio. Each is a list with commas, and may be repeated.
type ChosenJobs struct {
	JobID     []string `query:"job_id" doc:"jobs, with commas"`
	Users     []string `query:"users" doc:"names or uids, with commas; @me is the caller"`
	Partition []string `query:"partition" doc:"with commas"`
	Account   []string `query:"account" doc:"with commas"`
	Cluster   []string `query:"cluster" doc:"sites, with commas"`
}

// QueueQuery chooses what squeue shows, and its order.
type QueueQuery struct {
	ChosenJobs
	States []string `query:"states" doc:"long names, with commas"`
	Name   []string `query:"name" doc:"with commas"`
	QOS    []string `query:"qos" doc:"with commas"`
	Live   bool     `query:"live" doc:"1: none that has ended"`
	Nodes  string   `query:"nodes" doc:"hostlist: which of them no site has is told"`
	Sort   string   `query:"sort" doc:"letters of squeue's --format with commas, each with + or - before it"`
	Start  bool     `query:"start" doc:"1: with the expected start of waiting jobs"`
	Cost   bool     `query:"cost" doc:"1: with the cost of running jobs so far"`
}

// EventQuery chooses events.
type EventQuery struct {
	After  int64     `query:"after" min:"1" doc:"the mark to go on from"`
	Since  time.Time `query:"since" doc:"seconds since 1970: without a mark, begin there"`
	Follow bool      `query:"follow" doc:"1: the answer does not end"`
	Where  []string  `query:"where" doc:"KEY=VALUE[,VALUE...] or KEY!=VALUE[,VALUE...]; keys: event, job, user, who, name, group, site, node, state, from, reason, request; * stands for anything; may be repeated"`
}

// SettledQuery chooses items of an operation.
type SettledQuery struct {
	After int `query:"after" doc:"items settled after the n-th"`
}

// SiteNames chooses sites.
type SiteNames struct {
	Site []string `query:"site" doc:"a site; may be repeated. Not set: all"`
}

// Days are the days that something is about.
type Days struct {
	From  string `query:"from" doc:"the first UTC day, YYYY-MM-DD; without it, the first of this month"`
	Until string `query:"until" doc:"the day after the last; without it, tomorrow"`
}

// SumQuery chooses sums of the ledger. The lists are of its dimensions.
type SumQuery struct {
	Days
	By        string   `query:"by" doc:"site, account, user, qos, partition, gpu, name, group: what to tell apart, with commas"`
	Every     string   `query:"every" doc:"day or month: tell the time apart"`
	Running   bool     `query:"running" doc:"1: runs that go on too, as of now; their fate is running"`
	Sums      string   `query:"sums" doc:"which numbers are wanted, with commas: cpu, gpu, amount ...; the others are 0. Not set: all"`
	Site      []string `query:"site" doc:"only these; may be repeated. So for all that by takes"`
	Account   []string `query:"account"`
	User      []string `query:"user"`
	QOS       []string `query:"qos"`
	Partition []string `query:"partition"`
	GPU       []string `query:"gpu"`
	Name      []string `query:"name"`
	Group     []string `query:"group"`
}

// CheckQuery chooses what of the ledger is compared with sites.
type CheckQuery struct {
	Days
	SiteNames
}

// StepQuery chooses steps.
type StepQuery struct {
	JobID []string `query:"job_id" doc:"of these jobs, with commas"`
}

// OwnerQuery says of whom a thing is that has an owner.
type OwnerQuery struct {
	User string `query:"user" doc:"whose it is, for operators; not set: the caller's"`
}
