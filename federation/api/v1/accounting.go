package v1

import (
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

// AccountingResponse answers GET /fed/v1/accounting, which has the query and the meaning of GET /slurmdb/<version>/jobs.
type AccountingResponse struct {
	Jobs []AccountingJob `json:"jobs"`
	wire.Reply
}
