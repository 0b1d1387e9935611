package leader_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fsub/federation/leader"
	"fsub/testbed/postgres"
)

// believer is a daemon that takes it that it leads, whatever the clock says and however often the database has refused it.
type believer struct {
	leader.Postgres
	name string
	rng  *rand.Rand

	epoch    int64
	refusals int64 // how many submissions more are refused before it looks who leads

	accepted, refused []int64 // what it has submitted
	unknown           []int64 // of which it has no answer
	terms             int
}

// submission is a job that a believer submits in one transaction, in which it stops for a while at times, or its connection ends.
func (b *believer) submission(ctx context.Context, number int64) error {
	return b.Fenced(ctx, b.epoch, func(tx *sql.Tx) error {
		if b.rng.IntN(50) == 0 {
			time.Sleep(time.Duration(b.rng.Int64N(int64(5 * time.Millisecond))))
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO submissions (number, epoch) VALUES ($1, $2)", number, b.epoch); err != nil {
			return err
		}
		if b.rng.IntN(200) == 0 {
			_, err := tx.ExecContext(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
			return err
		}
		return nil
	})
}

// lead submits until all numbers are used up.
func (b *believer) lead(ctx context.Context, numbers *atomic.Int64, most int64) error {
	for {
		if b.refusals == 0 {
			epoch, err := b.Take(ctx, leader.Holder{Name: b.name}, time.Duration(1+b.rng.IntN(40))*time.Millisecond)
			switch {
			case err == nil:
				b.epoch = epoch
				b.terms++
			case !errors.Is(err, leader.ErrHeld):
				return err
			}
			b.refusals = 1 + b.rng.Int64N(5)
			if b.epoch == 0 {
				continue
			}
		}
		number := numbers.Add(1)
		if number > most {
			return nil
		}
		switch err := b.submission(ctx, number); {
		case err == nil:
			b.accepted = append(b.accepted, number)
		case errors.Is(err, leader.ErrLost):
			b.refused = append(b.refused, number)
			b.refusals--
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			b.unknown = append(b.unknown, number)
		}
	}
}

// Daemons that both believe that they lead submit jobs as fast as they can, while the lease goes from one to the other in the middle of their transactions: the database
// takes nothing of an epoch once there was a newer one, all that it has acknowledged, and nothing that it has refused.
func TestTwoLeaders(t *testing.T) {
	seeds, most := uint64(2), int64(1500)
	if os.Getenv("FSUB_FULL") != "" {
		seeds, most = 50, 2000
	}
	s := postgres.Start(t, "fsync=off")
	began, all, terms, refused := time.Now(), int64(0), 0, 0
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := open(t, s)
			if _, err := p.DB.Exec("CREATE TABLE submissions (seq bigserial, number bigint PRIMARY KEY, epoch bigint)"); err != nil {
				t.Fatal(err)
			}
			var numbers atomic.Int64
			var wg sync.WaitGroup
			believers := []*believer{{Postgres: p, name: "a", rng: rand.New(rand.NewPCG(seed, 1))}, {Postgres: p, name: "b", rng: rand.New(rand.NewPCG(seed, 2))}}
			for _, b := range believers {
				wg.Go(func() {
					if err := b.lead(t.Context(), &numbers, most); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			checkSubmissions(t, p, believers)
			for _, b := range believers {
				terms, refused = terms+b.terms, refused+len(b.refused)
			}
			all += most
		})
	}
	t.Logf("%d submissions, %d of them refused, in %d terms, in %v", all, refused, terms, time.Since(began).Round(time.Millisecond))
	if refused < int(all)/50 || terms < 3*int(seeds) {
		t.Errorf("the leaders were too seldom of two minds")
	}
}

func checkSubmissions(t *testing.T, p leader.Postgres, believers []*believer) {
	t.Helper()
	var late int
	err := p.DB.QueryRow(`SELECT count(*) FROM (SELECT epoch, max(epoch) OVER (ORDER BY seq) AS newest FROM submissions) s WHERE epoch < newest`).Scan(&late)
	if err != nil || late > 0 {
		t.Errorf("%d submissions of an older leader were taken: %v", late, err)
	}
	has := map[int64]int64{}
	rows, err := p.DB.Query("SELECT number, epoch FROM submissions")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var number, epoch int64
		if err := rows.Scan(&number, &epoch); err != nil {
			t.Fatal(err)
		}
		has[number] = epoch
	}
	for _, b := range believers {
		for _, number := range b.accepted {
			if has[number] == 0 {
				t.Errorf("submission %d of %s was acknowledged and is not there", number, b.name)
			}
			delete(has, number)
		}
		for _, number := range b.refused {
			if has[number] != 0 {
				t.Errorf("submission %d of %s was refused and is there", number, b.name)
			}
		}
		for _, number := range b.unknown {
			delete(has, number)
		}
	}
	if len(has) > 0 {
		t.Errorf("%d submissions are there of which nobody knows", len(has))
	}
}
