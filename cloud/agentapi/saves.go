package agentapi

import (
	"strings"
	"time"
)

// SaveTime is how long a job that was told to end may take, once it is over, to save what it keeps.
const SaveTime = 10 * time.Minute

// carried is how the script begins that carries a job's files (package staging): it runs the user's own, and saves what that keeps.
const carried = "#!/bin/sh\n_fsub_scratch="

// SavesItself reports whether the script saves what the job keeps (#FSUB --keep) when the job is told to end. Where the machine sees the user's files it does not.
func (l *Launch) SavesItself() bool {
	return len(l.Groups) > 0 && len(l.Groups[0].Spec.Keeps()) > 0 && strings.HasPrefix(l.Script, carried)
}
