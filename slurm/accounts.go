package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"fsub/accounting"
	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/driver"
	"fsub/slurm/wire"
)

// mostAccounts bounds an answer of slurmdbd's, in bytes. What slurmrestd builds of it in memory is many times as much.
const mostAccounts = 64 << 20

var (
	endedStates = []string{"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "REQUEUED", "RESIZING", "REVOKED"}
	endedOld    = endedStates[:9] // that the API of 22.05 can name
	liveStates  = []string{"RUNNING", "SUSPENDED"}
)

// namedFor is how long a site of 22.05 that has too many waiting jobs is asked by states only.
const namedFor = time.Hour

// books tells what jobs came to, from what slurmdbd has recorded of them: ours, and those that users have submitted to the site directly.
type books struct {
	*site
	records *records
	named   atomic.Int64 // until when accounts of 22.05 are asked for by states only, in Unix seconds
}

// Accounts implements [driver.Accountant] with one call to slurmdbd. It names the states that a row ends in: slurmdbd then looks for ends in the window
// only. Without states it would give everything that waits and runs too, in each answer. The API of 22.05 cannot name REQUEUED, so there it does, until such
// an answer is too long: then rows of 22.05 that were requeued are missed rather than slurmrestd filled.
func (b *books) Accounts(ctx context.Context, from, until time.Time, steps bool) ([]driver.SiteRun, error) {
	tr, err := b.accountsAPI(ctx)
	if err != nil {
		return nil, err
	}
	states := endedStates
	switch {
	case tr.old && (steps || b.c.now().Unix() < b.named.Load()):
		states = endedOld
	case tr.old:
		states = nil
	}
	runs, err := b.accounts(ctx, from, until, states, steps)
	if states == nil && errors.Is(err, driver.ErrTooLong) {
		b.named.Store(b.c.now().Add(namedFor).Unix())
		runs, err = b.accounts(ctx, from, until, endedOld, steps)
	}
	return slices.DeleteFunc(runs, func(r driver.SiteRun) bool { return r.Live || r.End < from.Unix() || r.End > until.Unix() }), err
}

// Live implements [driver.Accountant] with one call to slurmdbd.
func (b *books) Live(ctx context.Context) ([]driver.SiteRun, error) {
	now := b.c.now()
	runs, err := b.accounts(ctx, now.Add(-time.Second), now, liveStates, false)
	return slices.DeleteFunc(runs, func(r driver.SiteRun) bool { return !r.Live }), err
}

func (b *books) accountsAPI(ctx context.Context) (*translation, error) {
	if b.cfg.NoAssociations {
		return nil, fmt.Errorf("%w: site %s is configured to be without accounts", federation.ErrInvalid, b.cfg.Name)
	}
	tr, err := b.c.negotiated(ctx)
	if err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	return tr, nil
}

// accounts reads rows, all of them where no states are named. Their steps would be most of the answer. With any flag, slurmrestd of 24.11 and later leaves out
// the rows of runs that were requeued, and cuts times to the window, unless two more flags tell it otherwise.
func (b *books) accounts(ctx context.Context, from, until time.Time, states []string, steps bool) ([]driver.SiteRun, error) {
	tr, err := b.accountsAPI(ctx)
	if err != nil {
		return nil, err
	}
	asked := b.c.now()
	q := url.Values{"start_time": {"uts" + strconv.FormatInt(max(0, from.Unix()), 10)}, "end_time": {"uts" + strconv.FormatInt(until.Unix(), 10)}}
	if !steps {
		q.Set("skip_steps", "true")
	}
	if !tr.old {
		q.Set("show_duplicates", "true")
		q.Set("disable_truncate_usage_time", "true")
		q["state"] = states
	} else if len(states) > 0 {
		q.Set("state", strings.Join(states, ","))
	}
	var a wire.DBJobsResponse
	if err := b.c.do(ctx, request{op: "accounts", method: http.MethodGet, db: true, path: wire.PathDBJobs, query: q, most: mostAccounts}, &a); err != nil {
		return nil, err
	}
	if len(a.Errors) > 0 {
		return nil, fmt.Errorf("site %s: accounts: %w", b.cfg.Name, slurmError(federation.ErrUnavailable, a.Errors[0], ""))
	}
	cluster := a.Meta.Slurm.Cluster
	tres := map[string]string{}
	out := make([]driver.SiteRun, 0, len(a.Jobs))
	for i := range a.Jobs {
		r := &a.Jobs[i]
		if cluster != "" && r.Cluster != "" && r.Cluster != cluster || r.Time.Start <= 0 || len(r.TRES.Allocated) == 0 {
			continue // of another cluster; or it held nothing
		}
		if n, keyed := b.records.nameInRecord(r); keyed && runsTasks(n.key) {
			continue // what it held is charged to the tasks that have shared it
		}
		out = append(out, b.runOf(r, asked, tres))
	}
	return out, nil
}

// runOf reads a row. shared are the texts of TRES read so far: most rows hold what others do.
func (b *books) runOf(r *wire.DBJob, asked time.Time, shared map[string]string) driver.SiteRun {
	run := driver.SiteRun{Association: r.Association.ID}
	e := &run.Entry
	e.Source, e.ReadAt, e.Number = ledger.FromSite, asked.UnixMilli(), r.JobID
	e.Submit, e.Start, e.End, e.Suspended = r.Time.Submission, r.Time.Start, r.Time.End, r.Time.Suspended
	e.Wait = max(0, e.Start-max(e.Submit, r.Time.Eligible))
	e.State = string(state(r.State.Current))
	if wire.BaseState(r.State.Current) == "" && len(r.State.Current) > 0 { // REQUEUED, RESIZING: flags alone
		e.State = r.State.Current[0]
	}
	if e.End == 0 {
		run.Live, e.End = true, max(e.Start, asked.Unix())
	}
	if l := r.Time.Limit; l.Set && !l.Infinite {
		e.Limit = l.Number * 60
	}
	held := accounting.TRES{}
	for _, t := range r.TRES.Allocated {
		if t.Type != "energy" && t.Count >= 0 { // energy was used, not held; it is -2 where nobody measures it
			held[tresName(t)] = t.Count
		}
	}
	text := held.String()
	if have, ok := shared[text]; ok {
		text = have
	} else {
		shared[text] = text
	}
	e.TRES = text
	e.CPUUsed, e.GPUUsed = -1, -1
	if len(r.Steps) > 0 && !run.Live {
		e.CPUUsed, e.GPUUsed = r.Time.Total.Seconds, gpuUse(r.Steps)
	}
	e.Fate = ledger.FateOf(e.State, ledger.GPUs(held), e.GPUUsed)
	e.ID = b.idOf(r)
	e.Group = ledger.Group{Site: e.Site, Account: r.Account, User: cmp.Or(r.Association.User, r.User), QOS: r.QOS, Partition: r.Partition, GPU: ledger.GPUType(held), Name: ledger.FoldName(r.Name)}
	return run
}

// idOf is the name of a row's run in the books.
func (b *books) idOf(r *wire.DBJob) ledger.ID {
	id := ledger.ID{Site: string(b.cfg.Name), Kind: ledger.OwnJob, Task: r.Array.TaskID.Or(0), At: r.Time.Start}
	head := cmp.Or(r.Array.JobID, r.JobID)
	n, keyed := b.records.nameInRecord(r)
	switch {
	case keyed && r.Het.JobID == 0: // components of a heterogeneous job have the key of the first
		id.Job = int64(n.job)
	case b.cfg.ours(head):
		id.Job = head
	default:
		return ledger.ID{Site: id.Site, Kind: ledger.SiteJob, Job: r.JobID, At: r.Time.Submission}
	}
	return id
}

// tresName is a TRES in the words of slurm.conf: "cpu", "gres/gpu:h100".
func tresName(t wire.TRES) string {
	if t.Name == "" {
		return t.Type
	}
	return t.Type + "/" + t.Name
}

// gpuUse is the mean use of the GPUs over a job's steps in thousandths, -1 where none tells it (AccountingStorageTRES has no gres/gpuutil).
func gpuUse(steps []wire.DBStep) int64 {
	sum, seconds := int64(0), int64(0)
	for i := range steps {
		for _, t := range steps[i].TRES.Requested.Average {
			if t.Type == "gres" && t.Name == "gpuutil" {
				took := max(1, steps[i].Time.Elapsed)
				sum, seconds = sum+min(t.Count, 100)*10*took, seconds+took
			}
		}
	}
	if seconds == 0 {
		return -1
	}
	return sum / seconds
}
