package config

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"fsub/federation/api/submission"
)

// Limits bound what one user may take up of the daemon. Administrators are free of those that are per user. 0: no bound.
type Limits struct {
	// Jobs of one user that have not ended. An array is one, and each task of it that has started another.
	JobsPerUser int `yaml:"jobs_per_user"`
	// Jobs of all users that have not ended.
	Jobs int `yaml:"jobs"`
	// Most MiB of one job's script, arguments and environment. A process cannot have more than 6.
	PayloadMiB int64 `yaml:"payload_mib"`
	// Most MiB of all that one user's jobs keep in the database, until keep_ended after their end.
	StoredMiB int64 `yaml:"stored_mib_per_user"`
	// Most MiB of what all of one user's jobs that have not ended ask for: options, lists of nodes, dependencies. That is kept in memory.
	QueueMiB int64 `yaml:"queue_mib_per_user"`
	// Most MiB of what the jobs of all users ask for. Beyond it, and beyond jobs, only who has less than his share, by the number of users, may submit.
	AllQueueMiB int64 `yaml:"queue_mib"`
	// No jobs are taken while the file system of state_dir has less free, so that what happens to those there are can be written. What nodes send to blobs in a directory leaves as much.
	MinFreeMiB int64 `yaml:"min_free_mib"`
	// Submissions of one user per second, in the long run. sbatch waits a moment and tries again.
	SubmissionsPerSecond float64 `yaml:"submissions_per_second"`
	// Submissions of one user at once.
	SubmissionBurst int `yaml:"submission_burst"`
	// Changes to jobs (cancel, hold, update and the like) that one user may ask for per second, in the long run.
	RequestsPerSecond float64 `yaml:"requests_per_second"`
	// Changes of one user at once.
	RequestBurst int `yaml:"request_burst"`
	// Changes of one user that wait to be carried out.
	RequestsPerUser int `yaml:"requests_per_user"`
	// Changes to one job that wait, but for cancels and those to single tasks. Not 0.
	RequestsPerJob int `yaml:"requests_per_job"`
	// Most MiB of output that is kept of one job on rented machines, each stream by itself. What it writes beyond that is thrown away.
	LogMiB int64 `yaml:"log_mib"`
	// Most MiB of output that is kept of one user's jobs at one site of rented machines, of ended ones too.
	LogUserMiB int64 `yaml:"log_mib_per_user"`
	// Jobs of one user whose files are packed or unpacked at the same time, of 8 in all. Not 0.
	StagesPerUser int `yaml:"stages_per_user"`
	// A shell or a forwarded port in a job on rented or local machines ends when nothing was typed, printed or sent for so long, its step with it: 2h. The job goes on.
	// Not set, they stay as long as the job. At a Slurm cluster its own InactiveLimit holds.
	IdleSession time.Duration `yaml:"idle_session"`
}

func defaultLimits() Limits {
	return Limits{
		JobsPerUser: 200_000, Jobs: 2_000_000, PayloadMiB: 12, StoredMiB: 16 << 10, QueueMiB: 256, AllQueueMiB: 1536, MinFreeMiB: 512,
		SubmissionsPerSecond: 100, SubmissionBurst: 10_000, RequestsPerSecond: 100, RequestBurst: 200_000, RequestsPerUser: 200_000, RequestsPerJob: 100,
		LogMiB: 1 << 10, LogUserMiB: 16 << 10, StagesPerUser: 3,
	}
}

func (l *Limits) check() error {
	for _, n := range [...]int64{int64(l.JobsPerUser), int64(l.Jobs), l.PayloadMiB, l.StoredMiB, l.QueueMiB, l.AllQueueMiB, l.MinFreeMiB, int64(l.SubmissionBurst), int64(l.RequestBurst),
		int64(l.RequestsPerUser), l.LogMiB, l.LogUserMiB} {
		if n < 0 || n > math.MaxInt32 {
			return errors.New("limits: all are from 0 (no bound) to 2147483647")
		}
	}
	switch {
	case !number(l.SubmissionsPerSecond) || !number(l.RequestsPerSecond):
		return errors.New("limits: submissions_per_second and requests_per_second are positive numbers, or 0 for no bound")
	case l.SubmissionsPerSecond > 0 && l.SubmissionBurst == 0 || l.RequestsPerSecond > 0 && l.RequestBurst == 0:
		return errors.New("limits: a rate needs a burst: submission_burst, request_burst")
	case l.IdleSession != 0 && l.IdleSession < time.Second:
		return fmt.Errorf("limits: invalid idle_session %s: want a second or more, such as 2h, or 0 for no bound", l.IdleSession)
	case l.RequestsPerJob < 1 || l.StagesPerUser < 1:
		return errors.New("limits: requests_per_job and stages_per_user are at least 1")
	}
	return nil
}

// ForAPI is what the API bounds.
func (l *Limits) ForAPI(c *Config) submission.Bounds {
	return submission.Bounds{
		Jobs: l.JobsPerUser, AllJobs: l.Jobs, Payload: l.PayloadMiB << 20, Stored: l.StoredMiB << 20, Queue: l.QueueMiB << 20, AllQueue: l.AllQueueMiB << 20, Free: l.MinFreeMiB << 20, Dir: filepath.Clean(c.StateDir),
		PerSecond: l.SubmissionsPerSecond, Burst: l.SubmissionBurst, Actions: l.RequestsPerSecond, ActionBurst: l.RequestBurst, Requests: l.RequestsPerUser,
	}
}
