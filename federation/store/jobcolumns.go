package store

import (
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/federation/stored"
	"fsub/sbatch"
)

// column is a column of the table of jobs: how it is written, and how it is read. Those before it have been read.
type column struct {
	name  string
	value func(*federation.Job) any
	read  func(*jobs, *federation.Job, *row)
}

// fixedColumns never change once a job is stored, but for rev, which the transaction sets in both.
var fixedColumns = []column{
	numberColumn("id", func(j *federation.Job) *federation.JobID { return &j.ID }),
	numberColumn("rev", func(j *federation.Job) *int64 { return &j.Rev }),
	wordColumn("user_name", func(j *federation.Job) *string { return &j.User }),
	numberColumn("uid", func(j *federation.Job) *uint32 { return &j.UID }),
	numberColumn("gid", func(j *federation.Job) *uint32 { return &j.GID }),
	derivedColumn("name", func(j *federation.Job) any { return specOf(j).Name }), // it is in the spec
	wordColumn("submit_host", func(j *federation.Job) *string { return &j.SubmitHost }),
	{"spec", func(*federation.Job) any { return nil }, func(s *jobs, j *federation.Job, r *row) { // jobValues writes it
		read := s.specs.read(r)
		j.Spec, j.Demand = read.Spec, read.Demand
	}},
	derivedColumn("part_of", func(j *federation.Job) any {
		switch {
		case j.Part != nil:
			return int64(j.Part.Array)
		case j.Component != nil:
			return int64(j.Component.Leader)
		}
		return int64(0)
	}),
	{"component", func(j *federation.Job) any {
		if j.Part != nil || j.Component == nil {
			return int64(0)
		}
		return int64(j.Component.Offset)
	}, func(_ *jobs, j *federation.Job, r *row) {
		of, _ := r.values[r.next-1].(int64) // part_of
		if n := int(r.int()); n > 0 {
			j.Component = &federation.HetComponent{Leader: federation.JobID(of), Offset: n}
		}
	}},
	{"array_part", func(j *federation.Job) any { return optional((*arrayPart)(j.Part)) }, func(_ *jobs, j *federation.Job, r *row) {
		j.Part = (*federation.ArrayPart)(readOptional[arrayPart](r))
	}},
}

// changingColumns are those that Commit writes.
var changingColumns = []column{
	{"array_spec", func(j *federation.Job) any { return specOf(j).Array }, func(_ *jobs, j *federation.Job, r *row) {
		if array := r.text(); array != "" {
			j.EditSpec(func(spec *sbatch.Spec) { spec.Array = array })
		}
	}},
	{"array_whole", func(j *federation.Job) any { return optional(wholeOf(j.Whole)) }, func(_ *jobs, j *federation.Job, r *row) {
		j.Whole = readOptional[arrayWhole](r).domain(r)
	}},
	wordColumn("state", func(j *federation.Job) *federation.State { return &j.State }),
	derivedColumn("live", func(j *federation.Job) any { return !j.State.Ended() }),
	wordColumn("reason", func(j *federation.Job) *reasons.Reason { return &j.Reason }),
	numberColumn("priority", func(j *federation.Job) *uint32 { return &j.Priority }),
	numberColumn("top", func(j *federation.Job) *uint32 { return &j.Top }),
	wordColumn("held", func(j *federation.Job) *federation.Hold { return &j.Held }),
	{"cancel", func(j *federation.Job) any { return j.Cancel }, func(_ *jobs, j *federation.Job, r *row) { j.Cancel = r.bool() }},
	numberColumn("cancel_by", func(j *federation.Job) *uint32 { return &j.CancelBy }),
	momentColumn("submit_time", func(j *federation.Job) *time.Time { return &j.Submit }),
	momentColumn("start_time", func(j *federation.Job) *time.Time { return &j.Start }),
	momentColumn("end_time", func(j *federation.Job) *time.Time { return &j.End }),
	numberColumn("attempt", func(j *federation.Job) *int { return &j.Attempt }),
	wordColumn("site", func(j *federation.Job) *federation.SiteName { return &j.Site }),
	wordColumn("part", func(j *federation.Job) *string { return &j.Partition }),
	{"nodes", func(j *federation.Job) any { return j.Nodes }, func(_ *jobs, j *federation.Job, r *row) { j.Nodes = r.text() }},
	wordColumn("account", func(j *federation.Job) *string { return &j.Account }),
	wordColumn("tree_account", func(j *federation.Job) *string { return &j.TreeAccount }),
	numberColumn("exit_status", func(j *federation.Job) *int32 { return &j.ExitStatus }),
	numberColumn("restarts", func(j *federation.Job) *int { return &j.Restarts }),
	numberColumn("cost", func(j *federation.Job) *federation.Money { return &j.Cost }),
	{"suspension", func(j *federation.Job) any { return optional((*stored.Suspension)(j.Pause)) }, func(_ *jobs, j *federation.Job, r *row) {
		j.Pause = (*federation.Suspension)(readOptional[stored.Suspension](r))
	}},
	{"holder", func(j *federation.Job) any { return optional((*stored.Holder)(j.Holder)) }, func(_ *jobs, j *federation.Job, r *row) {
		j.Holder = (*federation.Holder)(readOptional[stored.Holder](r))
	}},
}

