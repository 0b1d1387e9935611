package federation

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// NodeID names a node of the federation. Nodes of two sites may have one name.
type NodeID struct {
	Site SiteName
	Name string
}

// String writes SITE/NAME.
func (id NodeID) String() string { return string(id.Site) + "/" + id.Name }

// NodeWish is what operators of the federation want of a node.
type NodeWish string

const (
	// WishDrain: no new jobs; what runs there ends by itself.
	WishDrain NodeWish = "DRAIN"
	// WishResume: an earlier drain of ours is to be gone. Drains of others stay.
	WishResume NodeWish = "RESUME"
)

// NodeRecord is the last word of the federation's operators about a node. It stays after a resume, so that a drain which the site
// remembers from before is known to be over.
type NodeRecord struct {
	Node   NodeID
	Wish   NodeWish
	Owner  string // who said it
	Ticket string // may be empty
	Reason string // text, may be empty
	// Jobs is what is done with the federation's jobs that run there once the site has drained it: [fsub/federation/action.Requeue], but for those of --no-requeue; [fsub/federation/action.Move], for those that
	// have said --keep; or "", nothing: they end by themselves.
	Jobs  string
	Since time.Time // when it was said
	Until time.Time // a drain is over then; zero: when somebody says so
}

// Wants is what is wanted of the node at a time: "" if nobody has said anything.
func (r *NodeRecord) Wants(now time.Time) NodeWish {
	switch {
	case r == nil:
		return ""
	case r.Wish == WishDrain && !r.Until.IsZero() && !now.Before(r.Until):
		return WishResume
	}
	return r.Wish
}

// Text is the reason as the site is told it: "fed:OWNER:TICKET text". mark is the name of the federation. It does not end with a quote:
// scontrol would take that away.
func (r *NodeRecord) Text(mark string) string {
	return strings.TrimRight(fmt.Sprintf("%s:%s:%s %s", mark, r.Owner, r.Ticket, r.Reason), " \"'")
}

// NodeEvent is a change of a node's state, or of what is wanted of it.
type NodeEvent struct {
	Node NodeID
	At   time.Time
	// Who changed it: an operator of the federation, the user whom the site names, or "slurmctld"; "": not known.
	Who string
	// From and To are states in Slurm's words, DRAIN or RESUME where something is wanted, or "" where nothing was known.
	From, To string
	// Wanted: an operator of the federation has said this; otherwise the site shows it.
	Wanted bool
	Why    string
}

// NodeStore reads what operators want of nodes, and the history of nodes. A journal.Batch writes both.
type NodeStore interface {
	// Nodes returns what operators want of nodes, in order of site and name.
	Nodes(ctx context.Context) ([]NodeRecord, error)
	// NodeEvents returns the newest lines of a node's history, at most limit of them, oldest first.
	NodeEvents(ctx context.Context, id NodeID, limit int) ([]NodeEvent, error)
	// LastNodeEvents returns, of each node that has a history, the newest line that its site has shown.
	LastNodeEvents(ctx context.Context) ([]NodeEvent, error)
}
