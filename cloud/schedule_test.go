package cloud

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// noProvider and noStore are called by nobody.
type (
	noProvider struct{ provider.Provider }
	noStore    struct{ records.PoolStore }
	noServer   struct{ AgentServer }
)

func (noServer) Add(federation.SiteName, Agents) {}
func (noServer) Servers() []string               { return nil }

// idleDriver is a driver with one pool whose loops do not run: what is scheduled stays in memory.
func idleDriver(tb testing.TB, p PoolConfig, offers ...provider.Offering) *Driver {
	tb.Helper()
	d, err := New(Config{Site: "sky", Provider: noProvider{}, Store: noStore{}, AgentServer: noServer{}, Secret: make([]byte, 16), Pools: []PoolConfig{p},
		Logger: slog.New(slog.DiscardHandler), Boot: agentapi.Boot{PowerOff: true}})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	d.ctx, d.pools.known = ctx, true
	d.pools.all[0].offer(offers)
	return d
}

// queue puts a job into the queue.
func (d *Driver) add(id federation.JobID, spec sbatch.Spec, wants ...want) *job {
	j := &job{jobRecord: jobRecord{Job: federation.Job{ID: id, Spec: &spec}, Key: fmt.Sprint(id), Wants: wants, State: federation.Pending}}
	j.User.Name = "alice"
	d.jobs.byID[id] = j
	d.queue.enqueue(j)
	return j
}

func (d *Driver) number(n int) {
	for i := range n {
		d.numbers.free = append(d.numbers.free, int64(i+1))
	}
}

// TestHetJobThatWaits: what was thought of for its first component, and is not to be since the second finds no machines, is forgotten.
func TestHetJobThatWaits(t *testing.T) {
	d := idleDriver(t, PoolConfig{Name: "main", Max: 1}, provider.Offering{ID: "small", Type: "small", CPUs: 4, Mem: 16000, Price: 1})
	d.number(10)
	j := d.add(1, sbatch.Spec{CPUsPerTask: 4, Het: []sbatch.Spec{{CPUsPerTask: 4}}}, want{Partition: "main"}, want{Partition: "main"})
	for range 5 {
		d.pools.all[0].wake()
		d.scheduler.schedule()
	}
	if f := d.fleet; j.run != nil || len(f.gangs) != 0 || len(f.machines) != 0 || len(f.names) != 0 || len(d.numbers.free) != 10 {
		t.Errorf("%d gangs, %d machines, %d names, %d numbers: %s %s", len(f.gangs), len(f.machines), len(f.names), len(d.numbers.free), j.Reason, j.Detail)
	}
}

// TestClaimsInOrder: of claims on the same machines the one that placement made first is fulfilled first, whichever came first and fits; one that would cost more
// than was granted is given back.
func TestClaimsInOrder(t *testing.T) {
	d := idleDriver(t, PoolConfig{Name: "main", Max: 2}, provider.Offering{ID: "a", Type: "a", CPUs: 4, Mem: 16000, Price: 2}, provider.Offering{ID: "b", Type: "b", CPUs: 4, Mem: 16000, Price: 3})
	d.number(10)
	claim := func(id federation.JobID, number int64, nodes int, offering string, most federation.Money) *job {
		j := &job{jobRecord: jobRecord{Job: federation.Job{ID: id, Spec: &sbatch.Spec{CPUsPerTask: 4, MinNodes: nodes, MaxNodes: nodes}}, Key: fmt.Sprint(id), Claim: number,
			Wants: []want{{Partition: "main", Offering: offering, Nodes: nodes, PerHour: most}}, State: federation.Pending}}
		d.jobs.byID[id] = j
		d.queue.enqueue(j)
		return j
	}
	first := claim(1, 10, 1, "a", 0)
	d.scheduler.schedule()
	large, small, other := claim(2, 20, 2, "a", 0), claim(3, 30, 1, "a", 0), claim(4, 31, 1, "b", 0)
	d.scheduler.schedule()
	if first.run == nil || large.run != nil || small.run != nil || other.run != nil || d.pools.all[0].waiting() != 3 {
		t.Fatalf("first %v, large %v, small %v, of another offering %v", first.run, large.run, small.run, other.run)
	}
	early := claim(5, 5, 1, "a", federation.Dollar)
	d.scheduler.schedule()
	if early.run != nil || !early.Returned || early.Reason != reasons.Price {
		t.Errorf("a claim of a dollar an hour: %v, %s %s", early.run, early.Reason, early.Detail)
	}
	d.runs.finish(large, outcome{State: federation.Cancelled})
	d.scheduler.schedule()
	if small.run == nil || other.run != nil {
		t.Errorf("small %v, of another offering %v", small.run, other.run)
	}
}

