package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"fsub/testbed/daemon"
	"fsub/testbed/postgres"
)

// shared measures how many held jobs a second are accepted, durably, where the store is PostgreSQL, beside one daemon on SQLite, in turns: by one daemon, by three that share it,
// and by three whose PostgreSQL has a synchronous standby.
func (r *bench) shared(ctx context.Context) (err error) {
	tb := new(outside)
	defer tb.end()
	stores := []struct {
		what    string
		url     func() string
		daemons int
		goal    float64
	}{
		{"SQLite", func() string { return "" }, 1, 0},
		{"PostgreSQL, one daemon", func() string { return postgres.Start(tb).URLOverTCP() }, 1, 0.5},
		{"PostgreSQL, three daemons", func() string { return postgres.Start(tb).URLOverTCP() }, 3, 0.9},
		{"PostgreSQL with a standby, three daemons", func() string {
			s := postgres.Start(tb)
			s.Standby()
			return s.URLOverTCP()
		}, 3, 0.7},
	}
	ask := post("/fed/v1/job", "", submitBody(r.b.Home(r.user.Name), true))
	dials := make([]func() (net.Conn, error), len(stores))
	loads := make([][]load, len(stores))
	for i, s := range stores {
		d, err := r.openDaemon(ctx, fmt.Sprintf("shared%d", i), daemon.Options{Store: s.url(), Count: s.daemons})
		if err != nil {
			return err
		}
		defer d.Stop()
		sockets, next := d.Sockets(), new(atomic.Int64)
		dials[i] = func() (net.Conn, error) {
			return daemon.DialAs(sockets[int(next.Add(1))%len(sockets)], r.user.UID, r.user.UID)
		}
	}
	for range r.rounds {
		for i := range stores {
			l, err := submitAll(dials[i], ourClients, r.sharedJobs, ask)
			if err != nil {
				return fmt.Errorf("%s: %w", stores[i].what, err)
			}
			loads[i] = append(loads[i], l)
			time.Sleep(500 * time.Millisecond)
		}
	}
	for i, s := range stores[1:] {
		var ratios []float64 // of each round
		for k, l := range loads[i+1] {
			ratios = append(ratios, l.perSecond()/loads[0][k].perSecond())
		}
		slices.Sort(ratios)
		l, ratio := middle(loads[i+1]), ratios[len(ratios)/2]
		r.add(row{what: fmt.Sprintf("accepted jobs/s, %s / SQLite", s.what), ours: fmt.Sprintf("%.0f/s", l.perSecond()), theirs: fmt.Sprintf("%.0f/s", middle(loads[0]).perSecond()),
			ratio: fmt.Sprintf("%.2f", ratio), goal: fmt.Sprintf(">= %g", s.goal), met: ratio >= s.goal})
		p99 := l.answers.quantile(0.99)
		r.add(row{what: "its answer time, p99", ours: ms(p99), theirs: ms(middle(loads[0]).answers.quantile(0.99)), ratio: "-", goal: "< 40 ms", met: p99 < 40*time.Millisecond})
	}
	return nil
}

// outside is what a server needs of a test, where there is none.
type outside struct{ ends []func() }

func (o *outside) Helper()                          {}
func (o *outside) Failed() bool                     { return false }
func (o *outside) Cleanup(do func())                { o.ends = append(o.ends, do) }
func (o *outside) Logf(format string, args ...any)  { fmt.Fprintf(os.Stderr, format+"\n", args...) }
func (o *outside) Skipf(format string, args ...any) { o.Fatalf(format, args...) }

func (o *outside) Fatalf(format string, args ...any) { o.Fatal(fmt.Sprintf(format, args...)) }

func (o *outside) Fatal(args ...any) {
	o.end()
	exit(fmt.Errorf("shared: %s", fmt.Sprint(args...)))
}

func (o *outside) end() {
	for _, do := range slices.Backward(o.ends) {
		do()
	}
	o.ends = nil
}
