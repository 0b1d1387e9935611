package store

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"fsub/federation"
)

// Acknowledged is a job of which somebody was told that it is submitted.
type Acknowledged struct {
	ID   federation.JobID
	User string
	uid  int64
	at   time.Time
}

// acknowledgedFor is how long a job is remembered: no standby is further behind.
const acknowledgedFor = time.Hour

// Acknowledgements remember the newest jobs, as many as job IDs are left out after a fail-over: an asynchronous standby that takes over may lack them. The zero
// value remembers none yet. They may outlive a store, for the next one that is opened on the same database.
type Acknowledgements struct {
	mu   sync.Mutex
	of   server
	jobs []Acknowledged
	next int // in jobs, once they are as many as are kept
}

func (a *Acknowledgements) add(j *federation.Job) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	k := Acknowledged{j.ID, j.User, int64(j.UID), time.Now()}
	if len(a.jobs) < skipAfterFailover {
		a.jobs = append(a.jobs, k)
		return
	}
	a.jobs[a.next] = k
	a.next = (a.next + 1) % len(a.jobs)
}

// Lost returns the jobs that were acknowledged, and that are not in the database since another server took over: each is told once. Those that an array
// made are not among them. Where the server is the same, or there is no other, it returns none.
func (s *Store) Lost(ctx context.Context) ([]Acknowledged, error) {
	if s.acknowledged == nil {
		return nil, nil
	}
	config, err := s.postgres.current()
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, databaseError(err)
	}
	defer closeNow(conn)
	lost, err := s.acknowledged.lost(ctx, conn)
	if err != nil {
		return nil, databaseError(err)
	}
	return lost, nil
}

func (a *Acknowledgements) lost(ctx context.Context, conn *pgx.Conn) (lost []Acknowledged, err error) {
	is, err := serverOf(ctx, conn)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == is || a.of == (server{}) {
		a.of = is
		return nil, nil
	}
	var ids, uids []int64
	var jobs []Acknowledged
	for _, j := range a.jobs {
		if time.Since(j.at) < acknowledgedFor { // others may have been deleted since
			ids, uids, jobs = append(ids, int64(j.ID)), append(uids, j.uid), append(jobs, j)
		}
	}
	rows, err := conn.Query(ctx, "SELECT n FROM unnest($1::BIGINT[], $2::BIGINT[]) WITH ORDINALITY AS a (id, uid, n) "+
		"WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = a.id AND jobs.uid = a.uid) ORDER BY a.id", ids, uids)
	if err != nil {
		return nil, err
	}
	gone, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, err
	}
	for _, n := range gone {
		lost = append(lost, jobs[n-1])
	}
	a.of, a.jobs, a.next = is, nil, 0
	return lost, nil
}
