package sbatch

import (
	"strconv"
	"strings"
	"time"
)

// What a job on several nodes does when one of them is lost.
const (
	LossRequeue = "requeue" // it ends, and is queued again
	LossWait    = "wait"    // it keeps its other nodes, and begins again when another one has come in the lost one's place
	LossShrink  = "shrink"  // it goes on without the node
)

// DefaultLossWait is how long a job waits for another node if it does not say, and MostLossWait the longest: its other machines are paid for meanwhile, by no job.
const (
	DefaultLossWait = 30 * time.Minute
	MostLossWait    = 24 * time.Hour
)

// setOnNodeLoss takes requeue, wait, wait:TIME or shrink.
func setOnNodeLoss(f *Fed, v string) (why string) {
	if v == "" {
		return wantLoss(v)
	}
	old := f.OnNodeLoss
	f.OnNodeLoss = strings.ToLower(v)
	if why := f.InvalidNodeLoss(); why != "" {
		f.OnNodeLoss = old
		return why
	}
	return ""
}

// InvalidNodeLoss says what is wrong with --on-node-loss; "": nothing.
func (f *Fed) InvalidNodeLoss() string {
	if f == nil || f.OnNodeLoss == "" {
		return ""
	}
	do, text, timed := strings.Cut(f.OnNodeLoss, ":")
	d, ok := TimeLimit(text)
	switch {
	case do == LossWait && (!timed || ok && d > 0 && d <= MostLossWait), !timed && (do == LossRequeue || do == LossShrink):
		return ""
	}
	return wantLoss(f.OnNodeLoss)
}

func wantLoss(got string) string {
	return "want requeue, wait, wait:TIME (minutes, HH:MM:SS or D-HH:MM:SS; at most a day) or shrink, got " + strconv.Quote(got)
}

// NodeLoss is what the job does when it loses a node, and for how long it waits then. Slurm's --no-kill is shrink.
func (s *Spec) NodeLoss() (do string, wait time.Duration) {
	asked := ""
	if s.Fed != nil {
		asked = s.Fed.OnNodeLoss
	}
	do, text, _ := strings.Cut(asked, ":")
	switch {
	case do == "" && s.More != nil && s.More.NoKill:
		return LossShrink, 0
	case do == "":
		return LossRequeue, 0
	case do != LossWait:
		return do, 0
	}
	if d, ok := TimeLimit(text); ok && d > 0 {
		return do, min(d, MostLossWait)
	}
	return do, DefaultLossWait
}

// InvalidLossOf says why a job cannot do what --on-node-loss asks for; "": it can.
func (s *Spec) InvalidLossOf() string {
	if do, _ := s.NodeLoss(); do == LossWait && s.Requeue != nil && !*s.Requeue {
		return "wait begins the script again, which --no-requeue forbids"
	}
	return ""
}
