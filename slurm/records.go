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
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// records finds what slurmdbd has recorded of a job.
type records struct{ *site }

// recorded returns the job as slurmdbd recorded it.
func (db *records) recorded(ctx context.Context, st standing, ref federation.JobRef) (federation.SiteJob, error) {
	if !st.mapped {
		rows, err := db.recordsOf(ctx, number(ref.Pinned()), ref.Submitted)
		if err != nil {
			return federation.SiteJob{}, err
		}
		return recordedJob(name{job: ref.ID}, number(ref.Pinned()), rows), nil
	}
	rows, err := db.searchRecords(ctx, st, ref)
	if err != nil {
		return federation.SiteJob{}, err
	}
	n := number(cmp.Or(rows[0].Array.JobID, rows[0].JobID))
	key := ref.Key
	if who, ok := db.nameInRecord(&rows[0]); ok {
		key = who.key
	}
	return recordedJob(name{ref.ID, key}, n, rows), nil
}

// recordsOf are slurmdbd's rows of a number, without what was submitted before since.
func (db *records) recordsOf(ctx context.Context, id number, since time.Time) ([]wire.DBJob, error) {
	all, err := db.readRecords(ctx, request{op: "dbjob", method: http.MethodGet, db: true, path: wire.PathDBJob + strconv.FormatInt(int64(id), 10)})
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
		return nil, fmt.Errorf("site %s: job %d: %w", db.cfg.Name, id, federation.ErrNotFound)
	}
	return rows, nil
}

// searchSkew is how far the clocks of a site and of this machine may be apart for a search in accounting.
const searchSkew = 10 * time.Minute

// searchRecords finds the rows of a job of a mapped site by its key, not by its number alone: a controller that was killed gives that to others.
// slurmdbd learns a key some seconds after the job, and one that is in a comment only when the job ends, if at all.
func (db *records) searchRecords(ctx context.Context, st standing, ref federation.JobRef) ([]wire.DBJob, error) {
	rows, err := db.recordsWith(ctx, ref, st.wckey)
	if err == nil && len(rows) == 0 && st.wckey && ref.Key != "" && db.c.api.Load() != nil && !db.c.api.Load().old {
		rows, err = db.recordsWith(ctx, ref, false) // a job with a wckey of its user's has it in its comment
	}
	if err != nil || len(rows) > 0 {
		return ofNewest(rows), err
	}
	if rows, err := db.recordsAt(ctx, ref); err != nil || len(rows) > 0 {
		return rows, err
	}
	if err := db.perhapsRan(ctx, st, ref); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("site %s: job %d: %w", db.cfg.Name, ref.ID, federation.ErrNotFound)
}

// recordsWith searches what was submitted since the attempt was made, all of it or what has the attempt's key for its wckey.
func (db *records) recordsWith(ctx context.Context, ref federation.JobRef, wckey bool) ([]wire.DBJob, error) {
	query := submittedSince(ref)
	if wckey && ref.Key != "" {
		query.Set("wckey", ref.Key)
	}
	all, err := db.readRecords(ctx, request{op: "dbjobs", method: http.MethodGet, db: true, path: wire.PathDBJobs, query: query})
	return slices.DeleteFunc(all, func(r wire.DBJob) bool {
		n, ours := db.nameInRecord(&r)
		return !ours || n.job != ref.ID || ref.Key != "" && ref.Key != n.key
	}), err
}

// submittedSince asks for what was submitted since the attempt was made.
func submittedSince(ref federation.JobRef) url.Values {
	since := max(firstTime, ref.Submitted.Add(-searchSkew).Unix())
	return url.Values{"submit_time": {"uts" + strconv.FormatInt(since, 10)}}
}

// firstTime is before any job, in seconds since 1970. slurmrestd takes 0 for no time at all, and refuses it, and other small numbers too.
const firstTime = 1_000_000

// recordsAt returns the rows of the job's number that were submitted in that very second and have
// no key: what slurmdbd has of a job that its controller forgot before it had reported the key. A
// number is not reused within a second.
func (db *records) recordsAt(ctx context.Context, ref federation.JobRef) ([]wire.DBJob, error) {
	if ref.SiteJobID == 0 || ref.SiteSubmit.IsZero() {
		return nil, nil
	}
	rows, err := db.recordsOf(ctx, number(ref.SiteJobID), ref.SiteSubmit)
	if errors.Is(err, federation.ErrNotFound) {
		return nil, nil
	}
	return slices.DeleteFunc(rows, func(r wire.DBJob) bool {
		_, keyed := db.nameInRecord(&r)
		return keyed || r.WCKey.WCKey != "" || r.Time.Submission != ref.SiteSubmit.Unix()
	}), err
}

// perhapsRan fails if slurmdbd has a record under the job's number that may be the job's, and that
// has run: without a key it cannot be told from one of a later job with the same number. Where the
// key is the wckey this cannot happen.
func (db *records) perhapsRan(ctx context.Context, st standing, ref federation.JobRef) error {
	if ref.SiteJobID == 0 {
		return nil
	}
	rows, err := db.recordsOf(ctx, number(ref.SiteJobID), ref.Submitted.Add(-searchSkew))
	if errors.Is(err, federation.ErrNotFound) {
		return nil
	}
	for i := range rows {
		r := &rows[i]
		_, keyed := db.nameInRecord(r)
		if anothers := st.wckey && r.WCKey.WCKey == ""; keyed || anothers || progress(r) == 0 || state(r.State.Current).Ended() && r.Comment.Job != "" {
			continue
		}
		return fmt.Errorf("site %s: job %d: %w: slurmdbd has a record of number %d without a key, which may be this job's or that of another", db.cfg.Name, ref.ID,
			federation.ErrUnavailable, ref.SiteJobID)
	}
	return err
}

// ofNewest keeps the rows of the newest number among those found: of a job that was given twice, the later copy.
func ofNewest(rows []wire.DBJob) []wire.DBJob {
	if len(rows) == 0 {
		return nil
	}
	newest := slices.MaxFunc(rows, func(a, b wire.DBJob) int {
		return cmp.Or(cmp.Compare(progress(&a), progress(&b)), cmp.Compare(a.Time.Submission, b.Time.Submission), cmp.Compare(a.JobID, b.JobID))
	})
	head := cmp.Or(newest.Array.JobID, newest.JobID)
	return slices.DeleteFunc(rows, func(r wire.DBJob) bool { return cmp.Or(r.Array.JobID, r.JobID) != head })
}

func (db *records) nameInRecord(r *wire.DBJob) (name, bool) {
	return db.parseKey(r.Comment.Administrator, r.WCKey.WCKey, r.Comment.Job)
}

func (db *records) readRecords(ctx context.Context, r request) ([]wire.DBJob, error) {
	var a wire.DBJobsResponse
	if err := db.c.do(ctx, r, &a); err != nil {
		return nil, err
	}
	if len(a.Errors) > 0 {
		return nil, fmt.Errorf("site %s: %s: %w", db.cfg.Name, r.op, slurmError(federation.ErrUnavailable, a.Errors[0], ""))
	}
	return a.Jobs, nil
}
