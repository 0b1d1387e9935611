// Package audit is the record of who did what: an [Entry] for each act of somebody who has authority over what is not only theirs.
package audit

import (
	"context"
	"time"
)

// Entry is one act of somebody who has authority over what is not only theirs: an operator, a coordinator, a rule of the daemon.
// It is written in the commit of the change that it tells of, and never changed.
type Entry struct {
	Seq    int64     // the store's to give; it increases
	At     time.Time // zero: now
	Who    Actor
	Verb   string // drain, resume, requeue, hold ...: the word of the command
	Kind   Object // what was acted on
	Object string // its name, as fed writes it: 30000001, alpha, alpha/n1, an account
	Before string // its state, or the value that was changed; "" where there was none
	After  string
	Why    string
	Ticket string
	Result string // "" if it was done or accepted; else why not, or what else became of it
}

// Actor is who acted, and from where.
type Actor struct {
	User string
	UID  uint32
	Role string // as it was then: Operator, Administrator, Coordinator; None for a user; Daemon
	From string // socket, TLS (a job's token), "token NAME", "munge SITE", "site SITE" (its token), oidc, web, or site:NAME for what was done at a site by its own admins
}

// Daemon is the daemon itself: its rules, and what it does when a time has come.
var Daemon = Actor{User: "fed", Role: "Daemon", From: "daemon"}

// Object is a kind of object that can be acted on.
type Object string

const (
	Job         Object = "job"
	Node        Object = "node" // SITE/NAME
	Site        Object = "site"
	Pool        Object = "pool"
	Account     Object = "account"
	User        Object = "user"
	QOS         Object = "qos"
	Rule        Object = "rule"
	Books       Object = "books"
	Report      Object = "report" // OWNER/NAME
	Token       Object = "token"  // likewise
	Maintenance Object = "maintenance"
	Leader      Object = "daemon"
	Operation   Object = "operation" // on many jobs at once
)

// Log is the record of who did what. It can only be appended to; A commit, a request and a word about a site do so in the
// commit of a change.
type Log interface {
	// AddAudit appends entries to the log. It is for acts that change nothing in the store.
	AddAudit(ctx context.Context, entries ...Entry) error
	// Audit returns the entries that match q, oldest first.
	Audit(ctx context.Context, q Query) ([]Entry, error)
}

// Query selects entries. The zero value selects all; every field that is set narrows the selection.
type Query struct {
	User   string
	Verb   string
	Kind   Object
	Object string    // a name; "alpha/*" for all that begin so
	Since  time.Time // at or after
	Until  time.Time // before
	After  int64     // with a higher Seq
	Before int64     // with a lower one; 0: no bound
	Limit  int       // maximum number of entries; 0: no limit
	Oldest bool      // of more than Limit the oldest, else the newest
}
