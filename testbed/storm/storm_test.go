package storm

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fsub/accounting"
	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/cloudtest"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/federation/controller"
	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/federation/store"
	"fsub/sbatch"
)

// people is alice.
type people struct{}

func (people) Lookup(_ context.Context, name string) (agentapi.User, error) {
	return agentapi.User{Name: name, UID: 2001, GID: 2001, Home: "/home/" + name, Shell: "/bin/bash"}, nil
}

// cloudOf is one of the clouds: what it rents, and when each of its zones has nothing left.
type cloudOf struct {
	*cloudtest.Provider
	name     federation.SiteName
	from, to map[string]time.Time // that a zone is dry

	mu      sync.Mutex
	refused map[string][]time.Time // by zone
	granted map[string][]time.Time
}

func (c *cloudOf) dry(zone string, at time.Time) bool {
	return !at.Before(c.from[zone]) && at.Before(c.to[zone])
}

// create refuses what a zone does not have.
func (c *cloudOf) create(op string, r *provider.Request) error {
	if op != "Create" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now, zone := time.Now(), r.Offering.Zone
	if c.dry(zone, now) {
		c.refused[zone] = append(c.refused[zone], now)
		return &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeZone, Code: "NoneLeft", Text: "no machines are left in " + zone}
	}
	c.granted[zone] = append(c.granted[zone], now)
	return nil
}

// cooling reports whether a zone had refused so lately that it is not asked again: ten minutes after the first time, doubled up to an hour.
func (c *cloudOf) cooling(zone string, at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	until, times := time.Time{}, 0
	for _, r := range c.refused[zone] {
		switch {
		case !r.Before(at):
		case r.Before(until): // the answer to a call from before
		default:
			until = r.Add(min(10*time.Minute<<times, time.Hour))
			times++
		}
	}
	return at.Before(until)
}

const (
	zones  = 3
	jobs   = 36
	work   = 600 // seconds
	before = "sleep 600"
)

// TestStorm: every zone of three clouds runs dry, in random order, for an hour. Each job ends on the cheapest machine that existed when it could start, never in the
// spot market of a zone that has just taken one from it; the clouds are asked a bounded number of times, and their bills are what our books say, to the cent.
func TestStorm(t *testing.T) {
	seeds := []uint64{1}
	if os.Getenv("FSUB_FULL") != "" {
		seeds = []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	} else {
		t.Log("only one of ten storms: set FSUB_FULL=1 for all of them")
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { storm(t, seed) }) })
	}
}

func storm(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	start := time.Now()
	st, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "fed.db"), Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	server := &cloudtest.AgentServer{}
	var clouds []*cloudOf
	var sites []controller.Site
	prices := rng.Perm(2 * 3 * zones)
	for n, name := range []federation.SiteName{"aws", "gcp", "azure"} {
		c := &cloudOf{name: name, from: map[string]time.Time{}, to: map[string]time.Time{}, refused: map[string][]time.Time{}, granted: map[string][]time.Time{}}
		c.Provider = &cloudtest.Provider{Boot: 20 * time.Second, Lag: time.Second, AgentServer: server, Before: c.create}
		for z := range zones {
			zone := fmt.Sprintf("%s-%c", name, 'a'+z)
			c.from[zone] = start.Add(time.Duration(5+rng.IntN(55)) * time.Minute)
			c.to[zone] = c.from[zone].Add(time.Hour)
			for m, market := range []provider.Market{provider.Spot, provider.OnDemand} {
				price := 10.0 // each by a fifth dearer than the one before
				for range prices[(n*zones+z)*2+m] {
					price *= 1.2
				}
				c.Offers = append(c.Offers, provider.Offering{ID: "x/" + zone + "/" + string(market), Type: "x", Region: string(name), Zone: zone, Market: market, CPUs: 4, Mem: 16000,
					Arch: "x86_64", Price: decision.Dollars(price), PricedAt: start, PriceFrom: "test", Boot: 30 * time.Second})
			}
		}
		d, err := cloud.New(cloud.Config{Site: name, Provider: c, Store: st, AgentServer: server, Secret: []byte("0123456789abcdef"), Users: people{}, Logger: slog.New(slog.DiscardHandler),
			Pools: []cloud.PoolConfig{{Name: "main", Max: 64, Idle: 2 * time.Minute}}, Boot: agentapi.Boot{PowerOff: true}})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() { _ = d.Run(ctx) })
		clouds, sites = append(clouds, c), append(sites, controller.Site{Name: name, Driver: d})
	}
	// An hour of waiting is worth next to nothing: the price of the machine alone decides.
	ctl, err := controller.New(t.Context(), controller.Config{Federation: "test", Store: st, Policy: place.Policy{WaitJobHour: 1e-6, WaitGPUHour: -1}, Sites: sites})
	if err != nil {
		t.Fatal(err)
	}
	running.Go(func() { _ = ctl.Run(ctx) })
	time.Sleep(10 * time.Second)
	var ids []federation.JobID
	for range jobs {
		time.Sleep(time.Duration(rng.IntN(240)) * time.Second)
		j := federation.Job{User: "alice", UID: 2001, GID: 2001, Spec: &sbatch.Spec{Name: "job", TimeLimit: 2 * work * time.Second, WorkDir: "/tmp", CPUsPerTask: 4}}
		if err := st.CreateJob(ctx, &j, &sbatch.Payload{Script: "#!/bin/bash\n" + before, Environment: []string{"PATH=/bin"}}); err != nil {
			t.Fatal(err)
		}
		ctl.Wake()
		ids = append(ids, j.ID)
		if rng.IntN(4) == 0 { // a spot machine is taken back
			c := clouds[rng.IntN(len(clouds))]
			for _, m := range c.Living() {
				if strings.HasSuffix(m.Offering, "/spot") {
					c.Preempt(m.ID, 30*time.Second)
					break
				}
			}
		}
	}
	ended := func() (n int) {
		for _, id := range ids {
			j, err := st.Job(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			if j.State.Ended() {
				n++
			}
		}
		return n
	}
	for end := time.Now().Add(6 * time.Hour); ended() < jobs; time.Sleep(time.Minute) {
		if time.Now().After(end) {
			t.Fatalf("only %d of %d jobs have ended", ended(), jobs)
		}
	}
	time.Sleep(10 * time.Minute) // idle machines end
	took := time.Since(start)
	checkJobs(t, st, clouds, ids, start)
	checkCalls(t, clouds, took)
	checkBills(t, st, clouds)
	for _, c := range clouds {
		for _, f := range c.Faults() {
			t.Error(f)
		}
	}
	cancel()
	running.Wait()
}

