package jobmail

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fsub/federation"
)

// mostFailures is how many failed tasks the mail of an array names.
const mostFailures = 10

// summary is what became of an array's tasks.
type summary struct {
	states   map[federation.State]int
	failures []failure // the first ones
	failed   int
	min, max int // exit codes
	signal   int // the highest
	ran      bool
}

type failure struct {
	index int
	id    federation.JobID
	state federation.State
	exit  int32
	site  federation.SiteName
}

// summary reads what became of an array's tasks, some at a time: there may be a million.
func (m *Mailer) summary(ctx context.Context, array *federation.Job) (*summary, error) {
	s := &summary{states: map[federation.State]int{}}
	told := 0
	q := federation.JobQuery{IDs: []federation.JobID{array.ID}, Limit: 10_000}
	for {
		jobs, err := m.Store.Jobs(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range jobs {
			if j := &jobs[i]; j.Part != nil {
				told++
				s.add(failure{j.Part.Index, j.ID, j.State, j.ExitStatus, j.Site})
			}
		}
		if len(jobs) < q.Limit {
			break
		}
		q.AfterID = jobs[len(jobs)-1].ID
	}
	if rest := array.Whole.Count - told; rest > 0 { // cancelled while they waited, or of an array that a site has as a whole
		s.states[array.State] += rest
		if told > 0 {
			s.states[array.State] -= rest
			s.states[federation.Cancelled] += rest
		}
	}
	return s, nil
}

func (s *summary) add(f failure) {
	s.states[f.state]++
	code, signal := int(f.exit>>8)&0xff, int(f.exit&0x7f)
	if !s.ran {
		s.min, s.ran = code, true
	}
	s.min, s.max, s.signal = min(s.min, code), max(s.max, code), max(s.signal, signal)
	if f.state == federation.Completed || f.state == federation.Cancelled {
		return
	}
	s.failed++
	at, _ := slices.BinarySearchFunc(s.failures, f, func(a, b failure) int { return a.index - b.index })
	if at < mostFailures {
		s.failures = slices.Insert(s.failures, at, f)
		s.failures = s.failures[:min(len(s.failures), mostFailures)]
	}
}

// term is how slurmctld writes the end of an array.
func (s *summary) term(state federation.State) string {
	switch {
	case s.signal > 0:
		return fmt.Sprintf("Mixed, MaxSignal [%d]", s.signal)
	case s.min == 0 && s.max > 0:
		return fmt.Sprintf("Mixed, ExitCode [%d-%d]", s.min, s.max)
	}
	return fmt.Sprintf("%s, ExitCode [%d-%d]", state, s.min, s.max)
}

// write tells of an array's tasks: how many are in which state, and the first that failed.
func (s *summary) write(w *text, array federation.JobID) {
	var counts []string
	for _, state := range slices.Sorted(maps.Keys(s.states)) {
		if n := s.states[state]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, state))
		}
	}
	w.row("tasks", "%s", strings.Join(counts, ", "))
	if len(s.failures) == 0 {
		return
	}
	w.line("")
	if s.failed > len(s.failures) {
		w.line("The first %d of %d tasks that failed:", len(s.failures), s.failed)
	} else {
		w.line("Tasks that failed:")
	}
	w.line("")
	for _, f := range s.failures {
		where := ""
		if f.site != "" {
			where = " at " + string(f.site)
		}
		w.line("  %d_%d  %s, %s%s", array, f.index, f.state, exitOf(f.exit), where)
	}
}

// exitOf is an exit status in words.
func exitOf(status int32) string {
	if signal := status & 0x7f; signal != 0 {
		return fmt.Sprintf("signal %d", signal)
	}
	return fmt.Sprintf("exit code %d", status>>8)
}
