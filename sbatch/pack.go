package sbatch

import (
	"strconv"
	"strings"
	"time"
)

// Pack has several tasks of an array share one job at its site.
type Pack struct {
	Size int `json:"size"`           // tasks in a job
	Side int `json:"side,omitempty"` // how many of them run side by side; 0: one after the other
}

// Bounds of a Pack.
const (
	mostPacked = 1000
	mostBeside = 256
)

// SideBySide is how many tasks run side by side.
func (p *Pack) SideBySide() int { return max(p.Side, 1) }

// Packs is how the tasks of the array share jobs; nil: each has its own.
func (s *Spec) Packs() *Pack {
	if s == nil || s.Fed == nil {
		return nil
	}
	return s.Fed.Pack
}

// Why says why the job cannot be packed so; "": it can.
func (p *Pack) Why(s *Spec) string {
	switch {
	case p == nil:
		return ""
	case p.Size < 2 || p.Size > mostPacked:
		return "want 2 to " + strconv.Itoa(mostPacked) + " tasks in a job"
	case p.Side < 0 || p.Side > p.Size || p.Side > mostBeside:
		return "want at most " + strconv.Itoa(min(p.Size, mostBeside)) + " tasks side by side, got " + strconv.Itoa(p.Side)
	case s.Array == "":
		return "only the tasks of an array share a job: give --array"
	case s.MinNodes > 1 || s.MaxNodes > 1:
		return "tasks that share a job run on one node: give --nodes=1, or no --pack"
	case s.Fed != nil && len(s.Fed.Keep) > 0:
		return "--keep saves what one job has written when it ends early: tasks of seconds run again instead"
	case s.Signal != nil:
		return "--signal is for the end of the time limit, which tasks that share a job reach at different times: trap TERM instead"
	}
	return ""
}

// setPack takes K, or K:SIDE.
func setPack(f *Fed, v string) (why string) {
	size, side, beside := strings.Cut(v, ":")
	n, err := strconv.Atoi(size)
	m, err2 := 0, error(nil)
	if beside {
		m, err2 = strconv.Atoi(side)
	}
	if err != nil || err2 != nil || n < 2 || n > mostPacked || beside && (m < 1 || m > n || m > mostBeside) {
		return "want K or K:SIDE, K tasks in a job (2 to " + strconv.Itoa(mostPacked) + "), SIDE of them side by side (up to " + strconv.Itoa(mostBeside) + "), such as 100 or 100:8, got " +
			strconv.Quote(v)
	}
	f.Pack = &Pack{Size: n, Side: m}
	return ""
}

func (p *Pack) text() string {
	if p == nil {
		return ""
	}
	text := strconv.Itoa(p.Size)
	if p.Side > 0 {
		text += ":" + strconv.Itoa(p.Side)
	}
	return text
}

// packGrace is what a job has beyond the limits of its tasks, to begin them and to end those that run into theirs.
const packGrace = 2 * time.Minute

// OfPack is what a job asks for that runs so many tasks, of which s is the Spec: the same for longer. Its tasks have files of their own, and are queued again one
// by one.
func (s *Spec) OfPack(tasks, side int) Spec {
	spec, no := *s, false
	spec.Array, spec.Dependency, spec.Requeue = "", "", &no
	spec.Output, spec.Error, spec.Input = "/dev/null", "", ""
	if s.TimeLimit > 0 && s.TimeLimit != Unlimited {
		spec.TimeLimit = s.TimeLimit*time.Duration((tasks+side-1)/side) + packGrace
	}
	return spec
}
