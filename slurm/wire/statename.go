package wire

import "strings"

// StateName is a job's state as commands show it, and its short form.
type StateName struct{ Long, Short string }

// StateNames are all that Slurm has, in the order in which squeue lists them.
var StateNames = [...]StateName{
	{"PENDING", "PD"}, {"RUNNING", "R"}, {"SUSPENDED", "S"}, {"COMPLETED", "CD"}, {"CANCELLED", "CA"}, {"FAILED", "F"}, {"TIMEOUT", "TO"},
	{"NODE_FAIL", "NF"}, {"PREEMPTED", "PR"}, {"BOOT_FAIL", "BF"}, {"DEADLINE", "DL"}, {"OUT_OF_MEMORY", "OOM"}, {"COMPLETING", "CG"},
	{"CONFIGURING", "CF"}, {"RESIZING", "RS"}, {"RESV_DEL_HOLD", "RD"}, {"REQUEUED", "RQ"}, {"REQUEUE_FED", "RF"}, {"REQUEUE_HOLD", "RH"},
	{"REVOKED", "RV"}, {"SIGNALING", "SI"}, {"SPECIAL_EXIT", "SE"}, {"STAGE_OUT", "SO"}, {"STOPPED", "ST"},
}

// LongState is the long name of a state given by its long or short one, in any case; "" if there is none.
func LongState(name string) string {
	name = strings.ToUpper(name)
	for _, s := range StateNames {
		if name == s.Long || name == s.Short {
			return s.Long
		}
	}
	return ""
}

// CompactState is the short name of a long one.
func CompactState(long string) string {
	for _, s := range StateNames {
		if long == s.Long {
			return s.Short
		}
	}
	return "?"
}

// ShownState is the one word for a job_state list: a flag such as COMPLETING goes before the base state.
func ShownState(list Strings) string {
	for _, s := range list {
		switch s {
		case FlagCompleting, FlagConfiguring, FlagStageOut, FlagSpecialExit, FlagRequeueHold, FlagRequeueFed, FlagRequeued, FlagResizing,
			FlagRevoked, FlagSignaling, FlagStopped, FlagResvDelHold:
			return s
		}
	}
	return BaseState(list)
}
