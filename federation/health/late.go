package health

import (
	"fmt"
	"time"

	"fsub/federation"
)

// RuleHung names findings about gangs of which no node beats any more (#FSUB --heartbeat). They are told, and nothing else.
const RuleHung = "hung"

// Late is a node that is slower than the others of a running gang, by their heartbeats.
type Late struct {
	At         time.Time
	Job        federation.JobID
	User, Like string // as in [Ended]
	Node       federation.NodeID
	Rank       int // its number in the job
	Why        string
}

// mostLate bounds the kinds of jobs of which it is remembered which of their nodes were slow.
const mostLate = 4096

// Tell takes in that a node is slow, and says what follows. It returns why the job rather than the node is to blame, "" if nothing says so: where the same rank of its kind of
// jobs was slow on another node before, it is that rank which has more to do.
func (x *Late) Tell(e *Engine) (job string, found []Finding) {
	ranks := e.late[x.Like]
	if on, known := ranks[x.Rank]; known && on != x.Node {
		return fmt.Sprintf("node %d of such jobs was slow on %s too, so that it is the job's own work", x.Rank, on), nil
	}
	if ranks == nil {
		if len(e.late) >= mostLate {
			clear(e.late)
		}
		ranks = map[int]federation.NodeID{}
		e.late[x.Like] = ranks
	}
	ranks[x.Rank] = x.Node
	e.note(x.Node, Fail{At: x.At, Job: x.Job, User: x.User, Like: x.Like, Code: CodeLate, Text: x.Why}, true)
	return "", e.judge(x.Node, x.At)
}
