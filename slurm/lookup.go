package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/slurm/wire"
)

// Lookup asks the controller, then slurmdbd. "Not found" must be true: it lets the federation submit the job again. So
// slurmdbd's no counts only while the controller has nothing left to tell it, and at a mapped site only once nothing can be
// under way to it.
func (d *Driver) Lookup(ctx context.Context, ref federation.JobRef) (federation.SiteJob, error) {
	st, err := d.rights.standing(ctx)
	if err != nil {
		return federation.SiteJob{}, err
	}
	return d.lookupWith(d.onBehalf(ctx, ref), st.of(ref), ref)
}

// lookupOne makes one look-up by itself.
func (d *Driver) lookupOne(ctx context.Context, st standing, ref federation.JobRef) (federation.SiteJob, error) {
	j, err := d.queue.held(ctx, st, ref)
	if err == nil {
		return j, d.addPast(ctx, st, &j)
	}
	past, dbErr := d.records.recorded(ctx, st, ref)
	switch {
	case errors.Is(err, federation.ErrNotFound) && dbErr == nil:
		return past, nil
	case errors.Is(err, federation.ErrNotFound) && errors.Is(dbErr, federation.ErrNotFound):
		return federation.SiteJob{}, d.really(ctx, st, ref)
	case errors.Is(err, federation.ErrNotFound) && errors.Is(dbErr, errNoEndpoint):
		return federation.SiteJob{}, fmt.Errorf("site %s: job %d: %w: the controller does not hold it, and without slurmdbd nobody can say whether it has run",
			d.cfg.Name, ref.ID, federation.ErrUnavailable)
	case errors.Is(err, federation.ErrNotFound):
		return federation.SiteJob{}, dbErr
	case dbErr == nil && settled(past.State) && len(past.Tasks) == 0:
		return past, nil // the controller cannot be asked, and need not be
	}
	return federation.SiteJob{}, err
}

// addPast adds to an array the tasks that only slurmdbd remembers. If they cannot be had, an array that seems to have
// ended is an error.
func (d *Driver) addPast(ctx context.Context, st standing, j *federation.SiteJob) error {
	if len(j.Tasks) == 0 {
		return nil
	}
	past, err := d.records.pastTasks(ctx, st, j)
	if err != nil && j.State.Ended() {
		return err
	}
	addTasks(j, past)
	return nil
}

// pastTasks returns the tasks of an array that slurmdbd has seen end. A site without slurmdbd has none.
func (db *records) pastTasks(ctx context.Context, st standing, j *federation.SiteJob) (map[int]federation.SiteTask, error) {
	past, err := db.recorded(ctx, st, federation.JobRef{ID: j.ID, Key: j.Key, SiteJobID: j.SiteJobID, Submitted: j.Submit})
	if err != nil && !errors.Is(err, federation.ErrNotFound) && !errors.Is(err, errNoEndpoint) {
		return nil, err
	}
	return endedTasks(past.Tasks), nil
}

// settled reports whether a job in state s is never requeued by its site.
func settled(s federation.State) bool {
	switch s {
	case federation.Completed, federation.Cancelled, federation.Deadline:
		return true
	}
	return false
}

// really confirms that a job is unknown: the controller must have delivered all its news to slurmdbd.
func (d *Driver) really(ctx context.Context, st standing, ref federation.JobRef) error {
	id := ref.ID
	// Of one that was acknowledged nothing more is under way.
	if left := d.unsure.left(ref.Key, d.c.now(), d.cfg.Settle); st.mapped && ref.SiteJobID == 0 && left > 0 {
		return fmt.Errorf("site %s: job %d: %w: not found, but a submission of which nothing was heard may arrive for another %s", d.cfg.Name, id, federation.ErrUnavailable, left.Round(time.Second))
	}
	if err := d.delivered(ctx); err != nil {
		return err
	}
	_, err := d.records.recorded(ctx, st, ref)
	if err == nil { // it was on its way
		return fmt.Errorf("site %s: job %d: %w: slurmdbd has just heard of it", d.cfg.Name, id, federation.ErrUnavailable)
	}
	return err
}