// checkJobs holds each job's machines against what there was.
func checkJobs(t *testing.T, st *store.Store, clouds []*cloudOf, ids []federation.JobID, start time.Time) {
	t.Helper()
	most, moved := 0, 0
	for _, id := range ids {
		j, err := st.Job(t.Context(), id)
		if err != nil || j.State != federation.Completed {
			t.Errorf("job %d is %s: %v", id, j.State, err)
			continue
		}
		attempts, err := st.Attempts(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, len(attempts))
		taken := map[string]time.Time{}
		for _, a := range attempts {
			o := a.Decision.Offers[0]
			if at, ok := taken[o.Zone]; ok && o.Market == "spot" && a.Created.Sub(at) < 25*time.Minute {
				t.Errorf("job %d went back to spot machines of %s %s after one was taken from it", id, o.Zone, a.Created.Sub(at))
			}
			if a.Class == federation.ClassPreempt {
				taken[o.Zone] = a.Ended
				moved++
			}
		}
		last := attempts[len(attempts)-1]
		got := last.Decision.Offers[0]
		for _, c := range clouds {
			for _, o := range c.Offers {
				at := last.Created
				_, left := taken[o.Zone]
				if o.Price >= priceOf(clouds, got) || c.dry(o.Zone, at) || c.cooling(o.Zone, at) || left && o.Market == provider.Spot {
					continue
				}
				t.Errorf("job %d began on %s at $%.2f after %s, where %s was to be had at $%.2f", id, got.Offering, priceOf(clouds, got), at.Sub(start), o.ID, o.Price)
			}
		}
	}
	t.Logf("%d jobs, at most %d attempts of one, %d preempted", len(ids), most, moved)
	if most > 2*3*zones+4*3*zones { // each offering once, and each zone as often as its cool-down passes while it is dry
		t.Errorf("a job has climbed %d rungs", most)
	}
}

func priceOf(clouds []*cloudOf, got *decision.Offer) decision.Dollars {
	for _, c := range clouds {
		for _, o := range c.Offers {
			if c.name == got.Site && o.ID == got.Offering {
				return o.Price
			}
		}
	}
	return 0
}

// checkCalls bounds what the clouds were asked.
func checkCalls(t *testing.T, clouds []*cloudOf, took time.Duration) {
	t.Helper()
	creates, refused := 0, 0
	for _, c := range clouds {
		creates += c.Calls("Create", time.Time{})
		for _, list := range c.refused {
			refused += len(list)
		}
		if n, most := c.Calls("List", time.Time{}), int(took/(10*time.Second))+10; n > most {
			t.Errorf("%s was listed %d times in %s", c.name, n, took)
		}
		if n, most := c.Calls("Offerings", time.Time{}), int(took/(10*time.Minute))+2; n > most {
			t.Errorf("%s was asked for its offerings %d times in %s", c.name, n, took)
		}
	}
	t.Logf("%s: %d requests for machines, %d of them refused", took, creates, refused)
	if most := 3 * zones * 5; refused > most { // an hour dry: 0, 10, 30 min, and then it is over; two that were sent at once
		t.Errorf("%d refusals, want at most %d", refused, most)
	}
	if most := 2*jobs + refused; creates > most {
		t.Errorf("%d requests for machines of %d jobs", creates, jobs)
	}
}

// checkBills compares what the clouds charge, by the second from when a machine was launched until it ended, with the records of machines and with the ledger.
func checkBills(t *testing.T, st *store.Store, clouds []*cloudOf) {
	t.Helper()
	var names []federation.SiteName
	for _, c := range clouds {
		names = append(names, c.name)
	}
	b := booked(t, st, names...)
	for _, c := range clouds {
		price := map[string]decision.Dollars{}
		for _, o := range c.Offers {
			price[o.ID] = o.Price
		}
		var bill federation.Money
		all := c.Machines()
		for _, m := range all {
			if m.State != provider.InstanceEnded {
				t.Errorf("%s: %s lives still", c.name, m.ID)
			}
			bill += accounting.MoneyOf(float64(price[m.Offering])).For(m.Ended.Sub(m.Launched))
		}
		records, err := rented{st}.Machines(t.Context(), c.name, time.Time{}, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		var ours federation.Money
		for _, m := range records {
			ours += m.Cost
		}
		if in := b.total(c.name); in.Text(2) != bill.Text(2) {
			t.Errorf("%s charges $%s, and the ledger has $%s", c.name, bill.Text(6), in.Text(6))
		}
		if bill != ours || len(records) != len(all) {
			t.Errorf("%s charges $%s for %d machines, and our books have $%s for %d", c.name, bill.Text(6), len(all), ours.Text(6), len(records))
		}
		t.Logf("%s: $%s for %d machines", c.name, bill.Text(2), len(all))
	}
}
