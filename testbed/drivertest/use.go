package drivertest

import (
	"time"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/idle"
)

// testUse: while two jobs run, the site tells which of them works. Of one that has ended it tells nothing.
func testUse(s *suite) {
	can := driver.AbilitiesOf(s.Driver).Use
	if can == nil || !s.MeasuresUse {
		s.Skip("SKIPPED: the site does not measure what jobs use")
	}
	works := s.run("end=$((SECONDS + 120)); while [ $SECONDS -lt $end ]; do :; done")
	sleeps := s.run("sleep 300")
	ended := s.run("exit 0")
	s.untilState(works, federation.Running)
	s.untilState(sleeps, federation.Running)
	s.untilState(ended, federation.Completed)
	var use map[federation.JobID]idle.Use
	for end := time.Now().Add(s.Patience); use[works].CPUTime < 2*time.Second; time.Sleep(time.Second) {
		var err error
		if use, err = can.Use(s.ctx, []driver.Running{{JobRef: s.ref(works)}, {JobRef: s.ref(sleeps)}, {JobRef: s.ref(ended)}}); err != nil {
			s.Fatalf("Use: %v", err)
		}
		if time.Now().After(end) {
			s.Fatalf("Use of a job that works: %+v", use)
		}
	}
	if u := use[sleeps]; !u.KnowsCPU || u.CPUTime > time.Second || u.At.IsZero() {
		s.Errorf("Use of a job that sleeps: %+v", u)
	}
	if u, ok := use[ended]; ok {
		s.Errorf("Use of a job that has ended: %+v", u)
	}
}
