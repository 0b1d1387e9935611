package v1

import (
	"fsub/federation"

	"fsub/federation/reasons"
)

// Log says where a job's output is. Paths: GET /fed/v1/job/{id}/log?stream=stdout|stderr&task=INDEX, for the owner and
// operators; and .../log/text?...&offset=BYTES, which is the output itself where Staged is set, with LogHeader.
type Log struct {
	State   federation.State    `json:"state"` // of the job, or of the task
	Reason  reasons.Reason      `json:"reason,omitempty"`
	Site    federation.SiteName `json:"site,omitempty"`
	Attempt int                 `json:"attempt,omitempty"`
	Ended   bool                `json:"ended"`
	File    string              `json:"file"` // on the machine of the user's files
	// Staged: the site does not see the job's directory. The output comes through the daemon until it is in File, and for some time after.
	Staged bool `json:"staged,omitempty"`
}

// LogHeader is the header of an answer with output: "more" if there is more at once, "done" if this is the end, "wait" if there may be
// more later, "none" if the daemon has nothing (yet, or any more).
const LogHeader = "Fsub-Log"
