package v1

import (
	"slices"

	"fsub/federation"
	"fsub/slurm/wire"
)

// AccountingJob is a job in the accounting with the numbers that sacct shows and slurmrestd's shape has no place for.
type AccountingJob struct {
	wire.DBJob
	UserID      uint32  `json:"user_id"`
	GroupID     uint32  `json:"group_id"`
	CancelledBy *uint32 `json:"cancelled_by,omitempty"` // uid of who cancelled it
	// Cost in dollars: what it has come to, so far if it runs. Only with the query cost=1.
	Cost *federation.Money `json:"cost_usd,omitempty"`
	// StepsCancelledBy are the uids of who cancelled single steps ("17.0").
	StepsCancelledBy map[string]uint32 `json:"steps_cancelled_by,omitempty"`
}

// Efficiency is what a job has used of what it held, as seff tells it.
type Efficiency struct {
	Wall         int64 // seconds from its start to its end
	Cores        int64
	CPU, CPUOf   int64 // seconds of CPUs
	Mem, MemOf   int64 // KiB, of the step that used most
	Largest, Avg int64 // bytes of that step's largest task, and of its tasks on average
}

// Efficiency adds up what the job's steps have used. Slurm's accounting knows that after their end.
func (j *AccountingJob) Efficiency() Efficiency {
	e := Efficiency{Wall: j.Time.Elapsed, Cores: max(wire.CountOf(j.TRES.Allocated, "cpu"), 1), MemOf: wire.CountOf(j.TRES.Allocated, "mem") * 1024,
		CPU: j.Time.Total.Seconds + (j.Time.Total.Microseconds+500_000)/1_000_000}
	e.CPUOf = e.Wall * e.Cores
	for i := range j.Steps {
		of := &j.Steps[i].TRES.Requested
		n := wire.CountOf(of.Total, "mem") / 1024
		if n <= e.Mem {
			continue
		}
		e.Mem, e.Avg, e.Largest = n, wire.CountOf(of.Average, "mem"), 0
		if at := slices.IndexFunc(of.Max, func(t wire.TaskTRES) bool { return t.Type == "mem" }); at >= 0 {
			e.Largest = of.Max[at].Count
		}
	}
	return e
}

// AccountingResponse answers GET /fed/v1/accounting, which has the query and the meaning of GET /slurmdb/<version>/jobs.
type AccountingResponse struct {
	Jobs []AccountingJob `json:"jobs"`
	wire.Reply
}
