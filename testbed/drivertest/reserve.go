package drivertest

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/driver"
)

// testReserve: a reservation keeps other jobs away from its nodes, and its own job starts before it begins. It goes when it is removed, which is refused while that job runs.
func testReserve(s *suite) {
	can := driver.AbilitiesOf(s.Driver).Reserve
	if can == nil {
		s.Skip("SKIPPED: the driver has no Reserve")
	}
	names, _ := s.nodesOf()
	sub := s.job("sleep 300", nil)
	task := decision.Promised{Array: s.NextID(), Task: 5}
	p := driver.Promise{Name: driver.PromiseName(s.Federation, task), User: s.User.Name, Nodes: names[:1], Idle: 5 * time.Minute,
		Start: s.Now().Add(time.Hour).UTC().Truncate(time.Second), End: s.Now().Add(time.Hour + 10*time.Minute).UTC().Truncate(time.Second)}
	shown := func() *federation.Reservation {
		s.Helper()
		all := s.observe().Reservations
		i := slices.IndexFunc(all, func(r federation.Reservation) bool { return r.Name == p.Name })
		if i < 0 {
			return nil
		}
		return &all[i]
	}
	err := can.Reserve(s.ctx, p)
	s.Cleanup(func() { s.unreserve(can, p.Name, sub.Job.ID) })
	if errors.Is(err, federation.ErrInvalid) || errors.Is(err, federation.ErrDenied) {
		if r := shown(); r != nil {
			s.Errorf("refused, and the site shows %+v", r)
		}
		s.Skipf("SKIPPED: the site does not let this token do it: %v", err)
	}
	if err != nil {
		s.Fatalf("Reserve: %v", err)
	}
	unknown := p
	unknown.Name, unknown.User, unknown.Nodes = driver.PromiseName(s.Federation, decision.Promised{Job: s.NextID()}), "nosuch", names[1:]
	if err := can.Reserve(s.ctx, unknown); !errors.Is(err, federation.ErrDenied) {
		s.Errorf("Reserve for a user who is not there: %v, want ErrDenied", err)
	}
	p.Start, p.Nodes = s.Now().Add(5*time.Minute).UTC().Truncate(time.Second), names
	if err := can.Reserve(s.ctx, p); err != nil {
		s.Fatalf("Reserve, sooner and on all nodes: %v", err)
	}
	if r := shown(); r == nil || !r.Start.Equal(p.Start) || !r.End.Equal(p.End) || !slices.Equal(slices.Sorted(slices.Values(r.Nodes)), slices.Sorted(slices.Values(names))) ||
		!slices.Equal(r.Users, []string{s.User.Name}) || r.For != task {
		s.Fatalf("the site shows %+v, want %+v", r, p)
	}
	other := p
	other.Name = driver.PromiseName(s.Federation, decision.Promised{Job: s.NextID()})
	if err := can.Reserve(s.ctx, other); !errors.Is(err, federation.ErrConflict) {
		s.Errorf("Reserve the same nodes under another name: %v, want ErrConflict", err)
	}
	waits := s.accept("exit 0") // it may run for ten minutes
	sub.Promise = p.Name
	id := s.acceptAs(sub) // nodes that were drained a moment ago do not respond yet
	s.untilState(id, federation.Running)
	if j := s.lookup(waits); j.State != federation.Pending {
		s.Errorf("a job that would run into the reservation is %s", j.State)
	}
	if err := can.Unreserve(s.ctx, p.Name); !errors.Is(err, federation.ErrConflict) {
		s.Errorf("Unreserve while the job runs: %v, want ErrConflict", err)
	}
	p.Start, p.End = s.Now().UTC().Truncate(time.Second), s.Now().Add(time.Minute).UTC().Truncate(time.Second)
	if err := can.Reserve(s.ctx, p); err != nil {
		s.Errorf("Reserve until soon, while the job runs: %v", err)
	}
	if r := shown(); r == nil || !r.End.Equal(p.End) {
		s.Errorf("the site shows %+v, want the end %v", r, p.End)
	}
	if err := s.Driver.Cancel(s.ctx, s.ref(id), nil); err != nil {
		s.Fatal(err)
	}
	s.untilState(id, federation.Cancelled)
	s.eventually("the reservation is removed", s.Patience, func() string {
		if err := can.Unreserve(s.ctx, p.Name); err != nil {
			return err.Error()
		}
		return ""
	})
	if r := shown(); r != nil {
		s.Errorf("removed, and the site shows %+v", r)
	}
	if err := can.Unreserve(s.ctx, p.Name); err != nil {
		s.Errorf("Unreserve what is not there: %v", err)
	}
	s.untilState(waits, federation.Completed)
}

