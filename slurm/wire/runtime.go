package wire

// RunTime is for how many seconds a job has run at now, as Slurm's clients reckon it: without the times when it was suspended.
func (j *Job) RunTime(now int64) int64 {
	start, until := j.StartTime.Value(), j.EndTime.Value()
	switch base := BaseState(j.State); {
	case base == StatePending || start == 0:
		return 0
	case base == StateSuspended && j.SuspendTime.Value() > 0:
		return j.PreSusTime.Value()
	case base == StateRunning || base == StateSuspended:
		until = now
	}
	if at := j.SuspendTime.Value(); at > 0 {
		return j.PreSusTime.Value() + max(until-at, 0)
	}
	return max(until-start, 0)
}
