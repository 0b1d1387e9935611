package restd

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/journal"
	"fsub/slurm/wire"
)

// diag is GET /diag: the counters that the store can tell.
func (s *Server) diag(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	now := s.Now()
	d := wire.Diag{ReqTime: wire.Time(now), ServerThreadCount: 1}
	err := s.counters.fill(r.Context(), s.Store, &d, now)
	if err == nil {
		err = s.census.fill(r.Context(), s.Store, &d, now)
	}
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	return write(w, r, wire.DiagResponse{Statistics: d, Reply: s.Reply(r, c)})
}

// counters count what has happened to jobs since the last midnight of UTC, when slurmctld begins anew, as far as the store's log goes back. A
// task of an array counts as a job.
type counters struct {
	mu    sync.Mutex
	mark  journal.Mark // 0: nothing has been read
	since time.Time
	day   tally
}

type tally struct{ submitted, started, completed, failed, cancelled int64 }

func (n *counters) fill(ctx context.Context, store Store, d *wire.Diag, now time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	midnight := now.UTC().Truncate(24 * time.Hour)
	if n.since.Before(midnight) {
		n.begin(cmp.Or(n.mark, journal.OldestMark), midnight)
	}
	err := n.follow(ctx, store)
	if errors.Is(err, federation.ErrTrimmed) {
		n.begin(journal.OldestMark, midnight)
		err = n.follow(ctx, store)
	}
	d.ReqTimeStart = wire.Time(n.since)
	d.JobsSubmitted, d.JobsStarted = n.day.submitted, n.day.started
	d.JobsCompleted, d.JobsFailed, d.JobsCanceled = n.day.completed, n.day.failed, n.day.cancelled
	return err
}

func (n *counters) begin(mark journal.Mark, since time.Time) {
	n.mark, n.since = mark, since
	n.day = tally{}
}

func (n *counters) follow(ctx context.Context, store Store) error {
	for {
		log, err := store.Changes(ctx, n.mark, LogPage)
		if err != nil {
			return err
		}
		if n.mark == journal.OldestMark && len(log.Commits) > 0 && log.Commits[0].At.After(n.since) {
			n.since = log.Commits[0].At // it goes back no further
		}
		if err := n.count(ctx, store, log.Commits); err != nil {
			return err
		}
		if n.mark = log.Mark; len(log.Commits) < LogPage {
			return nil
		}
	}
}

func (n *counters) count(ctx context.Context, store Store, commits []journal.Commit) error {
	var ids []federation.JobID
	var changes []journal.Change
	for _, commit := range commits {
		if commit.At.Before(n.since) {
			continue
		}
		for _, c := range commit.Changes {
			if c.Kind == journal.ChangeMove || c.Kind == journal.ChangeJob && c.How == journal.Created {
				ids, changes = append(ids, c.Job), append(changes, c)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	jobs, err := store.Jobs(ctx, federation.JobQuery{IDs: ids, Alone: true})
	if err != nil {
		return err
	}
	byID := make(map[federation.JobID]*federation.Job, len(jobs))
	for i := range jobs {
		byID[jobs[i].ID] = &jobs[i]
	}
	for _, c := range changes {
		if j := byID[c.Job]; j != nil {
			n.add(&c, j)
		}
	}
	return nil
}

func (n *counters) add(c *journal.Change, j *federation.Job) {
	if c.Kind == journal.ChangeJob {
		switch {
		case j.Whole != nil:
			n.day.submitted += int64(j.Whole.Count)
		case j.Part == nil: // which was submitted with its array
			n.day.submitted++
		}
		return
	}
	tasks := max(int64(c.Move.Tasks.Len()), 1)
	if j.Whole != nil && c.Move.Task < 0 && c.Move.Tasks.Len() == 0 {
		return // its tasks count
	}
	switch {
	case c.Move.What == journal.MoveStart:
		n.day.started++
	case c.Move.What != journal.MoveEnd:
	case c.Move.State == federation.Completed:
		n.day.completed++
	case c.Move.State == federation.Cancelled:
		n.day.cancelled += tasks
	default:
		n.day.failed++
	}
}

// census counts the jobs that wait and run. As slurmctld it does not count anew each time that it is asked: of a million jobs that takes seconds.
type census struct {
	mu               sync.Mutex
	pending, running int64
	at               time.Time
	until            time.Time // by the clock of the machine
}

func (n *census) fill(ctx context.Context, store Store, d *wire.Diag, now time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if began := time.Now(); began.After(n.until) {
		if err := n.count(ctx, store); err != nil {
			return err
		}
		n.at = now
		n.until = time.Now().Add(min(20*time.Since(began), 30*time.Second))
	}
	d.JobsPending, d.JobsRunning, d.JobStatesTS, d.ScheduleQueueLen = n.pending, n.running, wire.Time(n.at), n.pending
	return nil
}

// count reads the live jobs page by page.
func (n *census) count(ctx context.Context, store Store) error {
	n.pending, n.running = 0, 0
	for query := (federation.JobQuery{Live: true, Limit: 10_000}); ; {
		jobs, err := store.Jobs(ctx, query)
		if err != nil {
			return err
		}
		for i := range jobs {
			switch j := &jobs[i]; {
			case j.State == federation.Pending, j.Whole != nil && j.Whole.Spread:
				n.pending += waiting(j)
			case j.State.Started():
				n.running++
			}
		}
		if len(jobs) < query.Limit {
			return nil
		}
		query.AfterID = jobs[len(jobs)-1].ID
	}
}

// waiting is how many jobs j stands for that wait: tasks, if it is an array.
func waiting(j *federation.Job) int64 {
	switch {
	case j.Spec.Array == "" && j.Whole != nil:
		return 0 // all have started
	case j.Spec.Array == "":
		return 1
	}
	array, err := federation.ReadArray(j.Spec.Array)
	if err != nil {
		return 1
	}
	return int64(array.Len())
}