// unreserve removes a reservation at the end of a test, and its job before: else it would be in the way of the tests that follow.
func (s *suite) unreserve(can driver.Reserver, name string, job federation.JobID) {
	ctx := context.Background() // the test's own is over
	_ = s.Driver.Cancel(ctx, s.ref(job), nil)
	for end := time.Now().Add(s.Patience); ; time.Sleep(200 * time.Millisecond) {
		err := can.Unreserve(ctx, name)
		if err == nil || errors.Is(err, federation.ErrInvalid) || errors.Is(err, federation.ErrDenied) {
			return
		}
		if time.Now().After(end) {
			s.Errorf("Unreserve at the end of the test: %v", err)
			return
		}
	}
}

// testReserveExtended: a reservation that has begun can be made to end later, and a job that waits for it waits on when it is over.
func testReserveExtended(s *suite) {
	can := driver.AbilitiesOf(s.Driver).Reserve
	if can == nil {
		s.Skip("SKIPPED: the driver has no Reserve")
	}
	names, _ := s.nodesOf()
	sub := s.job("exit 0", hold)
	now := s.Now().UTC().Truncate(time.Second)
	p := driver.Promise{Name: driver.PromiseName(s.Federation, decision.Promised{Job: sub.Job.ID}), User: s.User.Name, Nodes: names, Idle: 5 * time.Minute, Start: now, End: now.Add(10 * time.Minute)}
	err := can.Reserve(s.ctx, p)
	s.Cleanup(func() { s.unreserve(can, p.Name, sub.Job.ID) })
	if errors.Is(err, federation.ErrInvalid) || errors.Is(err, federation.ErrDenied) {
		s.Skipf("SKIPPED: the site does not let this token do it: %v", err)
	}
	if err != nil {
		s.Fatalf("Reserve: %v", err)
	}
	sub.Promise = p.Name
	s.acceptAs(sub)
	if err := can.Unreserve(s.ctx, p.Name); !errors.Is(err, federation.ErrConflict) {
		s.Errorf("Unreserve while the job waits for it: %v, want ErrConflict", err)
	}
	if err := can.Reserve(s.ctx, p); !errors.Is(err, federation.ErrConflict) {
		s.Errorf("Reserve with another begin when it has begun: %v, want ErrConflict", err)
	}
	p.Start, p.End = time.Time{}, now.Add(20*time.Minute)
	if err := can.Reserve(s.ctx, p); err != nil {
		s.Fatalf("Reserve for longer: %v", err)
	}
	all := s.observe().Reservations
	if i := slices.IndexFunc(all, func(r federation.Reservation) bool { return r.Name == p.Name }); i < 0 || !all[i].End.Equal(p.End) {
		s.Fatalf("the site shows %+v, want the end %v", all, p.End)
	}
	if s.ReadFile != nil && os.Getenv("FSUB_FULL") == "" { // Slurm looks at ends twice a minute
		return
	}
	p.End = s.Now().Add(2 * time.Second)
	if err := can.Reserve(s.ctx, p); err != nil {
		s.Fatalf("Reserve until soon: %v", err)
	}
	s.eventually("the reservation ends", max(s.Patience, time.Minute), func() string {
		if all := s.observe().Reservations; len(all) > 0 {
			return all[0].Name + " is there until " + all[0].End.String()
		}
		return ""
	})
	if err := s.Driver.Release(s.ctx, s.ref(sub.Job.ID)); err != nil {
		s.Fatal(err)
	}
	s.untilState(sub.Job.ID, federation.Completed)
	again := s.job("exit 0", nil)
	again.Promise = p.Name
	s.acceptAs(again)
	s.untilState(again.Job.ID, federation.Completed)
}
