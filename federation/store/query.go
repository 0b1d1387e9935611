package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"fsub/federation"
)

// maxIDs bounds the parameters of one statement; longer lists of IDs are read in parts.
const maxIDs = 500

// Jobs implements [federation.JobStore].
func (s *jobs) Jobs(ctx context.Context, q federation.JobQuery) ([]federation.Job, error) {
	return selected(ctx, s, q, jobColumns, s.readJob, func(j federation.Job) federation.JobID { return j.ID })
}

// ListJobs implements [federation.JobStore].
func (s *jobs) ListJobs(ctx context.Context, q federation.JobQuery) ([]federation.ListedJob, error) {
	read := func(r *row) (l federation.ListedJob) {
		l.ID = federation.JobID(r.int())
		if of := federation.JobID(r.int()); r.int() == 0 {
			l.Array = of
		}
		return l
	}
	return selected(ctx, s, q, "id, part_of, component", read, func(l federation.ListedJob) federation.JobID { return l.ID })
}

// selected reads columns of the jobs that match q, in its order.
func selected[T any](ctx context.Context, s *jobs, q federation.JobQuery, columns string, read func(*row) T, id func(T) federation.JobID) ([]T, error) {
	some := func() ([]T, error) {
		text, args := selectJobs(columns, q)
		list, err := query(ctx, s.readers, read, text, args...)
		if err != nil {
			return nil, fmt.Errorf("list jobs: %w", err)
		}
		return list, nil
	}
	if len(q.IDs) == 0 {
		return some()
	}
	var all []T
	for ids := range slices.Chunk(sorted(q.IDs), maxIDs) {
		q.IDs = ids
		list, err := some()
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	// A part and its array may be in different chunks, or both be asked for.
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
	all = slices.CompactFunc(all, func(a, b T) bool { return id(a) == id(b) })
	if q.Down {
		slices.Reverse(all)
	}
	if q.Limit > 0 && len(all) > q.Limit {
		all = all[:q.Limit]
	}
	return all, nil
}

// selectJobs is the statement that reads columns of the jobs that match q. The conditions that cut most, and have an index, are sub-selects of IDs: the planner
// would otherwise follow the order of IDs through all jobs ever seen to spare a sort.
func selectJobs(columns string, q federation.JobQuery) (string, []any) {
	var w where
	if len(q.IDs) > 0 {
		some := list(1, len(q.IDs))
		if q.Alone {
			w.terms = append(w.terms, "id IN "+some)
		} else {
			w.terms = append(w.terms, "id IN (SELECT id FROM jobs WHERE id IN "+some+
				" UNION ALL SELECT id FROM jobs WHERE part_of <> 0 AND part_of IN "+some+")")
		}
		for _, id := range q.IDs {
			w.args = append(w.args, int64(id))
		}
	}
	if q.Arrays {
		w.terms = append(w.terms, "array_whole <> ''")
	}
	if q.AfterID > 0 {
		w.and("id > %s", int64(q.AfterID))
	}
	if q.BeforeID > 0 {
		w.and("id < %s", int64(q.BeforeID))
	}
	switch ended := nanos(q.EndedAfter); {
	case q.Live:
		w.and("live")
	case ended != 0 && len(q.IDs) > 0:
		w.and("(live OR end_time >= %s)", ended)
	case ended != 0 && len(q.States) > 0 && !slices.ContainsFunc(q.States, func(s federation.State) bool { return !s.Ended() }):
		w.and("id IN (SELECT id FROM jobs WHERE NOT live AND end_time >= %s)", ended)
	case ended != 0:
		w.and("id IN (SELECT id FROM jobs WHERE live UNION ALL SELECT id FROM jobs WHERE NOT live AND end_time >= %s)", ended)
	}
	if q.User != "" {
		w.and("user_name = %s", q.User)
	}
	if q.Site != "" {
		w.and("site = %s", string(q.Site))
	}
	if q.Name != "" {
		w.and("name = %s", q.Name)
	}
	if len(q.States) > 0 {
		w.in("state", len(q.States))
		for _, state := range q.States {
			w.args = append(w.args, string(state))
		}
	}
	text := "SELECT " + columns + " FROM jobs" + w.text() + " ORDER BY id"
	if q.Down {
		text += " DESC"
	}
	if q.Limit > 0 {
		w.args = append(w.args, q.Limit)
		text += fmt.Sprintf(" LIMIT $%d", len(w.args))
	}
	return text, w.args
}

// where gathers conditions and their parameters.
type where struct {
	terms []string
	args  []any
}

// and adds a condition; %s in it stands for each of args.
func (w *where) and(term string, args ...any) {
	var names []any
	for _, a := range args {
		w.args = append(w.args, a)
		names = append(names, fmt.Sprintf("$%d", len(w.args)))
	}
	w.terms = append(w.terms, fmt.Sprintf(term, names...))
}

// in adds the condition that column is one of the n parameters which the caller appends.
func (w *where) in(column string, n int) {
	w.terms = append(w.terms, column+" IN "+list(len(w.args)+1, n))
}

func (w *where) text() string {
	if len(w.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.terms, " AND ")
}

// sorted returns ids in order, each once.
func sorted(ids []federation.JobID) []federation.JobID {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}
