package restd

import (
	"context"

	"fsub/federation"
	"fsub/federation/journal"
)

// LogPage is how many commits are read at once.
const LogPage = 1000

// News is what the log tells after a mark.
type News struct {
	Mark    journal.Mark              // to go on from
	Jobs    map[federation.JobID]bool // that have changed, themselves or their tasks
	Audited bool                      // somebody has changed what is not a job: it is in the audit log
}

// ReadLog reads the log from a mark on.
func ReadLog(ctx context.Context, store Store, mark journal.Mark) (News, error) {
	all := News{Mark: mark, Jobs: map[federation.JobID]bool{}}
	for {
		end, err := ReadPage(ctx, store, &all)
		if end || err != nil {
			return all, err
		}
	}
}

// ReadPage adds a page of the log to what is known of it, and reports whether it was the last.
func ReadPage(ctx context.Context, store Store, n *News) (end bool, err error) {
	log, err := store.Changes(ctx, n.Mark, LogPage)
	if err != nil {
		return false, err
	}
	for i := range log.Commits {
		for _, c := range log.Commits[i].Changes {
			switch c.Kind {
			case journal.ChangeJob, journal.ChangeTask:
				n.Jobs[c.Job] = true
			case journal.ChangeAudit:
				n.Audited = true
			}
		}
	}
	n.Mark = log.Mark
	return len(log.Commits) < LogPage, nil
}
