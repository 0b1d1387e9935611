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
	"sync"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// find returns the number of a job, and the records that the controller has of it.
func (d *Driver) find(ctx context.Context, st standing, ref federation.JobRef) (number, []wire.Job, error) {
	if !st.mapped {
		n := number(ref.ID)
		records, err := d.job(ctx, int64(n))
		return n, records, err
	}
	found, err := d.findAll(ctx, ref)
	if err != nil {
		return 0, nil, err
	}
	return found[0].n, found[0].records, nil
}

// found is one copy of a job at a mapped site.
type found struct {
	n       number
	records []wire.Job
}

// findAll returns every copy of a job that the controller of a mapped site holds, what has started first. There is one, but for what
// [Driver.endTwins] is there for.
func (d *Driver) findAll(ctx context.Context, ref federation.JobRef) ([]found, error) {
	if ref.SiteJobID != 0 {
		records, err := d.job(ctx, int64(ref.SiteJobID))
		if err == nil && d.isOf(records, ref) {
			return []found{{number(ref.SiteJobID), records}}, nil
		}
		if err != nil && !errors.Is(err, federation.ErrNotFound) {
			return nil, err
		}
	}
	all, err := d.allJobs(ctx)
	if err != nil {
		return nil, err
	}
	byNumber := map[number][]wire.Job{}
	for _, r := range all {
		if n, ours := d.nameIn(&r); ours && n.job == ref.ID && (ref.Key == "" || ref.Key == n.key) {
			head := number(cmp.Or(r.ArrayJobID.Value(), r.JobID))
			byNumber[head] = append(byNumber[head], r)
		}
	}
	var out []found
	for n, records := range byNumber {
		out = append(out, found{n, records})
	}
	slices.SortFunc(out, func(a, b found) int {
		return cmp.Or(cmp.Compare(standsFor(b.records), standsFor(a.records)), cmp.Compare(attemptOf(d, b), attemptOf(d, a)), cmp.Compare(a.n, b.n))
	})
	if len(out) == 0 {
		return nil, fmt.Errorf("site %s: job %d: %w", d.cfg.Name, ref.ID, federation.ErrNotFound)
	}
	return out, nil
}

// standsFor orders copies of a job: one that lives, and has started, stands for it.
func standsFor(records []wire.Job) int {
	best := 0
	for i := range records {
		switch s := state(records[i].State); {
		case s.Started():
			best = max(best, 2)
		case !s.Ended():
			best = max(best, 1)
		}
	}
	return best
}

func attemptOf(d *Driver, f found) int {
	n, _ := d.nameIn(&f.records[0])
	_, number, _ := cutKey(n.key)
	return number
}

// isOf reports whether records are those of the job that is meant.
func (d *Driver) isOf(records []wire.Job, ref federation.JobRef) bool {
	for i := range records {
		if n, ours := d.nameIn(&records[i]); ours {
			return n.job == ref.ID && (ref.Key == "" || n.key == ref.Key)
		}
	}
	return false
}

// numbers are those of the job at the site, one but for second copies. ErrNotFound: a mapped site does not know it.
func (d *Driver) numbers(ctx context.Context, ref federation.JobRef) ([]number, error) {
	st, err := d.standing(ctx)
	if err != nil || !st.of(ref).mapped {
		return []number{number(ref.ID)}, err
	}
	all, err := d.findAll(ctx, ref)
	if err != nil {
		return nil, err
	}
	var out []number
	for _, f := range all {
		out = append(out, f.n)
	}
	return out, nil
}

// recorded returns the job as slurmdbd recorded it.
func (d *Driver) recorded(ctx context.Context, st standing, ref federation.JobRef) (federation.SiteJob, error) {
	if !st.mapped {
		rows, err := d.recordsOf(ctx, number(ref.ID), ref.Submitted)
		if err != nil {
			return federation.SiteJob{}, err
		}
		return recordedJob(name{job: ref.ID}, number(ref.ID), rows), nil
	}
	rows, err := d.searchRecords(ctx, st, ref)
	if err != nil {
		return federation.SiteJob{}, err
	}
	n := number(cmp.Or(rows[0].Array.JobID, rows[0].JobID))
	key := ref.Key
	if who, ok := d.nameInRecord(&rows[0]); ok {
		key = who.key
	}
	return recordedJob(name{ref.ID, key}, n, rows), nil
}