// delivered waits until the controller has told slurmdbd all that it has to tell. On a busy site there is nearly always some on its way, for some milliseconds.
func (d *Driver) delivered(ctx context.Context) error {
	var waiting int64
	for range 5 {
		stats, err := d.diag(ctx)
		if err != nil {
			return err
		}
		if waiting = stats.DBDAgentQueueSize; waiting == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("site %s: %w: %v", d.cfg.Name, federation.ErrUnavailable, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fmt.Errorf("site %s: %w: the controller has records that slurmdbd has not taken yet (%d)", d.cfg.Name, federation.ErrUnavailable, waiting)
}

func unknownJob(site federation.SiteName, ref federation.JobRef) error {
	return fmt.Errorf("site %s: job %d: %w", site, ref.ID, federation.ErrNotFound)
}

func noTime(ctx context.Context, site federation.SiteName, ref federation.JobRef) error {
	return fmt.Errorf("site %s: job %d: %w: %v", site, ref.ID, federation.ErrUnavailable, ctx.Err())
}

// diag reads the controller's counters.
func (at *site) diag(ctx context.Context) (wire.Diag, error) {
	var a wire.DiagResponse
	if err := at.c.do(ctx, request{op: "diag", method: http.MethodGet, path: wire.PathDiag}, &a); err != nil {
		return wire.Diag{}, err
	}
	if len(a.Errors) > 0 {
		return wire.Diag{}, fmt.Errorf("site %s: diag: %w", at.cfg.Name, slurmError(federation.ErrUnavailable, a.Errors[0], ""))
	}
	return a.Statistics, nil
}

// held returns the job as the controller holds it.
func (q *queue) held(ctx context.Context, st standing, ref federation.JobRef) (federation.SiteJob, error) {
	id, records, err := q.find(ctx, st, ref)
	if err != nil {
		return federation.SiteJob{}, err
	}
	tr, err := q.c.negotiated(ctx)
	if err != nil {
		return federation.SiteJob{}, err
	}
	var pending []int
	for _, r := range records {
		switch {
		case tr.old && !r.ArrayTaskID.Set:
			pending = append(pending, waitingTasks(r.ArrayTaskString)...)
		case strings.Contains(r.ArrayTaskString, "..."): // cut off
			rows, err := q.states(ctx, strconv.FormatInt(int64(id), 10))
			if err != nil {
				return federation.SiteJob{}, err
			}
			pending = pendingTasks(id, rows)
		}
	}
	return siteJob(q.nameOf(st, id, records), id, records, pending), nil
}

func ofJob(r *wire.DBJob, id number) bool {
	return r.JobID == int64(id) || r.Array.JobID == int64(id)
}

// recordedJob makes one job of slurmdbd's rows. There is a row for each requeue, and there are ghosts: a row that stays PENDING of a job
// that a killed controller forgot, and on 24.11 one for the last task of an array beside its real one. The newest row
// tells; of two of the same time the one that got further.
func recordedJob(n name, id number, rows []wire.DBJob) federation.SiteJob {
	rows = withoutGhosts(rows)
	slices.SortStableFunc(rows, func(a, b wire.DBJob) int {
		return cmp.Or(cmp.Compare(b.Time.Submission, a.Time.Submission), cmp.Compare(progress(&b), progress(&a)))
	})
	rows = ofOneAttempt(rows)
	head := &rows[0]
	if head.Array.JobID == 0 {
		return plainRecord(n, id, head)
	}
	j := plainRecord(n, id, head)
	taken := map[int64]bool{}
	rest := federation.State("")
	for i := range rows {
		r := &rows[i]
		if j.Key == "" {
			j.Key = keyOf(r.Comment.Administrator)
		}
		if !r.Array.TaskID.Set {
			if rest == "" {
				rest = state(r.State.Current)
				j.PendingTasks = tasksText(r.Array.Task, nil)
			}
			continue
		}
		if n := r.Array.TaskID.Number; !taken[n] {
			taken[n] = true
			j.Tasks = append(j.Tasks, recordedTask(r))
		}
	}
	if rest.Ended() {
		j.PendingTasks = ""
	}
	summarize(&j, rest)
	return j
}

// ofOneAttempt drops, from rows sorted newest first, those of earlier attempts of an array at the same site: what was submitted before the
// record of the tasks that wait, and what has another key than the newest one that has any.
func ofOneAttempt(rows []wire.DBJob) []wire.DBJob {
	var since int64
	key := ""
	for _, r := range rows {
		if r.Array.JobID != 0 && !r.Array.TaskID.Set {
			since = max(since, r.Time.Submission)
		}
		if key == "" {
			key = keyOf(r.Comment.Administrator)
		}
	}
	newest := rows[0].Time.Submission
	return slices.DeleteFunc(rows, func(r wire.DBJob) bool {
		k := keyOf(r.Comment.Administrator)
		return r.Time.Submission < min(since, newest) || (k != "" && k != key)
	})
}

// withoutGhosts drops the row that 24.11 leaves when the record of an array becomes that of its
// last task: younger than the real one, PENDING forever, never eligible.
func withoutGhosts(rows []wire.DBJob) []wire.DBJob {
	real := map[int64]bool{}
	for i := range rows {
		if r := &rows[i]; progress(r) > 0 {
			real[r.Array.TaskID.Or(-1)] = true
		}
	}
	return slices.DeleteFunc(rows, func(r wire.DBJob) bool {
		return r.Array.JobID != 0 && r.Array.JobID == r.JobID && r.Array.TaskID.Set && real[r.Array.TaskID.Number] &&
			progress(&r) == 0 && unix(r.Time.Eligible).IsZero()
	})
}

// progress tells how far a row has come: ended before started before waiting.
func progress(r *wire.DBJob) int {
	switch {
	case state(r.State.Current).Ended():
		return 2
	case r.Time.Start > 0:
		return 1
	}
	return 0
}

func plainRecord(n name, id number, r *wire.DBJob) federation.SiteJob {
	j := federation.SiteJob{
		ID: n.job, SiteJobID: uint32(id), Key: cmp.Or(n.key, keyOf(r.Comment.Administrator)), State: recordedState(r), FromAccounting: true,
		User: r.User, Account: r.Account, Partition: r.Partition, QOS: r.QOS, Reason: reasonOf(r), Nodes: nodesOf(r),
		NumNodes: int(r.AllocationNodes), CPUs: int(r.Required.CPUs), TRES: tresText(r.TRES.Allocated),
		Submit: unix(r.Time.Submission), Limit: minutes(r.Time.Limit),
		ExitStatus: waitStatus(r.ExitCode), Restarts: int(r.RestartCnt), Output: r.StdOutExpanded,
	}
	j.GPUs, j.GPUType = gpus(j.TRES)
	for _, t := range r.TRES.Allocated {
		if t.Type == "cpu" {
			j.CPUs = int(t.Count)
		}
	}
	j.Start, j.End = times(j.State, j.Nodes, r.Time.Start, r.Time.End)
	if r.Time.Suspended > 0 && !j.End.IsZero() {
		j.Suspension = federation.Suspension{At: j.End, Ran: time.Duration(r.Time.Elapsed) * time.Second}
	}
	return j
}

// recordedState is the state of a row. One that has a start and nodes has started, whatever the word: 22.05 leaves PENDING there if its
// controller was killed right after the start.
func recordedState(r *wire.DBJob) federation.State {
	s := state(r.State.Current)
	if s == federation.Pending && r.Time.Start > 0 && nodesOf(r) != "" {
		return federation.Running
	}
	return s
}

func recordedTask(r *wire.DBJob) federation.SiteTask {
	t := federation.SiteTask{Index: int(r.Array.TaskID.Number), SiteJobID: uint32(r.JobID), State: recordedState(r), Reason: reasonOf(r),
		Nodes: nodesOf(r), ExitStatus: waitStatus(r.ExitCode), Restarts: int(r.RestartCnt)}
	t.Start, t.End = times(t.State, t.Nodes, r.Time.Start, r.Time.End)
	return t
}

// reasonOf is why a row ended as it did. slurmdbd keeps the last reason for waiting instead.
func reasonOf(r *wire.DBJob) reasons.Reason {
	s := state(r.State.Current)
	switch {
	case !s.Ended() || nodesOf(r) == "":
		return reason(r.State.Reason)
	case s == federation.Failed && waitStatus(r.ExitCode) != 0:
		return reasons.NonZeroExit
	case s == federation.Timeout:
		return reasons.TimeLimit
	}
	return reasons.None
}

// nodesOf gives the hostlist of a row; slurmdbd writes words where there is none.
func nodesOf(r *wire.DBJob) string {
	if strings.EqualFold(r.Nodes, "None assigned") || strings.EqualFold(r.Nodes, "None") {
		return ""
	}
	return r.Nodes
}

// tresText writes TRES as slurmctld does: "cpu=4,mem=4000M,node=1,billing=4,gres/gpu=4".
func tresText(list []wire.TRES) string {
	var items []string
	for _, t := range list {
		if t.Count < 0 { // unknown energy
			continue
		}
		name, unit := t.Type, ""
		if t.Name != "" {
			name += "/" + t.Name
		}
		if t.Type == "mem" {
			unit = "M"
		}
		items = append(items, name+"="+strconv.FormatInt(t.Count, 10)+unit)
	}
	return strings.Join(items, ",")
}
