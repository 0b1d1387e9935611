// Package usage is what a site's accounting measured of a job, by its steps. It is stored as it is: fields and their names are only added.
package usage

import (
	"context"
	"time"

	"fsub/federation"
)

// Usage is what a site's accounting measured of a job that has ended, or of one task of an array: sacct shows it. It is read once.
type Usage struct {
	Job   federation.JobID `json:"-"`
	Index int              `json:"-"` // the task; -1: the job itself

	Flags               []string      `json:"flags,omitempty"` // how it was scheduled, in slurmrestd's words: STARTED_ON_BACKFILL ...
	System, User, Total time.Duration `json:",omitempty"`      // CPU time of all steps
	Steps               []Step        `json:"steps,omitempty"`

	Allocated, Requested []Amount `json:",omitempty"` // memory in MiB, as the site's defaults made it
}

// Step is one step of a job: its batch script, what its site runs beside it ("extern"), or an srun.
type Step struct {
	ID         string           `json:"id"` // "batch", "extern", "0"
	Name       string           `json:"name"`
	State      federation.State `json:"state"`
	ExitStatus int32            `json:"exit,omitempty"` // as wait(2) gives it
	Nodes      string           `json:"nodes,omitempty"`
	NumNodes   int              `json:"num_nodes,omitempty"`
	KilledBy   string           `json:"killed_by,omitempty"` // who has cancelled it alone: a user's name, or a uid
	NumTasks   int              `json:"num_tasks,omitempty"`
	Start, End time.Time        `json:",omitzero"`
	Elapsed    time.Duration    `json:",omitempty"`
	Suspended  time.Duration    `json:",omitempty"`

	System, User, Total time.Duration `json:",omitempty"`
	Layout              string        `json:"layout,omitempty"`    // how its tasks were spread: "Block"
	Governor            string        `json:"governor,omitempty"`  // of the CPU frequency, as asked for
	MinFreq, MaxFreq    *int64        `json:",omitempty"`          // asked for, kHz; nil: not asked for
	Frequency           int64         `json:"frequency,omitempty"` // measured, kHz
	Energy              int64         `json:"energy,omitempty"`    // joules

	Allocated []Amount `json:"allocated,omitempty"`
	In        Measured `json:"in"`  // CPU time (ms), memory (bytes), what was read (bytes), pages
	Out       Measured `json:"out"` // what was written (bytes)
}

// Measured is what was measured of a step's tasks, by TRES.
type Measured struct {
	Max     []TaskAmount `json:"max,omitempty"`
	Min     []TaskAmount `json:"min,omitempty"`
	Average []Amount     `json:"average,omitempty"`
	Total   []Amount     `json:"total,omitempty"`
}

// Amount is an amount of a TRES, which Slurm names by type and name: "fs" and "disk", "mem" and "".
type Amount struct {
	Type  string `json:"type"`
	Name  string `json:"name,omitempty"`
	Count int64  `json:"count"`
}

// TaskAmount is an amount of one task, and which one.
type TaskAmount struct {
	Amount
	Task int64  `json:"task,omitempty"`
	Node string `json:"node,omitempty"`
}

// Store keeps what was measured.
type Store interface {
	// PutUsage stores what was measured of a job, in place of what is there. None at all is stored too: the job then counts as measured.
	PutUsage(ctx context.Context, job federation.JobID, list []Usage) error
	// UsageOf returns what is stored of jobs. One of which nothing is, is not in the result.
	UsageOf(ctx context.Context, ids []federation.JobID) (map[federation.JobID][]Usage, error)
	// Unmeasured returns jobs that ran, ended at or after since, and of which nothing is stored; the first to end first, at most limit.
	Unmeasured(ctx context.Context, since time.Time, limit int) ([]federation.JobID, error)
}
