package jobenv

import "fsub/cloud/agentapi"

// Own is what the machine adds of its own.
type Own struct {
	PID      int    // of the script: SLURM_TASK_PID
	TmpDir   string // TMPDIR where the user has none; "": /tmp
	Commands string // the folder of srun, scontrol ..., which comes first in PATH; "": none
	Socket   string // where they find the daemon: FSUB_SOCKET; "": nowhere
}

// Batch returns the whole environment of the batch script: the user's, then what slurmd and slurmctld would set.
func Batch(l *agentapi.Launch, o Own) []string { return nil }
