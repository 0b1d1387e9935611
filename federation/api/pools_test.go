package api_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/driver"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// books are pools that remember what they were asked.
type books struct {
	mu       sync.Mutex
	pools    []driver.PoolStatus
	machines []driver.Machine
	asked    string
	err      error
}

func (b *books) locked(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
}

func (b *books) said() (asked string) {
	b.locked(func() { asked = b.asked })
	return asked
}

func (b *books) Pools() []driver.PoolStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pools
}

func (b *books) Machines(_ context.Context, site federation.SiteName, since time.Time, limit int) ([]driver.Machine, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = fmt.Sprint(site, " ", since.Unix(), " ", limit)
	if since.After(time.Now()) {
		b.asked = fmt.Sprint(site, " now ", limit)
	}
	return slices.Clone(b.machines), b.err
}

func (b *books) Retry(_ context.Context, site federation.SiteName) ([]driver.Cooling, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if site != b.pools[0].Site {
		return nil, federation.ErrNotFound
	}
	return b.pools[0].Cooling, b.err
}

func TestRetryPools(t *testing.T) {
	b := &books{pools: []driver.PoolStatus{{Site: "aws", Cooling: []driver.Cooling{{What: "cloud", Reason: reasons.CloudDenied, Detail: "no"}}}}}
	d := startWith(t, api.Config{Pools: b})
	if code := as(t, alice, d.Socket, "POST", "/fed/v1/site/aws/retry", nil, nil); code != 403 {
		t.Errorf("for a user: status %d", code)
	}
	var forgiven []v1.Cooling
	if code := as(t, olga, d.Socket, "POST", "/fed/v1/site/aws/retry", nil, &forgiven); code != 200 || len(forgiven) != 1 || forgiven[0].Reason != reasons.CloudDenied {
		t.Errorf("status %d, %+v", code, forgiven)
	}
	if code := as(t, olga, d.Socket, "POST", "/fed/v1/site/alpha/retry", nil, nil); code != 404 {
		t.Errorf("of a site without pools: status %d", code)
	}
	b.locked(func() { b.err = federation.ErrUnavailable })
	if code := as(t, olga, d.Socket, "POST", "/fed/v1/site/aws/retry", nil, nil); code < 500 {
		t.Errorf("without books: status %d", code)
	}
}

func TestPoolsAreForOperators(t *testing.T) {
	until := time.Date(2026, 11, 20, 12, 5, 0, 0, time.UTC)
	b := &books{
		pools: []driver.PoolStatus{{Site: "aws", Name: "gpu", Min: 1, Max: 16, Starting: 2, Idle: 3, Busy: 4, Ending: 5, Waiting: 6, PricePerHour: 7.5 * federation.Dollar, Today: 8 * federation.Dollar, Month: 90 * federation.Dollar,
			Daily: 100 * federation.Dollar, Monthly: 1000 * federation.Dollar, Stopped: "spent", Note: "new", Cooling: []driver.Cooling{{What: "cloud", Reason: reasons.Quota, Detail: "no more", Until: until}}}},
		machines: []driver.Machine{{Site: "aws", Pool: "gpu", ID: "aws:1.0", Name: "aws-gpu-1", Instance: "i-1", Offering: "g6/a/spot", Market: "spot", State: "ended",
			PricePerHour: 0.4 * federation.Dollar, Job: 30000001, Created: until, Ready: until.Add(time.Minute), Ended: until.Add(time.Hour), Cost: 0.4 * federation.Dollar, IdleCost: 0.1 * federation.Dollar, Why: "idle"}},
	}
	d := startWith(t, api.Config{Pools: b})
	for _, path := range []string{"/fed/v1/pools", "/fed/v1/machines"} {
		var refused v1.ErrorResponse
		if code := as(t, alice, d.Socket, "GET", path, nil, &refused); code != 403 {
			t.Errorf("%s for a user: status %d, %+v", path, code, refused)
		}
	}
	var pools []v1.Pool
	if code := as(t, olga, d.Socket, "GET", "/fed/v1/pools", nil, &pools); code != 200 || len(pools) != 1 {
		t.Fatalf("status %d, %+v", code, pools)
	}
	want := v1.Pool{Site: "aws", Name: "gpu", Min: 1, Max: 16, Starting: 2, Idle: 3, Busy: 4, Ending: 5, Waiting: 6, PricePerHour: 7.5 * federation.Dollar, Today: 8 * federation.Dollar, Month: 90 * federation.Dollar,
		Daily: 100 * federation.Dollar, Monthly: 1000 * federation.Dollar, Stopped: "spent", Note: "new", Cooling: []v1.Cooling{{What: "cloud", Reason: reasons.Quota, Detail: "no more", Until: until}}}
	if diff := cmp.Diff(want, pools[0]); diff != "" {
		t.Error(diff)
	}
	for query, asked := range map[string]string{
		"": " now 10000", "?site=aws": "aws now 10000", "?since=0&limit=7": " 0 10000", "?since=1700000000&limit=99999999": " 1700000000 10000",
	} {
		var machines []v1.Machine
		code := as(t, olga, d.Socket, "GET", "/fed/v1/machines"+query, nil, &machines)
		if code != 200 || b.said() != asked || len(machines) != 1 || driver.Machine(machines[0]) != b.machines[0] {
			t.Errorf("%q: status %d, asked %q, want %q: %+v", query, code, b.said(), asked, machines)
		}
	}
	for _, query := range []string{"?since=yesterday", "?limit=0", "?limit=x"} {
		if code := as(t, olga, d.Socket, "GET", "/fed/v1/machines"+query, nil, nil); code != 400 {
			t.Errorf("%q: status %d", query, code)
		}
	}
	b.locked(func() { b.machines, b.err = nil, federation.ErrUnavailable })
	if code := as(t, olga, d.Socket, "GET", "/fed/v1/machines", nil, nil); code < 500 {
		t.Errorf("with the store gone: status %d", code)
	}
	b.locked(func() { b.err = nil })
	if code := as(t, olga, d.Socket, "GET", "/fed/v1/machines?site=nowhere", nil, nil); code != 404 {
		t.Errorf("a site that is not there: status %d", code)
	}
}

