package cloud

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fsub/accounting"
	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// TestMachineOf: what a machine has cost goes on with the clock until it ends, and so does what it did not do.
func TestMachineOf(t *testing.T) {
	created := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	base := machineRecord{Pool: "gpu", Name: "aws-gpu-1", Instance: "i-1", Offering: "g6/a/spot", Market: provider.Spot, Price: 2 * federation.Dollar, Created: created, Ready: created.Add(time.Minute)}
	want := driver.Machine{Site: "aws", Pool: "gpu", ID: "aws:1.0", Name: "aws-gpu-1", Instance: "i-1", Offering: "g6/a/spot", Market: "spot", PricePerHour: 2 * federation.Dollar, Job: 7,
		Created: created, Ready: base.Ready}
	for name, c := range map[string]struct {
		change     func(*machineRecord)
		state      string
		cost, idle float64
		why        string
	}{
		"starting": {func(m *machineRecord) { m.State = machineBooting }, "starting", 4, 4, ""},
		"idle":     {func(m *machineRecord) { m.State, m.Busy = machineUp, 30*time.Minute }, "idle", 4, 3, ""},
		"busy": {func(m *machineRecord) {
			m.State, m.Busy, m.BusyFrom = machineUp, 30*time.Minute, created.Add(time.Hour)
		}, "busy", 4, 1, ""},
		"ending": {func(m *machineRecord) { m.State, m.Why, m.Busy = machineEnding, "idle", 2*time.Hour }, "ending", 4, 0, "idle"},
		"ended": {func(m *machineRecord) {
			m.State, m.Ended, m.Cost, m.IdleCost, m.Why = machineEnded, created.Add(time.Hour), 2*federation.Dollar, 0.5*federation.Dollar, "idle"
		}, "ended", 2, 0.5, "idle"},
	} {
		r := base
		c.change(&r)
		data, err := json.Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := MachineOf(records.PoolRecord{Site: "aws", Kind: records.PoolMachine, ID: "aws:1.0", Job: 7, Data: data}, created.Add(2*time.Hour))
		w := want
		w.State, w.Cost, w.IdleCost, w.Why, w.Ended = c.state, accounting.MoneyOf(c.cost), accounting.MoneyOf(c.idle), c.why, r.Ended
		if diff := cmp.Diff(w, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	if _, err := MachineOf(records.PoolRecord{ID: "aws:1.0", Data: []byte("{")}, created); err == nil {
		t.Error("a record that is cut off was read")
	}
}

// TestPoolStatus: machines by what they do, what the pool has spent with what runs, and each refusal once though it is about several offerings.
func TestPoolStatus(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	d := assemble(Config{Site: "aws", Note: "on machines", Now: func() time.Time { return now }})
	d.cool.down = map[string]*coolDown{
		"cloud":             {key: "cloud", coolRecord: coolRecord{Kind: provider.KindDenied, Text: "no", Until: now.Add(time.Minute)}},
		"offering g6/a/od":  {key: "offering g6/a/od", coolRecord: coolRecord{Kind: provider.KindStockOut, Text: "none left", Until: now.Add(time.Hour)}},
		"offering g6/a/old": {key: "offering g6/a/old", coolRecord: coolRecord{Kind: provider.KindStockOut, Until: now}},
	}
	p := newPool(d.fleet, PoolConfig{Name: "gpu", Min: 1, Max: 16, Daily: 100 * federation.Dollar, Monthly: 5 * federation.Dollar})
	p.spent.roll(now)
	p.spent.monthCost = 4 * federation.Dollar
	for i, state := range []machineState{machineUp, machineUp, machineBooting, machineAsked, machineEnding} {
		if i%2 == 0 {
			p.groups = append(p.groups, &nodeGroup{pool: p, offering: provider.Offering{ID: []string{"g6/a/od", "g6/a/old", "g5/a/od"}[i/2]}})
		}
		l := p.groups[len(p.groups)-1]
		m := &machine{machineRecord: machineRecord{State: state, Price: 0.5 * federation.Dollar, Created: now.Add(-time.Hour)}}
		if i == 0 {
			m.runs = map[string]*run{"1": nil}
		}
		l.machines = append(l.machines, m)
	}
	other := newPool(d.fleet, PoolConfig{Name: "cpu", Max: 2})
	d.pools.all = []*pool{p, other}
	both, one := &subqueue{jobs: make(byClaim, 3)}, &subqueue{jobs: make(byClaim, 2)}
	p.subqueues, other.subqueues = map[*subqueue]bool{both: true, one: true}, map[*subqueue]bool{both: true}
	want := []driver.PoolStatus{{
		Site: "aws", Name: "gpu", Min: 1, Max: 16, Starting: 2, Idle: 1, Busy: 1, Ending: 1, Waiting: 5, PricePerHour: 2.5 * federation.Dollar, Today: 2.5 * federation.Dollar, Month: 6.5 * federation.Dollar, Daily: 100 * federation.Dollar, Monthly: 5 * federation.Dollar,
		Stopped: "pool gpu has spent $6.50 of its $5.00 for this month", Note: "on machines",
		Cooling: []driver.Cooling{{What: "cloud", Reason: reasons.CloudDenied, Detail: "no", Until: now.Add(time.Minute)},
			{What: "offering g6/a/od", Reason: reasons.StockOut, Detail: "none left", Until: now.Add(time.Hour)}},
	}, {Site: "aws", Name: "cpu", Max: 2, Waiting: 3, Note: "on machines"}}
	if diff := cmp.Diff(want, d.Pools()); diff != "" {
		t.Error(diff)
	}
}

// TestMachineNow: a machine that was idle in the records has a job by now.
func TestMachineNow(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	d := assemble(Config{Site: "aws", Now: func() time.Time { return now }})
	m := &machine{id: "aws:1.0", machineRecord: machineRecord{State: machineUp, Created: now.Add(-time.Hour), BusyFrom: now.Add(-time.Minute), Price: 60 * federation.Dollar, LastJob: 7},
		runs: map[string]*run{"8": {job: &job{jobRecord: jobRecord{Job: federation.Job{ID: 8, Spec: new(sbatch.Spec)}}}}, "9": {job: &job{jobRecord: jobRecord{Job: federation.Job{ID: 9, Spec: new(sbatch.Spec)}}}}}}
	d.fleet.machines = map[MachineID]*machine{m.id: m}
	got, ok := d.Machine("aws:1.0")
	if !ok || got.Site != "aws" || got.State != "busy" || got.Job != 9 || got.Cost != 60*federation.Dollar || got.IdleCost != 59*federation.Dollar {
		t.Errorf("%+v", got)
	}
	if _, ok := d.Machine("aws:1.1"); ok {
		t.Error("a machine that is not there was told of")
	}
}
