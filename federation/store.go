package federation

import (
	"context"
	"time"

	"fsub/sbatch"
)

// The state of the federation is kept by a store, and each of its users asks for those of the interfaces below that it needs. What a method returned
// without error is durable: it survives kill -9 and loss of power. Methods may be called from several goroutines; concurrent writes share commits.

// JobStore creates and reads jobs. A journal.Batch changes them.
type JobStore interface {
	// CreateJob gives the job the next free ID and stores it in state PENDING together with its payload. It fills
	// ID, Rev and, if zero, Submit. It fails with ErrConflict if the range of IDs is used up. The components in Spec.Het become jobs too,
	// with the IDs that follow.
	CreateJob(ctx context.Context, j *Job, p *sbatch.Payload) error

	// ReserveIDs returns n free job IDs that CreateJob gives to nobody until it has gone once through the whole range: for jobs
	// that a Batch creates. It fails with ErrConflict if there are not so many.
	ReserveIDs(ctx context.Context, n int) ([]JobID, error)

	// Job, Payload, Tasks, Attempts and Events read one job; ErrNotFound if there is none of that ID.
	// Attempts are in order of their number, Events and Tasks in order of time and index.
	Job(ctx context.Context, id JobID) (Job, error)
	Payload(ctx context.Context, id JobID) (sbatch.Payload, error)
	Tasks(ctx context.Context, id JobID) ([]Task, error)
	Attempts(ctx context.Context, id JobID) ([]Attempt, error)
	Events(ctx context.Context, id JobID) ([]Event, error)

	// Jobs returns the jobs that match q in order of ID. TasksOf returns the task records of several jobs at once.
	Jobs(ctx context.Context, q JobQuery) ([]Job, error)
	// ListJobs returns the IDs of the jobs that Jobs would return: use it to page through a million jobs.
	ListJobs(ctx context.Context, q JobQuery) ([]ListedJob, error)
	// LiveJobs calls take with all jobs that have not ended, in order of ID, some thousand at a time, while it reads those that follow.
	// There may be a million. It ends with the first error of take.
	LiveJobs(ctx context.Context, take func([]Job) error) error
	TasksOf(ctx context.Context, ids []JobID) (map[JobID][]Task, error)

	// LiveAttempts returns every attempt that is not final.
	LiveAttempts(ctx context.Context) ([]Attempt, error)
}

// JobQuery selects jobs. The zero value selects all; every field that is set narrows the selection.
type JobQuery struct {
	IDs        []JobID // jobs of these IDs, and those that are a part of an array, or a component of a job, of one of them
	Alone      bool    // with IDs: without such parts and components
	Arrays     bool    // only whole arrays
	User       string
	States     []State
	Live       bool      // only jobs that have not ended
	EndedAfter time.Time // live jobs, and those that ended at or after this time
	Site       SiteName
	Name       string
	AfterID    JobID // only jobs with a higher ID: with Limit, a listing is read page by page
	BeforeID   JobID // only jobs with a lower ID; 0: all
	Down       bool  // highest IDs first
	Limit      int   // at most so many, lowest IDs first unless Down; 0: no limit
}

// ListedJob is a job in a list of IDs.
type ListedJob struct {
	ID    JobID
	Array JobID // that it is a task of; 0: none
}
