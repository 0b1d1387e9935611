package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"fsub/testbed/daemon"
)

// hung measures submissions while every site hangs beside submissions while all are well, in turns. A stopped slurmrestd
// takes connections and never answers.
func (r *bench) hung(ctx context.Context) error {
	d, err := r.startDaemon(ctx, "hung")
	if err != nil {
		return err
	}
	defer d.Stop()
	conn, err := daemon.DialAs(d.Socket(), r.user.UID, r.user.UID)
	if err != nil {
		return err
	}
	defer conn.Close()
	client := newKeptAlive(conn)
	request := post("/fed/v1/job", "", submitBody(r.b.Home(r.user.Name), true))
	defer r.signalSites(syscall.SIGCONT)

	const blocks = 10
	var well, ill []time.Duration
	for range blocks {
		for _, phase := range []struct {
			sig   syscall.Signal
			times *[]time.Duration
		}{{syscall.SIGCONT, &well}, {syscall.SIGSTOP, &ill}} {
			if err := r.signalSites(phase.sig); err != nil {
				return err
			}
			time.Sleep(600 * time.Millisecond) // a poll of each site is under way, and hangs
			for range r.count / blocks {
				begun := time.Now()
				if _, err := client.submit(request); err != nil {
					return err
				}
				*phase.times = append(*phase.times, time.Since(begun))
				time.Sleep(2 * time.Millisecond)
			}
		}
	}
	a, b := newSample(ill), newSample(well)
	ratio := float64(a.median()) / float64(b.median())
	r.note("one submission over a kept connection: all sites hang: median %s  p90 %s; all well: median %s  p90 %s",
		ms(a.median()), ms(a.quantile(0.9)), ms(b.median()), ms(b.quantile(0.9)))
	r.add(row{
		what: fmt.Sprintf("submission, all sites hang / all well, median of %d", len(ill)), ours: ms(a.median()), theirs: ms(b.median()),
		ratio: fmt.Sprintf("%.2f", ratio), goal: "<= 1.2", met: ratio <= 1.2,
	})
	return nil
}

// signalSites signals slurmrestd of every site.
func (r *bench) signalSites(sig syscall.Signal) error {
	var errs []error
	for _, site := range []string{"alpha", "beta"} {
		pids, err := r.pids(site, "slurmrestd")
		if err == nil {
			err = syscall.Kill(pids[0], sig)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