// wordColumn is a text of which many jobs have the same.
func wordColumn[T ~string](name string, of func(*federation.Job) *T) column {
	return column{name, func(j *federation.Job) any { return string(*of(j)) }, func(_ *jobs, j *federation.Job, r *row) { *of(j) = T(r.word()) }}
}

func numberColumn[T ~int | ~int32 | ~int64 | ~uint32](name string, of func(*federation.Job) *T) column {
	return column{name, func(j *federation.Job) any { return int64(*of(j)) }, func(_ *jobs, j *federation.Job, r *row) { *of(j) = T(r.int()) }}
}

func momentColumn(name string, of func(*federation.Job) *time.Time) column {
	return column{name, func(j *federation.Job) any { return nanos(*of(j)) }, func(_ *jobs, j *federation.Job, r *row) { *of(j) = r.time() }}
}

// derivedColumn is written for queries, and follows from what else is read.
func derivedColumn(name string, value func(*federation.Job) any) column {
	return column{name, value, func(_ *jobs, _ *federation.Job, r *row) { _ = r.column() }}
}

// namesOf are the names of columns, for a statement.
func namesOf(columns ...column) string {
	var names []string
	for i := range columns {
		names = append(names, columns[i].name)
	}
	return strings.Join(names, ", ")
}

// jobColumns are in the order in which jobValues gives and readJob takes them.
var jobColumns = namesOf(fixedColumns...) + ", " + namesOf(changingColumns...)

var (
	insertNewJob = "INSERT INTO jobs (" + jobColumns + ") VALUES " + list(1, len(fixedColumns)+len(changingColumns))
	insertJob    = insertNewJob + " ON CONFLICT (id) DO NOTHING"
	updateJob    = "UPDATE jobs SET (rev, " + namesOf(changingColumns...) + ") = " + list(1, 1+len(changingColumns)) + " WHERE id = " + list(2+len(changingColumns), 1)
)

// jobValues are those of all columns.
func jobValues(j *federation.Job) ([]any, error) {
	spec := specOf(j)
	spec.Array = ""
	text, err := encode(&spec)
	if err != nil {
		return nil, err
	}
	values := make([]any, 0, len(fixedColumns)+len(changingColumns))
	for i := range fixedColumns {
		v := fixedColumns[i].value(j)
		if v == nil {
			v = text
		}
		values = append(values, v)
	}
	return appendChanging(values, j), nil
}

// appendChanging adds the values that Commit writes.
func appendChanging(values []any, j *federation.Job) []any {
	for i := range changingColumns {
		values = append(values, changingColumns[i].value(j))
	}
	return values
}

// readJob reads into a job of the row's: one of its own would be allocated anew, and copied, for each of a million.
func (s *jobs) readJob(r *row) federation.Job {
	r.job = federation.Job{}
	for i := range fixedColumns {
		fixedColumns[i].read(s, &r.job, r)
	}
	for i := range changingColumns {
		changingColumns[i].read(s, &r.job, r)
	}
	return r.job
}
