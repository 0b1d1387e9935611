package restd

import (
	"context"

	"fsub/federation"
	"fsub/federation/journal"
)

// LogPage is how many commits are read at once.
const LogPage = 1000

// ChangedJobs are the jobs that the log tells of after a mark, themselves or their tasks.
func ChangedJobs(ctx context.Context, store Store, mark journal.Mark) (journal.Mark, map[federation.JobID]bool, error) {
	changed := map[federation.JobID]bool{}
	for {
		log, err := store.Changes(ctx, mark, LogPage)
		if err != nil {
			return mark, nil, err
		}
		for i := range log.Commits {
			for _, c := range log.Commits[i].Changes {
				if c.Kind == journal.ChangeJob || c.Kind == journal.ChangeTask {
					changed[c.Job] = true
				}
			}
		}
		if mark = log.Mark; len(log.Commits) < LogPage {
			return mark, changed, nil
		}
	}
}
