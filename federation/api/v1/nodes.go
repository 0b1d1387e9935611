package v1

import (
	"time"

	"fsub/federation"
	"fsub/federation/action"
)

// Node is a node of a site, as the site showed it last, with what operators of the federation want of it.
type Node struct {
	Site federation.SiteName `json:"site"`
	Name string              `json:"name"`
	// State is in Slurm's words. DRAIN is there from the moment on that it is wanted: see Unconfirmed.
	State      []string   `json:"state"`
	Reason     string     `json:"reason,omitempty"`
	ReasonOurs bool       `json:"reason_ours,omitempty"` // operators of this federation gave it
	ReasonBy   string     `json:"reason_by,omitempty"`   // the user whom the site names
	ReasonAt   *time.Time `json:"reason_at,omitempty"`
	Partitions []string   `json:"partitions,omitempty"`
	Features   []string   `json:"features,omitempty"`
	CPUs       int        `json:"cpus"`
	CPUsUsed   int        `json:"cpus_used"`
	Memory     int64      `json:"memory_mib"`
	GPUs       int        `json:"gpus,omitempty"`
	GPUsUsed   int        `json:"gpus_used,omitempty"`
	GPUType    string     `json:"gpu_type,omitempty"`
	// Unconfirmed: a drain is wanted that the site does not show yet. Nothing is placed there already.
	Unconfirmed bool      `json:"unconfirmed,omitempty"`
	Seen        time.Time `json:"seen"`             // when the site was looked at
	Stale       bool      `json:"stale,omitempty"`  // since then it has not answered
	Wanted      *Wanted   `json:"wanted,omitempty"` // the last word of operators; none was ever said otherwise
	Note        string    `json:"note,omitempty"`   // why it is not as wanted
	// Suspected: a rule of health has new jobs avoid the node for a while; rules bad-part and bad-rail, gangs.
	Suspected *Suspicion `json:"suspected,omitempty"`
	Usable    bool       `json:"usable"`            // new jobs can start there
	History   []NodeWas  `json:"history,omitempty"` // of a single node, the oldest line first
}

// Suspicion says why a node is avoided, and until when.
type Suspicion struct {
	Rule  string    `json:"rule"`
	Until time.Time `json:"until"`
	Why   string    `json:"why,omitempty"`
}

// Wanted is the last word of the federation's operators about a node.
type Wanted struct {
	State   federation.NodeWish `json:"state"` // DRAIN or RESUME; RESUME too once a drain's time has passed
	Owner   string              `json:"owner"`
	Ticket  string              `json:"ticket,omitempty"`
	Reason  string              `json:"reason,omitempty"`
	Requeue bool                `json:"requeue,omitempty"` // jobs that run there are requeued; else they end by themselves
	Move    bool                `json:"move,omitempty"`    // jobs that run there and have said --keep are moved
	Since   time.Time           `json:"since"`
	Until   *time.Time          `json:"until,omitempty"`
}

// NodeWas is a line of a node's history.
type NodeWas struct {
	Time   time.Time `json:"time"`
	Who    string    `json:"who,omitempty"`
	From   string    `json:"from,omitempty"`
	To     string    `json:"to"`
	Wanted bool      `json:"wanted,omitempty"` // an operator of the federation said so; else the site showed it
	Why    string    `json:"why,omitempty"`
}

// SetNodes asks that nodes be drained or resumed. They are chosen by Nodes, by Where or by both.
type SetNodes struct {
	Nodes []string `json:"nodes,omitempty"` // SITE/HOSTLIST, SITE/* or, where its names are of one site alone, HOSTLIST
	// Where narrows the choice: KEY=VALUE[,VALUE...] with the keys site, gpu, partition, state, feature, reason and owner.
	Where   []string            `json:"where,omitempty"`
	State   federation.NodeWish `json:"state"`            // DRAIN or RESUME
	Reason  string              `json:"reason,omitempty"` // a drain needs one
	Ticket  string              `json:"ticket,omitempty"`
	Until   time.Time           `json:"until,omitzero"`    // a drain ends then by itself. Not set: an earlier drain's end stays
	NoEnd   bool                `json:"no_end,omitempty"`  // an earlier drain's end does not stay
	Requeue bool                `json:"requeue,omitempty"` // requeue the jobs that run there
	Move    bool                `json:"move,omitempty"`    // move the jobs that run there and have said --keep; not beside requeue
}

// Jobs is what a drain is to do with the jobs that run there: requeue, move or nothing.
func (q *SetNodes) Jobs() action.Kind {
	switch {
	case q.Move:
		return action.Move
	case q.Requeue:
		return action.Requeue
	}
	return ""
}

// SetNodesResponse tells what was made of it, node by node, in order of site and name. What was accepted is durable.
type SetNodesResponse struct {
	Nodes []NodeSet `json:"nodes"`
}

// NodeSet is what was made of an order about one node.
type NodeSet struct {
	Site federation.SiteName `json:"site"`
	Name string              `json:"name"`
	// State is what is wanted of the node from now on, Was what its site shows.
	State  federation.NodeWish `json:"state,omitempty"`
	Was    []string            `json:"was,omitempty"`
	Ticket string              `json:"ticket,omitempty"`
	Until  time.Time           `json:"until,omitzero"`
	// Left: the node stays as it is, because of somebody else's word. A drain is accepted all the same, and follows when that is gone.
	Left bool   `json:"left,omitempty"`
	Note string `json:"note,omitempty"` // whose word that is; or what stands in the way for now
	// Nothing: a resume of a node that is neither drained nor DOWN, by nobody's word.
	Nothing bool `json:"nothing,omitempty"`
}

// RebootNodes asks that nodes reboot as soon as they are idle. They are chosen as in [SetNodes]. The answer is a SetNodesResponse: those that
// are left do not reboot.
type RebootNodes struct {
	Nodes     []string `json:"nodes,omitempty"`
	Where     []string `json:"where,omitempty"`
	Cancel    bool     `json:"cancel,omitempty"`     // they are not to reboot after all
	ASAP      bool     `json:"asap,omitempty"`       // no new job starts there before it
	NextState string   `json:"next_state,omitempty"` // RESUME or DOWN; else as before the reboot
	Reason    string   `json:"reason,omitempty"`
}

// NodeQuery chooses nodes; without names and conditions it chooses all.
type NodeQuery struct {
	Nodes []string `query:"nodes" doc:"SITE/HOSTLIST, SITE/*, or a HOSTLIST whose names are of one site alone; may be repeated"`
	Where []string `query:"where" doc:"KEY=VALUE[,VALUE...]: see v1.SetNodes; may be repeated" flag:"where" split:"no" usage:"KEY=VALUE[,VALUE...] or KEY!=VALUE: only nodes that meet this; * stands for anything"`
}

// Nodes are the nodes of all sites.
var Nodes = Noun[Node, NodeQuery]{Key: func(x *Node) string { return key(x.Site, x.Name) }, Path: "/fed/v1/nodes", Who: ForAnybody, Doc: "The nodes of all sites, with what operators want of them"}
