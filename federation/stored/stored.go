// Package stored has the JSON of what several packages keep or send of a job and the domain has without tags. A value that has only plain fields is
// converted as it is: stored.Held(held), federation.Held(h). Fields and their names are only added.
package stored

import (
	"time"

	"fsub/federation"
	"fsub/federation/codes"
)

// Suspension is a [federation.Suspension].
type Suspension struct {
	At  time.Time     `json:"at,omitzero"`
	Ran time.Duration `json:"ran,omitempty"`
}

// Holder is a [federation.Holder].
type Holder struct {
	By  string     `json:"by,omitempty"`
	At  time.Time  `json:"at"`
	Why *codes.Why `json:"why,omitempty"`
}

// Held is a [federation.Held].
type Held struct {
	Account      string           `json:"account,omitempty"`
	SiteAccount  string           `json:"site_account,omitempty"`
	QOS          string           `json:"qos,omitempty"`
	Partition    string           `json:"partition,omitempty"`
	TRES         string           `json:"tres,omitempty"`
	PricePerHour federation.Money `json:"price,omitempty"`
}

// Kept is an egress.Kept.
type Kept struct {
	Bytes int64     `json:"bytes"`
	At    time.Time `json:"at"`
	Place string    `json:"place,omitempty"`
}

// Signal is a [federation.Signal].
type Signal struct {
	Name  string `json:"name"`            // "USR1" or a number
	Batch bool   `json:"batch,omitempty"` // to the batch shell only
	Full  bool   `json:"full,omitempty"`  // to the batch shell and the steps
}

// Run is a [federation.AttemptRun].
type Run struct {
	State      federation.State `json:"state"` // REQUEUED, where nothing better is known
	Started    time.Time        `json:"started"`
	Ended      time.Time        `json:"ended"`
	Nodes      string           `json:"nodes"`
	ExitStatus int32            `json:"exit,omitempty"`
	Cost       federation.Money `json:"cost,omitempty"`

	Suspension Suspension `json:"suspension,omitzero"`
}

// NodeLoss is a [federation.NodeLoss].
type NodeLoss struct {
	Node   string    `json:"node"`
	At     time.Time `json:"time"`
	Why    string    `json:"why,omitempty"`
	By     string    `json:"by,omitempty"`     // the node that came in its place
	Shrunk bool      `json:"shrunk,omitempty"` // the job goes on without
}

// LossesOf are the losses as they are written; nil of nil.
func LossesOf(losses []federation.NodeLoss) (list []NodeLoss) {
	for _, l := range losses {
		list = append(list, NodeLoss(l))
	}
	return list
}

// Losses are the losses as the domain has them.
func Losses(list []NodeLoss) (losses []federation.NodeLoss) {
	for _, l := range list {
		losses = append(losses, federation.NodeLoss(l))
	}
	return losses
}

// RunsOf are the runs as they are written; nil of nil.
func RunsOf(runs []federation.AttemptRun) []Run {
	if runs == nil {
		return nil
	}
	list := make([]Run, len(runs))
	for i, r := range runs {
		list[i] = Run{r.State, r.Started, r.Ended, r.Nodes, r.ExitStatus, r.Cost, Suspension(r.Suspension)}
	}
	return list
}

// Runs are the runs as the domain has them.
func Runs(list []Run) []federation.AttemptRun {
	if list == nil {
		return nil
	}
	runs := make([]federation.AttemptRun, len(list))
	for i, r := range list {
		runs[i] = federation.AttemptRun{State: r.State, Started: r.Started, Ended: r.Ended, Nodes: r.Nodes, ExitStatus: r.ExitStatus, Cost: r.Cost,
			Suspension: federation.Suspension(r.Suspension)}
	}
	return runs
}
