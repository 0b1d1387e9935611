package v1

import (
	"time"

	"fsub/federation"
)

// AuditEntry is one line of the audit log: what somebody did who has authority over what is not only theirs. It is written with the change
// that it tells of, and never changed.
type AuditEntry struct {
	Seq    int64                  `json:"seq"` // increases
	Time   time.Time              `json:"time"`
	User   string                 `json:"user"` // who did it; "fed" is the daemon itself
	UID    uint32                 `json:"uid"`
	Role   string                 `json:"role"`   // Administrator, Operator, Coordinator, None, Daemon
	From   string                 `json:"from"`   // socket, TLS, daemon, or site:NAME for what a site's own admins did there
	Verb   string                 `json:"verb"`   // drain, resume, requeue, hold ...
	Kind   federation.AuditObject `json:"kind"`   // of the object: job, node, site ...
	Object string                 `json:"object"` // its name: 30000001, alpha/n1, alpha
	Before string                 `json:"before,omitempty"`
	After  string                 `json:"after,omitempty"`
	Why    string                 `json:"why,omitempty"`
	Ticket string                 `json:"ticket,omitempty"`
	Result string                 `json:"result,omitempty"` // none: it was done or accepted
}

// AuditEntryOf is e as the API tells it.
func AuditEntryOf(e *federation.AuditEntry) AuditEntry {
	return AuditEntry{Seq: e.Seq, Time: e.At, User: e.Who.User, UID: e.Who.UID, Role: e.Who.Role, From: e.Who.From, Verb: e.Verb, Kind: e.Kind, Object: e.Object,
		Before: e.Before, After: e.After, Why: e.Why, Ticket: e.Ticket, Result: e.Result}
}

// AuditQuery is which entries are listed: the newest of them, oldest first.
type AuditQuery struct {
	User   string                 `query:"user" doc:"who did it"`
	Verb   string                 `query:"verb"`
	Kind   federation.AuditObject `query:"kind" doc:"job, node, site ...: what was acted on"`
	Object string                 `query:"object" doc:"its name; NAME* for all that begin so"`
	Since  time.Time              `query:"since" doc:"seconds since 1970"`
	Until  time.Time              `query:"until" doc:"likewise; before then"`
	Limit  int                    `query:"limit" doc:"how many at most, the newest of them; 1000 if not given"`
}

// Audits is the audit log.
var Audits = Noun[AuditEntry, AuditQuery]{Path: "/fed/v1/audit", Who: ForOperators, Doc: "Who has done what to jobs, nodes and sites, oldest first"}
