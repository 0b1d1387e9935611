package srun

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/steps/wire"
	"fsub/slurm/hostlist"
)

// exitCode is srun's: the highest of its tasks'; a task that a signal ended counts for more than
// any that exited, as 128 and the signal.
type exitCode struct {
	signal, exit int
}

func (e *exitCode) add(status uint32) {
	w := syscall.WaitStatus(status)
	if w.Signaled() {
		e.signal = max(e.signal, int(w.Signal()))
	}
	if w.Exited() {
		e.exit = max(e.exit, w.ExitStatus())
	}
}

func (e *exitCode) code() int {
	if e.signal != 0 {
		return 128 + e.signal
	}
	return e.exit
}

// ended reports tasks of one node that have ended; those that ended alike share a line.
func (s *session) ended(node int, exits []wire.Exit) {
	const oom = 1 << 31
	byStatus := map[uint32][]int{}
	var order []uint32
	for _, e := range exits {
		if e.Rank >= len(s.state) || s.state[e.Rank] > running {
			continue
		}
		s.left--
		s.state[e.Rank] = exited
		if e.Status != 0 {
			s.state[e.Rank] = exitedBadly
		}
		status := e.Status
		if e.OOM {
			status |= oom
		}
		if byStatus[status] == nil {
			order = append(order, status)
		}
		byStatus[status] = append(byStatus[status], e.Rank)
		s.exit.add(e.Status)
	}
	if s.exited.IsZero() && len(order) > 0 {
		s.exited = time.Now()
		s.startWait()
	}
	bad := false
	for _, status := range order {
		ranks := byStatus[status]
		slices.Sort(ranks)
		s.tell(s.layout.Nodes[node].Name, status&^oom, status&oom != 0, ranks)
		bad = bad || status != 0
		w := syscall.WaitStatus(status &^ oom)
		s.forced = s.forced || w.Signaled() && (w.Signal() == syscall.SIGKILL || w.Signal() == syscall.SIGTERM)
	}
	if bad && s.first.killBad && s.left > 0 && !s.aborted {
		s.info("Terminating StepId=" + s.name())
		s.first.killBad, s.quietAbort = false, true
		s.kill(max(time.Duration(s.layout.GraceMS)*time.Millisecond, time.Second))
	}
}

// tell says how tasks ended; with 0 only if asked to.
func (s *session) tell(node string, status uint32, oom bool, ranks []int) {
	word, list := "task", hostlist.Ranges(ranks)
	if len(ranks) > 1 {
		word = "tasks"
	}
	where := node + ": " + word + " " + list + ": "
	w := syscall.WaitStatus(status)
	switch {
	case oom:
		s.error(where + "Out Of Memory")
	case w.Signaled() && w.Signal() == syscall.SIGINT && s.aborted: // it was asked for
	case w.Signaled():
		core := ""
		if w.CoreDump() {
			core = " (core dumped)"
		}
		s.error(where + signalWords(w.Signal()) + core)
	case w.ExitStatus() != 0:
		s.error(where + "Exited with exit code " + strconv.Itoa(w.ExitStatus()))
	case s.first.verbose > 0:
		s.info(where + "Completed")
	}
}

// signalWords is strsignal's text.
func signalWords(sig syscall.Signal) string {
	text := sig.String()
	if sig == unix.SIGTRAP {
		return "Trace/breakpoint trap"
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// startWait is --wait: some time after the first task's end the others are killed.
func (s *session) startWait() {
	if s.first.wait == 0 || s.left == 0 {
		return
	}
	time.AfterFunc(s.first.wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.left == 0 || s.aborted {
			return
		}
		s.info(fmt.Sprintf("First task exited %ds ago", int(s.first.wait/time.Second)))
		s.sayStates()
		s.info("Terminating StepId=" + s.name())
		s.kill(0)
	})
}

// sayStates tells which tasks are how far.
func (s *session) sayStates() {
	for _, g := range [...]struct {
		state taskState
		word  string
	}{{unstarted, "unstarted"}, {running, "running"}, {exited, "exited"}, {exitedBadly, "exited abnormally"}} {
		var ranks []int
		for r, st := range s.state {
			if st == g.state {
				ranks = append(ranks, r)
			}
		}
		if len(ranks) == 0 {
			continue
		}
		word := "task"
		if len(ranks) > 1 {
			word = "tasks"
		}
		s.info(fmt.Sprintf("StepId=%s %s %s: %s", s.name(), word, hostlist.Ranges(ranks), g.word))
	}
}

// abortWords is printed once, when the step is being ended from outside.
func (s *session) abortWords() {
	if s.aborted || s.quietAbort || s.left == 0 {
		return
	}
	s.aborted = true
	s.info(fmt.Sprintf("Job step aborted: Waiting up to %d seconds for job step to finish.", s.layout.GraceMS/1000+2))
}

// sayLaunch is what -v tells of a step.
func (s *session) sayLaunch() {
	if s.first.verbose == 0 {
		return
	}
	for _, n := range s.layout.Nodes {
		s.info(fmt.Sprintf("launching StepId=%s on host %s, %d tasks: %s", s.name(), n.Name, len(n.Ranks), hostlist.Ranges(n.Ranks)))
	}
}

// sayTest is what --test-only tells.
func (s *session) sayTest() {
	var names []string
	cpus := 0
	for _, n := range s.layout.Nodes {
		names = append(names, n.Name)
		cpus += n.CPUs
	}
	s.info(fmt.Sprintf("Job %d to start at %s using %d processors on nodes %s in partition %s", s.layout.Job, time.Now().Format("2006-01-02T15:04:05"), cpus,
		hostlist.Compress(names), envOf(s.env, "SLURM_JOB_PARTITION")))
}