// recordsOf are slurmdbd's rows of a number, without what was submitted before since.
func (d *Driver) recordsOf(ctx context.Context, id number, since time.Time) ([]wire.DBJob, error) {
	all, err := d.readRecords(ctx, request{op: "dbjob", method: http.MethodGet, db: true, path: wire.PathDBJob + strconv.FormatInt(int64(id), 10)})
	if err != nil {
		return nil, err
	}
	var rows []wire.DBJob
	for _, r := range all {
		if ofJob(&r, id) && r.Time.Submission >= since.Unix() {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("site %s: job %d: %w", d.cfg.Name, id, federation.ErrNotFound)
	}
	return rows, nil
}

// searchSkew is how far the clocks of a site and of this machine may be apart for a search in accounting.
const searchSkew = 10 * time.Minute

// searchRecords finds the rows of a job of a mapped site by its key, never by its number: a controller that was killed gives that to others.
// slurmdbd learns a key some seconds after the job, and one that is in a comment only when the job ends, if at all.
func (d *Driver) searchRecords(ctx context.Context, st standing, ref federation.JobRef) ([]wire.DBJob, error) {
	query := url.Values{"submit_time": {"uts" + strconv.FormatInt(max(0, ref.Submitted.Add(-searchSkew).Unix()), 10)}}
	if st.wckey && ref.Key != "" {
		query.Set("wckey", ref.Key)
	}
	all, err := d.readRecords(ctx, request{op: "dbjobs", method: http.MethodGet, db: true, path: wire.PathDBJobs, query: query})
	if err != nil {
		return nil, err
	}
	var rows []wire.DBJob
	for _, r := range all {
		if n, ours := d.nameInRecord(&r); ours && n.job == ref.ID && (ref.Key == "" || n.key == ref.Key) {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 && !st.wckey && ref.SiteJobID != 0 {
		if _, err := d.recordsOf(ctx, number(ref.SiteJobID), ref.Submitted.Add(-searchSkew)); !errors.Is(err, federation.ErrNotFound) {
			return nil, fmt.Errorf("site %s: job %d: %w: slurmdbd has a record of number %d without its key, which may be that of another job", d.cfg.Name, ref.ID,
				federation.ErrUnavailable, ref.SiteJobID)
		}
	}
	return ofNewest(d, rows, ref)
}

// ofNewest keeps the rows of the newest number among those found: of a job that was given twice, the later copy.
func ofNewest(d *Driver, rows []wire.DBJob, ref federation.JobRef) ([]wire.DBJob, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("site %s: job %d: %w", d.cfg.Name, ref.ID, federation.ErrNotFound)
	}
	newest := slices.MaxFunc(rows, func(a, b wire.DBJob) int {
		return cmp.Or(cmp.Compare(progress(&a), progress(&b)), cmp.Compare(a.Time.Submission, b.Time.Submission), cmp.Compare(a.JobID, b.JobID))
	})
	head := cmp.Or(newest.Array.JobID, newest.JobID)
	return slices.DeleteFunc(rows, func(r wire.DBJob) bool { return cmp.Or(r.Array.JobID, r.JobID) != head }), nil
}

func (d *Driver) nameInRecord(r *wire.DBJob) (name, bool) {
	return d.parseKey(r.Comment.Administrator, r.WCKey.WCKey, r.Comment.Job)
}

func (d *Driver) readRecords(ctx context.Context, r request) ([]wire.DBJob, error) {
	var a wire.DBJobsResponse
	if err := d.c.do(ctx, r, &a); err != nil {
		return nil, err
	}
	if len(a.Errors) > 0 {
		return nil, fmt.Errorf("site %s: %s: %w", d.cfg.Name, r.op, slurmError(federation.ErrUnavailable, a.Errors[0], ""))
	}
	return a.Jobs, nil
}

// adoptMapped looks for an attempt at a mapped site. A receipt that is not adopted says that the site has it not.
func (d *Driver) adoptMapped(ctx context.Context, st standing, s *federation.Submission) (federation.Receipt, error) {
	there, err := d.held(ctx, st, federation.JobRef{ID: s.Job.ID, Key: s.Key, Submitted: s.Job.Submit})
	switch {
	case errors.Is(err, federation.ErrNotFound):
		return federation.Receipt{}, nil
	case err != nil:
		return federation.Receipt{}, err
	case wasRefused(&there):
		err := slurmError(federation.ErrCapacity, wire.Error{Number: wire.ErrNodeConfig}, "")
		return federation.Receipt{}, fmt.Errorf("submit job %d to %s: %w", s.Job.ID, d.cfg.Name, err)
	}
	return federation.Receipt{SiteJobID: there.SiteJobID, Adopted: true}, nil
}

// doubts remembers when a submission was last sent of which nothing was heard.
type doubts struct {
	mu    sync.Mutex
	begin time.Time // before that another process may have sent some
	sent  map[string]time.Time
}

func (u *doubts) note(key string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sent == nil {
		u.sent = map[string]time.Time{}
	}
	u.sent[key] = now
	for k, at := range u.sent {
		if now.Sub(at) > time.Hour {
			delete(u.sent, k)
		}
	}
}

// left is how long the last submission of an attempt may still take effect.
func (u *doubts) left(key string, now time.Time, settle time.Duration) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := u.begin
	if t, ok := u.sent[key]; ok {
		at = t
	}
	return settle - now.Sub(at)
}

// until2302 reports whether the site is Slurm 23.02 or older.
func (c *client) until2302() bool {
	release, _ := c.release.Load().(string)
	return strings.HasPrefix(release, "22.") || strings.HasPrefix(release, "23.02")
}

// takesArguments reports whether a script may have arguments: slurmrestd before 22.05.9 takes such a job, and dies.
func (c *client) takesArguments() bool {
	release, _ := c.release.Load().(string)
	patch, ok := strings.CutPrefix(release, "22.05.")
	n, err := strconv.Atoi(patch)
	return !ok || err == nil && n >= 9
}
