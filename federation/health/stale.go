package health

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/federation"
)

// Lift is a kind of drains that slurmctld sets by itself and never ends, though what proves that their cause is gone can be seen from outside.
type Lift string

const (
	// LiftRegistration: the node had registered with less memory, CPUs, disk or GRES than configured. Proof: it has registered well since,
	// for slurmctld has taken INVALID_REG away.
	LiftRegistration Lift = "registration"
	// LiftDuplicate: slurmd refused a job whose number still ran there. Proof: the machine or its slurmd has started since, or the node has
	// been free of jobs for ten minutes. The end of the drain makes it register, and then slurmctld ends what it does not know there.
	LiftDuplicate Lift = "duplicate"
	// LiftReboot: processes of a job could not be killed, or a reboot took too long. Proof: the machine has booted since.
	LiftReboot Lift = "reboot"
	// LiftSilence: DOWN because it did not respond, at a site with ReturnToService=0. Proof: it has responded for five minutes.
	LiftSilence Lift = "silence"
)

// Lifts are all of them.
var Lifts = []Lift{LiftRegistration, LiftDuplicate, LiftReboot, LiftSilence}

// SafeLifts are those that need no more than the site's own word: the default.
var SafeLifts = []Lift{LiftRegistration, LiftDuplicate}

// Proof says what proves that the cause of a node's state is gone.
type Proof struct {
	Kind Lift
	Text string
	Hold time.Duration // for so long this has to be seen before it counts
}

// Stale says what proves that the cause of a node's drain, or of its being DOWN, is gone. That can be said of some reasons of slurmctld's own only, and
// only where the site says that slurmUser gave them (or root, as which slurmd runs). Of each other reason it knows nothing: its owner does.
func Stale(n *federation.Node, slurmUser string) (p Proof, ok bool) {
	if n.Reason == "" || n.Info == nil || n.Rented != nil || n.Unconfirmed {
		return p, false
	}
	has := func(s string) bool { return slices.Contains(n.State, s) }
	by, reason := n.Info.ReasonUser, strings.ToLower(n.Reason)
	ofCtld := by != "" && by == slurmUser
	is := ConditionOf(n)
	if has("NOT_RESPONDING") || has("INVALID_REG") || has("POWERED_DOWN") || has("POWERING_DOWN") || has("POWERING_UP") || has("MAINTENANCE") || has("MAINT") || n.Info.ReasonAt.IsZero() {
		return p, false
	}
	booted, started := n.Info.Booted.After(n.Info.ReasonAt), n.Info.Started.After(n.Info.ReasonAt)
	boot := fmt.Sprintf("booted at %s, after the drain", n.Info.Booted.UTC().Format(time.RFC3339))
	switch {
	case is == Drained && ofCtld && badRegistration(reason):
		return Proof{LiftRegistration, "it has registered well since: INVALID_REG is gone", time.Minute}, true
	case is == Drained && ofCtld && strings.HasPrefix(reason, "duplicate jobid") && !has("ALLOCATED") && !has("MIXED") && !has("COMPLETING"):
		switch {
		case booted:
			return Proof{LiftDuplicate, boot + "; no job is there", time.Minute}, true
		case started:
			return Proof{LiftDuplicate, "its slurmd has started since, and no job is there", time.Minute}, true
		}
		return Proof{LiftDuplicate, "no job has been there for ten minutes", 10 * time.Minute}, true
	case is == Drained && (ofCtld || by == "root") && booted && (strings.HasPrefix(reason, "kill task failed") || strings.HasPrefix(reason, "job step not running")),
		is == DownAnswers && ofCtld && booted && strings.HasPrefix(reason, "reboot timed out"):
		return Proof{LiftReboot, boot, time.Minute}, true
	case is == DownAnswers && ofCtld && reason == "not responding":
		return Proof{LiftSilence, "it has responded for five minutes", 5 * time.Minute}, true
	}
	return p, false
}

// badRegistration reports whether a reason, in lower case, tells of nothing but less than configured.
func badRegistration(reason string) bool {
	for _, part := range strings.Split(reason, ", ") {
		low := slices.ContainsFunc([]string{"low realmemory", "low cpus", "low tmpdisk", "low socket*core"}, func(s string) bool { return strings.HasPrefix(part, s) })
		gres := strings.HasPrefix(part, "gres/") && (strings.Contains(part, "count reported lower") || strings.Contains(part, "count too low"))
		if !low && !gres {
			return false
		}
	}
	return true
}
