package simsite

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/slurm/wire"
)

func TestPinnedIDs(t *testing.T) {
	s := newSite(t)
	const id = 30000001
	if _, _, err := s.Submit(Caller{Name: "alice"}, desc(second1, pinned(id, "k"))); err != errJobID {
		t.Errorf("alice pins: %v", err)
	}
	s.mustSubmit(t, desc(second1, pinned(id, "fsub:f:30000001.1.x")))
	if _, _, err := s.Submit(slurmUser, desc(second1, pinned(id, "k"))); err != errDuplicate {
		t.Errorf("second submission: %v", err)
	}
	if own := s.mustSubmit(t, desc(second1)); own != 1 {
		t.Errorf("the site's own counter gave %d", own)
	}
	s.Advance(time.Minute)
	if _, _, err := s.Submit(slurmUser, desc(second1, pinned(id, "k"))); err != errDuplicate {
		t.Errorf("submission while the ended job is in memory: %v", err)
	}
	s.Advance(5 * time.Minute)
	s.mustSubmit(t, desc(second1, pinned(id, "k")))
	if r := s.Runs(id); len(r) != 2 || r[0].Key != "fsub:f:30000001.1.x" {
		t.Errorf("runs: %+v", r)
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*wire.JobDesc)
		want   error
	}{
		"partition":   {func(d *wire.JobDesc) { d.Partition = "nope" }, errPartition},
		"account":     {func(d *wire.JobDesc) { d.Account = "proj2" }, errAccount},
		"no account":  {func(d *wire.JobDesc) { d.UserID = "7003" }, errAccount},
		"user":        {func(d *wire.JobDesc) { d.UserID = "4711" }, errUserID},
		"work dir":    {func(d *wire.JobDesc) { d.WorkDir = "" }, errNoWorkDir},
		"env":         {func(d *wire.JobDesc) { d.Environment = nil }, errIO},
		"comment":     {func(d *wire.JobDesc) { d.Comment = string(make([]byte, 1025)) }, errTooLong},
		"tres":        {func(d *wire.JobDesc) { d.TRESPerNode = "gpu:1" }, errTRES},
		"gres":        {func(d *wire.JobDesc) { d.TRESPerNode = "gres/fpga:1" }, errGRES},
		"feature":     {func(d *wire.JobDesc) { d.Constraints = "quantum" }, errFeature},
		"reservation": {func(d *wire.JobDesc) { d.Reservation = "nope" }, errReservation},
		"array":       {func(d *wire.JobDesc) { d.Array = "0-2000" }, errArray},
		"script":      {func(d *wire.JobDesc) { d.Script = "" }, errNoScript},
		"size":        {func(d *wire.JobDesc) { d.Nodes = "0" }, errNodeCount},
	} {
		s := newSite(t)
		if _, _, err := s.Submit(slurmUser, desc(second1, c.change)); err != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestImpossibleLeavesARecord(t *testing.T) {
	s := newSite(t)
	_, _, err := s.Submit(slurmUser, desc(second1, pinned(30000007, "k"), func(d *wire.JobDesc) { d.Nodes, d.Tasks = "9", 9 }))
	if err != errNodeConfig {
		t.Fatal(err)
	}
	if j, _ := s.Job(30000007); j.State != federation.Failed || j.Reason != reasons.BadConstraints {
		t.Errorf("record: %s %s", j.State, j.Reason)
	}
	s.wantRuns(t, 30000007)
}

func TestReservation(t *testing.T) {
	s := newSite(t, func(c *Config) {
		begin := time.Date(2030, 1, 1, 1, 0, 0, 0, time.UTC)
		c.Reservations = []federation.Reservation{{Name: "r1", Start: begin, End: begin.Add(time.Hour), Nodes: []string{"a1", "a2"}, Users: []string{"bob"}}}
	})
	long := s.mustSubmit(t, desc(time.Minute, func(d *wire.JobDesc) { d.TimeLimit = wire.Num(120) }))
	short := s.mustSubmit(t, desc(time.Minute, func(d *wire.JobDesc) { d.TimeLimit = wire.Num(10) }))
	if j, _ := s.Job(long); j.Nodes != "a3" {
		t.Errorf("the long job runs on %s", j.Nodes)
	}
	if j, _ := s.Job(short); j.Nodes != "a1" {
		t.Errorf("the short job runs on %s", j.Nodes)
	}
	if _, _, err := s.Submit(slurmUser, desc(second1, func(d *wire.JobDesc) { d.Reservation = "r1" })); err != errRsvAccess {
		t.Errorf("alice in bob's reservation: %v", err)
	}
	in := s.mustSubmit(t, desc(second1, func(d *wire.JobDesc) { d.Reservation, d.UserID = "r1", "7002" }))
	s.wantState(t, in, federation.Pending)
	s.Advance(time.Hour)
	s.wantState(t, in, federation.Running)
}

func TestPartitionLimits(t *testing.T) {
	long := func(d *wire.JobDesc) { d.Partition, d.TimeLimit = "short", wire.Num(120) }
	s := newSite(t)
	id := s.mustSubmit(t, desc(second1, long))
	after := s.mustSubmit(t, desc(second1, func(d *wire.JobDesc) { d.Partition = "short" }))
	s.wantState(t, id, federation.Pending)
	s.wantState(t, after, federation.Running)
	s = newSite(t, func(c *Config) { c.EnforcePartLimits = true })
	if _, _, err := s.Submit(slurmUser, desc(second1, long)); err != errTimeLimit {
		t.Errorf("beyond the limit: %v", err)
	}
	s.SetPartition("short", "DOWN")
	id = s.mustSubmit(t, desc(second1, func(d *wire.JobDesc) { d.Partition = "short" }))
	if j, _ := s.Job(id); j.State != federation.Pending || j.Reason != reasons.PartitionDown {
		t.Errorf("%s %s", j.State, j.Reason)
	}
	s.SetPartition("short", "UP")
	s.wantState(t, id, federation.Running)
}
