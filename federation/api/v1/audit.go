package v1

import (
	"time"

	"fsub/federation/audit"
)

// AuditEntry is one line of the audit log: what somebody did who has authority over what is not only theirs. It is written with the change
// that it tells of, and never changed.
type AuditEntry struct {
	Seq    int64        `json:"seq"` // increases
	Time   time.Time    `json:"time"`
	User   string       `json:"user"` // who did it; "fed" is the daemon itself
	UID    uint32       `json:"uid"`
	Role   string       `json:"role"`   // Administrator, Operator, Coordinator, None, Daemon
	From   string       `json:"from"`   // socket, TLS, daemon, or site:NAME for what a site's own admins did there
	Verb   string       `json:"verb"`   // drain, resume, requeue, hold ...
	Kind   audit.Object `json:"kind"`   // of the object: job, node, site ...
	Object string       `json:"object"` // its name: 30000001, alpha/n1, alpha
	Before string       `json:"before,omitempty"`
	After  string       `json:"after,omitempty"`
	Why    string       `json:"why,omitempty"`
	Ticket string       `json:"ticket,omitempty"`
	Result string       `json:"result,omitempty"` // none: it was done or accepted
}

// AuditEntryOf is e as the API tells it.
func AuditEntryOf(e *audit.Entry) AuditEntry {
	return AuditEntry{Seq: e.Seq, Time: e.At, User: e.Who.User, UID: e.Who.UID, Role: e.Who.Role, From: e.Who.From, Verb: e.Verb, Kind: e.Kind, Object: e.Object,
		Before: e.Before, After: e.After, Why: e.Why, Ticket: e.Ticket, Result: e.Result}
}

// AuditQuery is which entries are listed: the newest of them, oldest first.
type AuditQuery struct {
	User   string       `query:"user" doc:"who did it" flag:"who" usage:"only what this user did; fed is the daemon itself"`
	Verb   string       `query:"verb" flag:"verb" usage:"only this: drain, resume, requeue, cancel ..."`
	Kind   audit.Object `query:"kind" doc:"job, node, site ...: what was acted on" flag:"kind" usage:"only actions on a job, node, site ..."`
	Object string       `query:"object" doc:"its name; NAME* for all that begin so" flag:"object" usage:"only actions on this: a job ID, SITE/NODE, a site ...; 'alpha/*' for all that begin so"`
	Since  time.Time    `query:"since" doc:"seconds since 1970" flag:"since" usage:"only since then: 90m, 2h, 3d, or 2026-11-22T18:00"`
	Until  time.Time    `query:"until" doc:"likewise; before then" flag:"until" usage:"only before then; likewise"`
	Limit  int          `query:"limit" doc:"maximum number of entries; 1000 if not given. Without sort and cursor they are the newest" flag:"limit,n" usage:"maximum number of lines, the newest" default:"1000"`
	Sort   string       `query:"sort" enum:"time,-time" doc:"the order of the page, which begins at its first; without it time, and the page is the last of it"`
}

// Audits is the audit log.
var Audits = Noun[AuditEntry, AuditQuery]{
	Key: func(x *AuditEntry) string { return numberKey(x.Seq) }, Logged: true,
	Path: "/fed/v1/audit", Who: ForOperators, Doc: "Who has done what to jobs, nodes and sites, oldest first",
	Columns: []Column[AuditEntry]{
		{"TIME", func(x *AuditEntry) string { return moment(x.Time) }},
		{"WHO", func(x *AuditEntry) string { return x.User }},
		{"ROLE", func(x *AuditEntry) string { return x.shownRole() }},
		{"FROM", func(x *AuditEntry) string { return x.From }},
		{"VERB", func(x *AuditEntry) string { return x.Verb }},
		{"OBJECT", func(x *AuditEntry) string { return string(x.Kind) + " " + x.Object }},
		{"BEFORE", func(x *AuditEntry) string { return x.Before }},
		{"AFTER", func(x *AuditEntry) string { return x.After }},
		{"TICKET", func(x *AuditEntry) string { return x.Ticket }},
		{"WHY", func(x *AuditEntry) string { return oneLine(x.Why) }},
		{"RESULT", func(x *AuditEntry) string { return oneLine(x.Result) }},
	},
}

// shownRole is the role as people are shown it: None is Slurm's word for a user without rights over others.
func (e *AuditEntry) shownRole() string {
	if e.Role == "None" {
		return "User"
	}
	return e.Role
}
