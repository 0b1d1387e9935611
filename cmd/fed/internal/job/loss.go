package job

import (
	"cmp"
	"fmt"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/sbatch"
)

// lossText says what followed from the loss of a node.
func lossText(l federation.NodeLoss) string {
	text := ""
	switch {
	case l.Shrunk:
		text = ", the job went on without"
	case l.By == l.Node:
		text = ", replaced by another machine of its name"
	case l.By != "":
		text = ", replaced by " + l.By
	default:
		text = ", nothing came in its place"
	}
	return text + ": " + cmp.Or(l.Why, "for a reason that is not known")
}

// onLossText says what a job does when it loses a node where a decision has it run; "": as any job.
func onLossText(s *sbatch.Spec, d *decision.Decision) string {
	do, within := s.NodeLoss()
	site, rents := federation.SiteName(""), true
	if len(d.Offers) > 0 {
		site, rents = d.Offers[0].Site, d.Offers[0].Offering != ""
	}
	switch {
	case do == sbatch.LossRequeue:
		return ""
	case do == sbatch.LossShrink && rents:
		return "goes on without a node that is lost"
	case do == sbatch.LossShrink:
		return fmt.Sprintf("may go on without a node that is lost: %s is told --no-kill", site)
	case !rents:
		return fmt.Sprintf("is queued again: nothing waits for a lost node at %s, only on rented machines", site)
	}
	return fmt.Sprintf("keeps its other nodes for up to %s, and begins again on them and another one", timeText(within))
}

func timeText(d time.Duration) string {
	if d >= time.Minute && d%time.Minute == 0 {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return d.String()
}

// lastDecision is why the last of some attempts went where it did.
func lastDecision(attempts []federation.Attempt) *decision.Decision {
	if len(attempts) == 0 {
		return &decision.Decision{}
	}
	return &attempts[len(attempts)-1].Decision
}
