package job

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
)

// endText says what has become of a job that has ended: how it ended and whose failure that was, or why it never ran.
func endText(r *client.JobRecord) string {
	j := &r.Job
	if !j.State.Ended() || j.Whole != nil {
		return ""
	}
	var last federation.Attempt
	if n := len(r.Attempts); n > 0 {
		last = r.Attempts[n-1]
	}
	text := "  it ended as " + string(j.State)
	switch code, signal := j.ExitStatus>>8, j.ExitStatus&0x7f; {
	case signal != 0:
		text += fmt.Sprintf(", by signal %d", signal)
	case code != 0:
		text += fmt.Sprintf(", exit code %d", code)
	}
	if j.Start.IsZero() {
		text += " and never ran"
		if why := cmp.Or(last.Note, strings.Trim(reasonText(j), " ()")); why != "" {
			text += ": " + why
		}
		return text + "\n"
	}
	text += fmt.Sprintf(" after %s", j.End.Sub(j.Start).Round(time.Second))
	switch last.Class {
	case federation.ClassUser:
		text += ", by what the job did"
	case federation.ClassNode, federation.ClassSite:
		text += fmt.Sprintf(", by a failure of the %s", last.Class)
	case federation.ClassPreempt:
		text += ", preempted"
	}
	if last.Class != "" && last.Code != "" && string(last.Code) != string(last.Class) {
		text += fmt.Sprintf(" (%s)", last.Code)
	}
	if last.Note != "" {
		text += ": " + last.Note
	}
	return text + "\n"
}
