package slurm

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

const (
	runsTries  = 8  // reports in a row that ask slurmdbd for a run that it does not tell yet. The end of a job waits for that, too
	runsAtOnce = 20 // calls to slurmdbd for that in one report
)

// overlooked are the jobs that their site has queued again after a run that no report has shown: it was over between two looks, or nobody looked.
type overlooked struct {
	known map[number]int // how many runs of a job are known: reports have shown them, or slurmdbd has told them
	tries map[number]int // how often slurmdbd has been asked in vain for the others
	asked int            // calls for this report
}

func (o *overlooked) clone() overlooked {
	return overlooked{known: copied(o.known), tries: copied(o.tries)}
}

// addEarlier adds to a job that its site has queued again the runs before the one that it shows, if one of them has been overlooked. It reports
// false where the next report should try again.
func (d *Driver) addEarlier(ctx context.Context, m *mark, j *federation.SiteJob) bool {
	if len(j.Tasks) > 0 || j.PendingTasks != "" { // of arrays that were handed over whole nothing is noted
		return true
	}
	id, known := number(j.SiteJobID), j.Restarts
	if !j.Start.IsZero() {
		known++
	}
	if j.Restarts > m.runs.known[id] && m.runs.tries[id] < runsTries {
		if m.runs.asked++; m.runs.asked > runsAtOnce {
			return false
		}
		var err error
		j.Earlier, err = d.records.earlierRuns(ctx, j)
		if errors.Is(err, errNoEndpoint) {
			m.runs.tries[id] = runsTries
		} else if j.Earlier == nil {
			m.runs.tries[id]++
			return false
		}
	}
	if known > 0 {
		m.runs.known[id] = known
	}
	delete(m.runs.tries, id)
	return true
}

// earlierRuns are the runs of a job before the one that it shows, nil if slurmdbd does not tell all of them: it has a row for each.
func (db *records) earlierRuns(ctx context.Context, j *federation.SiteJob) ([]federation.AttemptRun, error) {
	rows, err := db.recordsOf(ctx, number(j.SiteJobID), time.Time{})
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r wire.DBJob) bool {
		n, keyed := db.nameInRecord(&r)
		another := keyed && j.Key != "" && n.key != j.Key
		return another || r.User != j.User || r.Time.End <= 0 || r.Time.Start <= 0 || nodesOf(&r) == "" || !j.Start.IsZero() && r.Time.Start >= j.Start.Unix()
	})
	if len(rows) < j.Restarts {
		return nil, nil
	}
	slices.SortFunc(rows, func(a, b wire.DBJob) int { return cmp.Compare(a.Time.Start, b.Time.Start) })
	var runs []federation.AttemptRun
	for _, r := range rows[len(rows)-j.Restarts:] { // those before are of another job that had the number
		run := federation.AttemptRun{State: federation.Requeued, Started: unix(r.Time.Start), Ended: unix(r.Time.End), Nodes: r.Nodes, ExitStatus: waitStatus(r.ExitCode)}
		if s := state(r.State.Current); s.Ended() && s != federation.Cancelled {
			run.State = s
		}
		runs = append(runs, run)
	}
	return runs, nil
}