// TestBehind: of the jobs behind one that waits, those which ask for less than one that does not fit either are tried, whatever it is that they ask for.
func TestBehind(t *testing.T) {
	d := idleDriver(t, PoolConfig{Name: "main", Max: 1, Shared: true}, provider.Offering{ID: "a", Type: "a", CPUs: 4, Mem: 16000, Price: 2})
	d.number(10)
	main := want{Partition: "main"}
	first := d.add(1, sbatch.Spec{CPUsPerTask: 2}, main)
	d.scheduler.schedule()
	first.run.machines[0].State = machineUp
	large, wide, small := d.add(2, sbatch.Spec{CPUsPerTask: 4}, main), d.add(3, sbatch.Spec{More: &sbatch.More{MinCPUs: 3}}, main), d.add(4, sbatch.Spec{}, main)
	d.scheduler.schedule()
	if first.run == nil || large.run != nil || wide.run != nil || small.run == nil {
		t.Errorf("first %v, large %v, wide %v, small %v", first.run, large.run, wide.run, small.run)
	}
}

// TestNames: whatever machines come and go, new ones get the lowest numbers that none has.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFleet(&base{cfg: Config{Site: "sky"}}, new(pools), nil, nil, nil, nil)
		p := newPool(f, PoolConfig{Name: "main", Max: 100})
		f.pools.all = []*pool{p}
		p.offer([]provider.Offering{{ID: "a", Type: "a", CPUs: 1}})
		ng, ids := p.groups[0], 0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if n := len(ng.machines); n > 0 && rapid.Bool().Draw(t, "one goes") {
				f.remove(ng.machines[rapid.IntRange(0, n-1).Draw(t, "which")])
				continue
			}
			names := ng.newNames(rapid.IntRange(0, 4).Draw(t, "count"))
			var want []string
			for i := 1; len(want) < len(names); i++ {
				if name := fmt.Sprintf("sky-main-%d", i); f.names[name] == nil {
					want = append(want, name)
				}
			}
			if !slices.Equal(names, want) {
				t.Fatalf("%v, want %v", names, want)
			}
			for _, name := range names[:rapid.IntRange(0, len(names)).Draw(t, "taken")] {
				ids++
				f.add(&machine{id: MachineID(fmt.Sprint(ids)), pool: p, group: ng, machineRecord: machineRecord{Name: name}})
			}
		}
	})
}

// BenchmarkSchedule: 1,000 jobs find no machine free among 5,000 and get a gang each, in one round.
func BenchmarkSchedule(b *testing.B) {
	const there, gangs = 5000, 1000
	for b.Loop() {
		b.StopTimer()
		d := idleDriver(b, PoolConfig{Name: "main", Max: there + gangs}, provider.Offering{ID: "small/a/spot", Type: "small", CPUs: 4, Mem: 16000, Price: 1, Boot: time.Minute})
		d.number(there + gangs)
		for i := range there {
			d.add(federation.JobID(i+1), sbatch.Spec{CPUsPerTask: 4}, want{Partition: "main", Offering: "small/a/spot"})
		}
		d.scheduler.schedule()
		for _, m := range d.fleet.machines {
			m.State = machineUp
		}
		for i := range gangs {
			d.add(federation.JobID(there+i+1), sbatch.Spec{CPUsPerTask: 4}, want{Partition: "main", Offering: "small/a/spot"})
		}
		b.StartTimer()
		d.scheduler.schedule()
		b.StopTimer()
		if len(d.fleet.machines) != there+gangs {
			b.Fatalf("%d machines", len(d.fleet.machines))
		}
		b.StartTimer()
	}
}
