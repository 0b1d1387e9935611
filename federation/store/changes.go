package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/health"
	"fsub/federation/journal"
	"fsub/federation/reasons"
)

// The log of changes has one row for each transaction, and the transactions are numbered in the order of their commits, without gaps.
// So a reader that sees number n sees all below it, and the highest number that it sees is its safe mark.
//
// On SQLite there is one writer, which stores its counters with each transaction. On PostgreSQL a lock is held from before the number is taken until the commit
// is visible to others (see pgSession.commit). That costs that commits follow one another, and each is of many writes.

// Bounds of the log. A follower that is further behind reads everything anew.
const (
	keepChanges = 1_000_000          // about 100 MB
	keepFor     = 7 * 24 * time.Hour // where the configuration does not say
	// trimStep is how many commits are looked at, and deleted if they are too old, every trimEvery commits: more than come.
	trimEvery, trimStep = 64, 128
)

const (
	insertChanges = "INSERT INTO change_log (seq, at, total, changes) VALUES ($1, $2, $3, $4)"
	// From the mark itself: that it is there shows that nothing after it has been trimmed. Its changes are not read again: a follower
	// asks twice a second, and the newest commit may tell of a hundred thousand jobs.
	selectChanges = "SELECT seq, at, CASE WHEN seq > $1 THEN changes ELSE '[]' END FROM change_log WHERE seq >= $1 ORDER BY seq LIMIT $2"
	newestChange  = "SELECT MAX(seq) FROM change_log" // it is never empty
	trimChanges   = "DELETE FROM change_log WHERE seq <= (SELECT MAX(seq) FROM (SELECT seq, at, total FROM change_log ORDER BY seq LIMIT $1) AS oldest " +
		"WHERE at < $2 OR total <= $3)"
)

// maxCommits bounds one answer of Changes.
const maxCommits = 10_000

// changeRecord is a change as it is stored.
type changeRecord struct {
	Kind    journal.ChangeKind    `json:"kind"`
	How     journal.ChangeHow     `json:"how,omitempty"`
	Job     federation.JobID      `json:"job,omitempty"`
	Number  int64                 `json:"n,omitempty"`
	Site    federation.SiteName   `json:"site,omitempty"`
	State   string                `json:"state,omitempty"`
	Who     string                `json:"who,omitempty"`
	Why     string                `json:"why,omitempty"`
	Move    *moveRecord           `json:"move,omitempty"`
	Node    *federation.NodeEvent `json:"node,omitempty"`
	Finding *health.PastFinding   `json:"finding,omitempty"`
	Of      *federation.SiteEvent `json:"of,omitempty"`
}

type moveRecord struct {
	What   journal.MoveKind `json:"what"`
	Task   int              `json:"task"`
	Tasks  string           `json:"tasks,omitempty"`
	From   federation.State `json:"from,omitempty"`
	Reason reasons.Reason   `json:"reason,omitempty"`
	Exit   int32            `json:"exit,omitempty"`
}

// note puts a change into the log of this transaction.
func (t *tx) note(c journal.Change) {
	r := changeRecord{c.Kind, c.How, c.Job, c.Number, c.Site, c.State, c.Who, c.Why, nil, c.Node, c.Finding, c.Of}
	if m := c.Move; m != nil {
		r.Job, r.Site, r.State, r.Move = m.Job, m.Site, string(m.State), &moveRecord{m.What, m.Task, m.Tasks.Format(0), m.From, m.Reason, m.Exit}
	}
	t.log = append(t.log, r)
}

func (r *changeRecord) change() journal.Change {
	c := journal.Change{Kind: r.Kind, How: r.How, Job: r.Job, Number: r.Number, Site: r.Site, State: r.State, Who: r.Who, Why: r.Why, Node: r.Node, Finding: r.Finding, Of: r.Of}
	if m := r.Move; m != nil {
		c.Move = &journal.Move{
			Job: r.Job, Task: m.Task, What: m.What, State: federation.State(r.State), From: m.From, Reason: m.Reason, Site: r.Site, Exit: m.Exit,
		}
		c.Move.Tasks, _ = federation.ReadTasks(m.Tasks) // it was written by us
		c.Site, c.State = "", ""
	}
	return c
}

// trimDue tells that old commits are to be deleted with the next one.
func (t *tx) trimDue() bool { return t.changeSeq > 0 && t.changeSeq%trimEvery == 0 }

// writeLog stores what this transaction has noted, under the next number.
func (t *tx) writeLog() error {
	if len(t.log) == 0 {
		return nil
	}
	text, err := encode(t.log)
	if err != nil {
		return err
	}
	t.changeSeq++
	t.changeTotal += int64(len(t.log))
	t.changedAt = max(t.changedAt, time.Now().UnixNano())
	if _, err := t.exec(insertChanges, t.changeSeq, t.changedAt, t.changeTotal, text); err != nil {
		return err
	}
	if !t.trimDue() {
		return nil
	}
	_, err = t.exec(trimChanges, trimStep, t.changedAt-int64(t.keepFor), t.changeTotal-t.keepChanges)
	return err
}

// Changes implements [journal.Follower].
func (s *Store) Changes(ctx context.Context, after journal.Mark, limit int) (journal.Log, error) {
	log, err := s.changes(ctx, after, limit)
	if err != nil {
		return log, fmt.Errorf("changes after %d: %w", after, err)
	}
	return log, nil
}

func (s *Store) changes(ctx context.Context, after journal.Mark, limit int) (log journal.Log, err error) {
	if limit <= 0 || limit > maxCommits {
		limit = maxCommits
	}
	if after > 0 {
		limit++ // the mark itself
	}
	if after != 0 {
		if log.Commits, err = query(ctx, s.readers, readCommit, selectChanges, int64(after), int64(limit)); err != nil {
			return log, err
		}
	}
	switch {
	case after > 0 && (len(log.Commits) == 0 || log.Commits[0].Mark != after):
		return journal.Log{}, federation.ErrTrimmed
	case after > 0:
		log.Commits = log.Commits[1:]
		log.Mark = after
	}
	if n := len(log.Commits); n > 0 {
		log.Mark = log.Commits[n-1].Mark
	}
	if log.Mark > 0 {
		return log, nil
	}
	marks, err := query(ctx, s.readers, (*row).int, newestChange)
	if err == nil {
		log.Mark = journal.Mark(marks[0])
	}
	return log, err
}

func readCommit(r *row) (c journal.Commit) {
	c.Mark, c.At = journal.Mark(r.int()), r.time()
	text := r.text()
	records := make([]changeRecord, 0, strings.Count(text, "{")) // there may be ten thousand
	r.parse(text, &records)
	c.Changes = make([]journal.Change, len(records))
	for i := range records {
		c.Changes[i] = records[i].change()
	}
	return c
}
