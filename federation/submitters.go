package federation

import (
	"context"

	"fsub/sbatch"
)

// Submitters is the part of a store that knows what users' submissions take up, and by which keys users know them.
type Submitters interface {
	// CreateJobOnce is Store.CreateJob for a submission that its user may repeat under the same key: if a job of the user's has the key, j
	// becomes that job's ID, nothing is stored and again is true. A key lasts as long as its job's record. An empty key is none.
	CreateJobOnce(ctx context.Context, j *Job, p *sbatch.Payload, key string) (again bool, err error)
	// CreateJobs stores jobs of one user that are submitted together, the n-th with payload(n): all or none, in one commit. They have IDs of ReserveIDs and no
	// components; Rev is set. If the user has submitted jobs together under the key already, nothing is stored and again are the IDs of those, in the order in which they
	// were given. ErrConflict: another job has one of the IDs.
	CreateJobs(ctx context.Context, all []*Job, payload func(n int) *sbatch.Payload, key string) (again []JobID, err error)
	// JobsOfKey returns the jobs that a user submitted together under a key, in the order in which they were given; ErrNotFound if there are none.
	JobsOfKey(ctx context.Context, uid uint32, key string) ([]JobID, error)
	// JobOfKey returns the job that a user submitted under a key; ErrNotFound if there is none.
	JobOfKey(ctx context.Context, uid uint32, key string) (JobID, error)
	// KeyOf returns the key that a job was submitted under; ErrNotFound if it has none.
	KeyOf(ctx context.Context, id JobID) (string, error)
	// Holding returns what the jobs of a user take up.
	Holding(ctx context.Context, uid uint32) (Holding, error)
	// OpenRequests counts the requests of a user that are not done yet.
	OpenRequests(ctx context.Context, uid uint32) (int, error)
}

// KeyInside begins the keys of what is submitted from inside a job.
func KeyInside(id JobID) string { return "in:" + id.String() + "/" }

// Holding is what the jobs of a user, and of all, take up in the store.
type Holding struct {
	Jobs  int   // of the user, live ones; an array is one and each of its tasks that is a job another
	All   int   // of all users
	Bytes int64 // scripts, arguments and environments of the user's jobs, of ended ones too
	Specs int64 // bytes of what the user's live jobs ask for, which is in memory too
}
