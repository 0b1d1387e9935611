package main

import "time"

// sizes say how much each part does.
type sizes struct {
	count                             int // runs of each command of processes, submissions of hung
	jobs, restJobs, rounds            int // of accept: submissions to the daemon, to slurmrestd, and how often
	sharedJobs                        int // of shared, in each of the rounds
	handovers                         int
	taskCount                         int // tasks and jobs of tasks
	largeTasks                        int // of its largest array
	queueJobs, queueRuns              int
	localNodes, localTasks, localJobs int
	restJobsQueued, restSites         int
	batchJobs                         int
	restPause                         time.Duration // before rest measures, and for how long it does
}

// whole is what the published figures are measured with.
var whole = sizes{
	count: 200, jobs: 6000, restJobs: 1000, rounds: 3, sharedJobs: 4000, handovers: 50, taskCount: 300, largeTasks: 100_000, queueJobs: 100_000, queueRuns: 10,
	localNodes: 64, localTasks: 1024, localJobs: 1000, restJobsQueued: 1_000_000, restSites: 100, restPause: 30 * time.Second, batchJobs: 100_000,
}

// small goes through every part in little time. Its figures mean nothing, except that submissions pass the default limits on their rate.
var small = sizes{
	count: 10, jobs: 12_000, restJobs: 20, rounds: 1, sharedJobs: 200, handovers: 2, taskCount: 4, largeTasks: 1000, queueJobs: 1000, queueRuns: 1,
	localNodes: 4, localTasks: 8, localJobs: 8, restJobsQueued: 1000, restSites: 2, restPause: time.Second, batchJobs: 3000,
}
