package scontrol

import "fmt"

// refusedVerbs are the verbs that nobody can carry out through the federation, with Slurm's sentence for users who may not. word is the verb that root is
// told to use at the site; where it is "", Slurm's sentence is the answer for everybody.
var refusedVerbs = []struct {
	name         string
	short        int
	prefix, said string
	word         string
}{
	{"abort", 5, "slurm_shutdown error", "Invalid user id", "abort"},
	{"create", 2, "slurm_create error", "Invalid user id", "create"},
	{"delete", 2, "slurm_delete error", "Invalid user id", "delete"},
	{"fsdampeningfactor", 3, "slurm_set_fs_dampeningfactor error", "Permission denied", "fsdampeningfactor"},
	{"notify", 1, "job notify failure", "Requested operation not supported on this system", ""},
	{"power", 2, "scontrol_power_nodes error", "Invalid user id", "power"},
	{"reconfigure", 3, "slurm_reconfigure error", "Invalid user id", "reconfigure"},
	{"schedloglevel", 3, "slurm_set_schedlog_level error", "Permission denied", "schedloglevel"},
	{"setdebug", 2, "slurm_set_debug_level error", "Permission denied", "setdebug"},
	{"setdebugflags", 9, "slurm_set_debug_flags error", "Permission denied", "setdebugflags"},
	{"shutdown", 8, "slurm_shutdown error", "Invalid user id", "shutdown"},
	{"takeover", 8, "slurm_takeover error", "Invalid user id", "takeover"},
	{"token", 3, "scontrol: error", "calls on the daemon's socket need no token, and one that a client insists on may be any: the kernel says who calls", ""},
	{"pidinfo", 3, "scontrol: error", "the federation does not know the processes of jobs: run scontrol pidinfo on the job's node, at its site", ""},
	{"getent", 4, "scontrol: error", "the federation has no user list: run scontrol getent on the job's node, at its site", ""},
	{"gethost", 4, "scontrol: error", "the federation has no addresses of nodes to list: run scontrol gethost at the node's site", ""},
}

// insteads are commands of fed that do for the federation what a verb of scontrol does for a site.
var insteads = map[string]string{
	"create":      "fed maintenance add plans a maintenance here",
	"delete":      "fed maintenance remove ends a maintenance here",
	"reconfigure": "fed serve reads its own configuration again on SIGHUP",
	"setdebug":    "log_level in the configuration is the level of our daemon",
	"update":      "fed maintenance plans maintenances, fed site drain closes a site here",
}

// refusedVerb is the answer to a verb that nobody can carry out through the federation.
func refusedVerb(word string, root bool) (string, bool) {
	for _, v := range refusedVerbs {
		if is(word, v.name, v.short) {
			return v.prefix + ": " + refusedText(v.said, v.word, root), true
		}
	}
	return "", false
}

// refusedText is Slurm's sentence for users who may not. Root, for whom that would be wrong, is told where to run the verb instead.
func refusedText(said, verb string, root bool) string {
	if !root || verb == "" {
		return said
	}
	text := fmt.Sprintf("not here: run scontrol %s at the site", verb)
	if instead := insteads[verb]; instead != "" {
		text += "; " + instead
	}
	return text
}
