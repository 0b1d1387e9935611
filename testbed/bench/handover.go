package main

import (
	"context"
	"fmt"
	"time"

	"fsub/federation"
	"fsub/testbed/daemon"
)

// handover measures how long a job waits in the federation when a site has room for it: from its acceptance until the site
// has acknowledged it, both as the daemon wrote them down.
func (r *bench) handover(ctx context.Context) error {
	d, err := r.startDaemon(ctx, "handover")
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
	request := post("/fed/v1/job", "", submitBody(r.b.Home(r.user.Name), false))
	c := d.Client()
	defer c.Close()
	var waits []time.Duration
	for range r.handovers {
		id, err := client.submit(request)
		if err != nil {
			return err
		}
		for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
			rec, err := c.Job(ctx, federation.JobID(id))
			if err != nil {
				return err
			}
			if n := len(rec.Attempts); n > 0 && !rec.Attempts[n-1].Acked.IsZero() {
				waits = append(waits, rec.Attempts[n-1].Acked.Sub(rec.Job.Submit))
				break
			}
			if time.Since(begun) > time.Minute {
				return fmt.Errorf("job %d was not handed over within a minute: %s %s", id, rec.Job.State, rec.Job.Reason)
			}
		}
	}
	s := newSample(waits)
	r.note("accepted to handed over, one job after another: min %s  p50 %s  p90 %s  max %s", ms(s.quantile(0)), ms(s.median()), ms(s.quantile(0.9)), ms(s.quantile(1)))
	r.add(row{
		what: fmt.Sprintf("accepted to handed over, p50 of %d (p90 %s)", r.handovers, ms(s.quantile(0.9))), ours: ms(s.median()), theirs: "-",
		ratio: "-", goal: "<= 100 ms", met: s.median() <= 100*time.Millisecond,
	})
	return nil
}
