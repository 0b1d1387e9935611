package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/federation"
	"fsub/federation/api/client"
	"fsub/slurm/hostlist"
)

// ParseJobID reads a job ID from the command line. A task of an array ("30000001_4") stands for the array.
func ParseJobID(s string) (federation.JobID, error) {
	id, _, _ := strings.Cut(s, "_")
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("invalid job ID %q: want the number that fsub printed", s)
	}
	return federation.JobID(n), nil
}

// FindJobs reads the jobs that a word of the command line names, "17", "17_3", "17_[4-9]", "17_4,17_5",
// each once. A task that is a job itself is that job; any other task stands for its array.
func FindJobs(ctx context.Context, c *client.Client, word string) ([]federation.JobID, error) {
	var out []federation.JobID
	add := func(id federation.JobID) {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for _, name := range show.OwnTasks(os.Environ(), hostlist.Split(word)) {
		id, err := ParseJobID(name)
		if err != nil {
			return nil, err
		}
		_, tasks, _ := strings.Cut(name, "_")
		indices := show.Ranges(tasks)
		var r *client.JobRecord
		if len(indices) > 0 {
			r, err = c.Job(ctx, id)
		}
		if r == nil || err != nil || r.Job.Whole == nil || !r.Job.Whole.Spread {
			add(id) // what is wrong the caller will find
			continue
		}
		for _, index := range indices {
			i := slices.IndexFunc(r.Tasks, func(t federation.Task) bool { return t.Index == index && t.ID != 0 })
			if i < 0 {
				add(id)
			} else {
				add(r.Tasks[i].ID)
			}
		}
	}
	return out, nil
}
