package wire

// States of a job in slurmrestd's words. A job_state list has one base state; the others are flags beside it.
const (
	StatePending     = "PENDING"
	StateRunning     = "RUNNING"
	StateSuspended   = "SUSPENDED"
	StateCompleted   = "COMPLETED"
	StateCancelled   = "CANCELLED"
	StateFailed      = "FAILED"
	StateTimeout     = "TIMEOUT"
	StateNodeFail    = "NODE_FAIL"
	StatePreempted   = "PREEMPTED"
	StateBootFail    = "BOOT_FAIL"
	StateDeadline    = "DEADLINE"
	StateOutOfMemory = "OUT_OF_MEMORY"

	FlagCompleting  = "COMPLETING"
	FlagConfiguring = "CONFIGURING"
	FlagRequeued    = "REQUEUED"
	FlagRequeueHold = "REQUEUE_HOLD"
	FlagRequeueFed  = "REQUEUE_FED"
	FlagSpecialExit = "SPECIAL_EXIT"
	FlagResizing    = "RESIZING"
	FlagStopped     = "STOPPED"
	FlagRevoked     = "REVOKED"
	FlagResvDelHold = "RESV_DEL_HOLD"
	FlagSignaling   = "SIGNALING"
	FlagStageOut    = "STAGE_OUT"
)

// BaseState returns the base state of a job_state list, "" if it has none.
func BaseState(state Strings) string {
	for _, s := range state {
		switch s {
		case StatePending, StateRunning, StateSuspended, StateCompleted, StateCancelled, StateFailed, StateTimeout,
			StateNodeFail, StatePreempted, StateBootFail, StateDeadline, StateOutOfMemory:
			return s
		}
	}
	return ""
}