// TestMachineOfATask: the job of a machine is told as users know it, as a task of its array.
func TestMachineOfATask(t *testing.T) {
	b := &books{}
	d := startWith(t, api.Config{Pools: b})
	task := federation.Job{User: "alice", Spec: new(sbatch.Spec), Part: &federation.ArrayPart{Array: 30000000, Index: 0, Count: 2, Max: 1, Step: 1}}
	if err := d.Store.CreateJob(t.Context(), &task, &sbatch.Payload{}); err != nil {
		t.Fatal(err)
	}
	b.locked(func() {
		b.machines = []driver.Machine{{ID: "aws:1.0", Job: task.ID}, {ID: "aws:1.1", Job: 39999999}, {ID: "aws:1.2"}}
	})
	var machines []v1.Machine
	if code := as(t, olga, d.Socket, "GET", "/fed/v1/machines", nil, &machines); code != 200 || len(machines) != 3 {
		t.Fatalf("status %d, %+v", code, machines)
	}
	if m := machines[0]; m.Array != 30000000 || m.Task == nil || *m.Task != 0 || m.Job != task.ID {
		t.Errorf("%+v", m)
	}
	for _, m := range machines[1:] {
		if m.Array != 0 || m.Task != nil {
			t.Errorf("%+v", m)
		}
	}
}

func TestPoolsOfAClient(t *testing.T) {
	b := &books{pools: []driver.PoolStatus{{Site: "local", Name: "main"}}, machines: []driver.Machine{{ID: "local:1.0"}}}
	d := startWith(t, api.Config{Pools: b})
	c := client.New(d.Socket)
	defer c.Close()
	pools, err := client.List(t.Context(), c, &v1.Pools, v1.None{})
	if err != nil || len(pools) != 1 || pools[0].Site != "local" {
		t.Errorf("%+v, %v", pools, err)
	}
	var asked []string
	for _, ended := range []bool{false, true} {
		machines, err := c.Machines(t.Context(), "local", ended)
		if err != nil || len(machines) != 1 || machines[0].ID != "local:1.0" {
			t.Errorf("%+v, %v", machines, err)
		}
		asked = append(asked, b.said())
	}
	if want := []string{"local now 10000", "local 0 10000"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	bare := start(t)
	c = client.New(bare.Socket)
	defer c.Close()
	if pools, err := client.List(t.Context(), c, &v1.Pools, v1.None{}); err != nil || len(pools) != 0 {
		t.Errorf("without pools: %+v, %v", pools, err)
	}
	if machines, err := c.Machines(t.Context(), "", true); err != nil || len(machines) != 0 {
		t.Errorf("without pools: %+v, %v", machines, err)
	}
	if _, err := c.Machines(t.Context(), "nowhere", true); err != nil && !errors.Is(err, federation.ErrNotFound) {
		t.Error(err)
	}
}
