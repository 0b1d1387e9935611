package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/federation/spending"
	"fsub/federation/usage"
	"fsub/slurm/wire"
)

// TestOneSite: with cluster in the query, partitions are those of that site, with its own limits and default; reservations and what
// a site says of nodes beside their sizes are passed on.
func TestOneSite(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	sites := testSites()
	at := time.Unix(1795195874, 0)
	sites[1].Seen.Partitions[0].RootOnly = true
	sites[1].Seen.Partitions[0].Info = &federation.PartitionInfo{Hidden: true, AllowGroups: "staff", OverSubscribe: "FORCE:4", MaxCPUsPerNode: 3, JobFactor: 2}
	sites[1].Seen.Nodes[0].Info = &federation.NodeInfo{Address: "10.0.0.2", Port: 6818, CPULoad: 594, FreeMem: 5367, Weight: 7, GRESUsed: "gpu:0", ReasonUser: "op", ReasonAt: at}
	sites[1].Seen.Reservations = []federation.Reservation{{Name: "m", Start: at, End: at.Add(time.Hour), Nodes: []string{"b2", "n1"}, Users: []string{"op"}, Maint: true}}
	d.Controller.SetSites(sites...)
	var p wire.PartitionsResponse
	if err := c.Do(t.Context(), "GET", "/slurm/v0.0.45/partitions/?cluster=beta", nil, &p); err != nil {
		t.Fatal(err)
	}
	if m := p.Partitions[0]; len(p.Partitions) != 2 || m.Maximums.Time != wire.Num(60) || m.Nodes.Total != 2 || strings.Join(m.Flags, ",") != "DEFAULT,HIDDEN,ROOT_ONLY" ||
		m.Groups.Allowed != "staff" || m.Maximums.Shares != 1<<15|4 || m.Maximums.OverSubscribe.Jobs != 4 || m.Maximums.CPUsPerNode != wire.Num(3) || m.Priority.JobFactor != 2 {
		t.Errorf("%d partitions, %+v", len(p.Partitions), m)
	}
	var n wire.NodesResponse
	if err := c.Do(t.Context(), "GET", "/slurm/v0.0.43/nodes/?cluster=beta", nil, &n); err != nil {
		t.Fatal(err)
	}
	if b := n.Nodes[0]; len(n.Nodes) != 2 || b.Address != "10.0.0.2" || b.Port != 6818 || b.CPULoad != 594 || b.FreeMem != wire.Num(5367) || b.Weight != 7 ||
		b.GRESUsed != "gpu:0" || b.ReasonSetByUser != "op" || b.ReasonChangedAt != wire.Num(at.Unix()) || b.Version != "24.11.5" {
		t.Errorf("%d nodes, %+v", len(n.Nodes), b)
	}
	if err := c.Do(t.Context(), "GET", "/slurm/v0.0.43/nodes/?cluster=nosuch", nil, &n); err != nil || len(n.Nodes) != 0 {
		t.Errorf("an unknown site has %d nodes, %v", len(n.Nodes), err)
	}
	var r wire.ReservationsResponse
	if err := c.Do(t.Context(), "GET", "/slurm/v0.0.42/reservations/", nil, &r); err != nil {
		t.Fatal(err)
	}
	if m := r.Reservations[0]; len(r.Reservations) != 1 || m.NodeList != "b2,n1" || m.NodeCount != 2 || m.EndTime != wire.Num(at.Unix()+3600) || !m.Flags.Has("MAINT") || m.Users != "op" {
		t.Errorf("%+v", r.Reservations)
	}
	r = wire.ReservationsResponse{}
	if err := c.Do(t.Context(), "GET", "/slurm/v0.0.42/reservation/nosuch", nil, &r); err != nil || len(r.Reservations) > 0 || len(r.Errors) != 1 {
		t.Errorf("an unknown reservation: %+v, %v", r, err)
	}
}

// TestAssociations: site by site, accounts in the site's order with their users behind them; a site without accounting has none.
func TestAssociations(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	sites := testSites()
	right := func(account string, id int64) federation.Association {
		return federation.Association{Account: account, ID: id, QOS: []string{"normal"}}
	}
	sites[0].Seen.Accounts = []federation.Account{{Name: "root"}, {Name: "proj", Parent: "root", Shares: 5, QOS: []string{"high"}}}
	sites[0].Seen.Associations = federation.Associations{"zoe": {right("proj", 9)}, testUsers[alice]: {right("proj", 7), right("lost", 8)}}
	d.Controller.SetSites(sites...)
	var a v1.Associations
	if err := c.Do(t.Context(), "GET", "/fed/v1/associations", nil, &a); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range a.Associations {
		known := ""
		if x.UID != nil {
			known = fmt.Sprint(*x.UID)
		}
		got = append(got, fmt.Sprintf("%s/%s<%s:%s(%s)%d*%d", x.Cluster, x.Account, x.ParentAccount, x.User, known, x.ID, x.Shares))
	}
	want := fmt.Sprintf("[alpha/root<:()0*1 alpha/proj<root:()0*5 alpha/proj<:%s(%d)7*1 alpha/proj<:zoe()9*1 alpha/lost<:%s(%d)8*1]", testUsers[alice], alice, testUsers[alice], alice)
	if fmt.Sprint(got) != want {
		t.Errorf("got %v\nwant %s", got, want)
	}
	if q := a.QOS(); len(a.Clusters) != 2 || !a.Clusters[0].Enforced || a.Clusters[1].Enforced || strings.Join(q, ",") != "high,normal" {
		t.Errorf("%+v, %v", a.Clusters, q)
	}
	if err := c.Do(t.Context(), "GET", "/fed/v1/associations?cluster=beta", nil, &a); err != nil || len(a.Associations) != 0 || len(a.Clusters) != 1 {
		t.Errorf("of beta: %+v, %v", a, err)
	}
}

// TestUsage: what was measured takes the place of the step that is made up, of the job or the task that it is of.
func TestUsage(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	running, _, ended, array := fill(t, d)
	step := func(id string) usage.Step {
		return usage.Step{ID: id, Name: "n" + id, State: federation.Completed, NumNodes: 1, NumTasks: 2, Total: 1500 * time.Millisecond, ExitStatus: 2 << 8,
			In: usage.Measured{Max: []usage.TaskAmount{{Amount: usage.Amount{Type: "mem", Count: 4096}, Task: 1, Node: "n1"}}}}
	}
	put := func(id federation.JobID, u ...usage.Usage) {
		if err := d.Usage.PutUsage(t.Context(), id, u); err != nil {
			t.Fatal(err)
		}
	}
	put(ended, usage.Usage{Index: -1, Total: 3 * time.Second, Allocated: []usage.Amount{{Type: "mem", Count: 2000}, {Type: "energy", Count: -2}}, Flags: []string{"START_RECEIVED"}, Steps: []usage.Step{step("batch"), step("0")}})
	put(array, usage.Usage{Index: 0, Total: time.Second, Steps: []usage.Step{step("extern")}})
	put(running, usage.Usage{Index: -1}) // measured, and nothing found
	var resp wire.DBJobsResponse
	if err := c.Do(t.Context(), "GET", fmt.Sprintf("/slurmdb/v0.0.42/jobs/?job_id=%d,%d,%d", running, ended, array), nil, &resp); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range resp.Jobs {
		for _, s := range j.Steps {
			got = append(got, fmt.Sprintf("%s=%d", strings.TrimPrefix(string(s.Step.ID), "3000000"), s.Time.Total.Seconds))
		}
		got = append(got, fmt.Sprint(j.Time.Total.Seconds))
	}
	if want := "[0.batch=0 0 2.batch=1 2.0=1 3 3_0.extern=1 1 3_1.batch=0 0 0]"; fmt.Sprint(got) != want {
		t.Errorf("steps and CPU seconds %v, want %s", got, want)
	}
	if a := resp.Jobs[1].TRES.Allocated; len(a) != 1 || a[0] != (wire.TRES{Type: "mem", ID: 2, Count: 2000}) {
		t.Errorf("allocated %+v", a)
	}
	s := resp.Jobs[1].Steps[1]
	if m := s.TRES.Requested.Max[0]; m.Type != "mem" || m.ID != 2 || m.Count != 4096 || m.Task != 1 || m.Node != "n1" || s.ExitCode.ReturnCode.Value() != 2 ||
		s.Time.Total != (wire.Duration{Seconds: 1, Microseconds: 500000}) || s.Tasks.Count != 2 || !resp.Jobs[1].Flags.Has("START_RECEIVED") {
		t.Errorf("%+v", s)
	}
}

// sacct's cost is that of each record: of what runs with what it has come to so far, of an earlier run its own, of tasks that wait nothing.
func TestAccountingCosts(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	array, twice := job(30, alice, federation.Running), job(40, alice, federation.Running)
	array.Spec.Array, array.Cost = "0-3", 7*federation.Dollar
	array.Whole = &federation.ArrayWhole{Count: 4, Max: 3, Step: 1, Spread: true}
	part := job(31, alice, federation.Running)
	part.Part, part.Start = &federation.ArrayPart{Array: 30, Index: 0, Count: 4, Max: 3, Step: 1}, time.Now()
	twice.Cost, twice.Restarts, twice.Start = 5*federation.Dollar, 1, time.Now()
	d.Put(t, array, part, twice)
	ago := time.Now().Add(-time.Hour)
	a := &federation.Attempt{Job: 40, Number: 1, Key: "k", Site: "alpha", State: federation.AttemptStarted, Created: ago, Started: time.Now(), Cost: 5 * federation.Dollar,
		Runs: []federation.AttemptRun{{State: federation.NodeFail, Started: ago, Ended: time.Now(), Nodes: "a1", Cost: 5 * federation.Dollar}}}
	if err := d.Store.Commit(t.Context(), &journal.Batch{Attempts: []*federation.Attempt{a}}); err != nil {
		t.Fatal(err)
	}
	d.Controller.SetSpendings(spending.Spendings{31: {SoFar: 2 * federation.Dollar}, 40: {SoFar: 6 * federation.Dollar}})
	for query, want := range map[string]string{"30&cost=1": "[0 2]", "40&cost=1": "[6]", "40&duplicates=1&cost=1": "[5 1]", "40": "[-]"} {
		var a v1.AccountingResponse
		if err := c.Do(t.Context(), "GET", "/fed/v1/accounting?job_id="+query, nil, &a); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, j := range a.Jobs {
			if j.Cost == nil {
				got = append(got, "-")
			} else {
				got = append(got, j.Cost.String())
			}
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
}

// TestWindowByID: a job asked for by its number belongs to every window that its submission is not after.
func TestWindowByID(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	_, pending, ended, _ := fill(t, d)
	now := time.Now()
	for _, test := range []struct {
		id       federation.JobID
		from, to time.Duration
		state    string
		want     int
	}{
		{ended, -time.Hour, 0, "", 1}, {ended, -2 * time.Hour, -time.Hour, "", 0}, {ended, -time.Second, 0, "", 0}, {pending, -time.Hour, time.Second, "", 1},
		{pending, -time.Hour, -30 * time.Minute, "", 0}, {ended, -time.Hour, 0, "FAILED", 1}, {ended, -time.Hour, 0, "RUNNING", 1}, {ended, -time.Hour, 0, "COMPLETED", 0},
	} {
		path := fmt.Sprintf("/fed/v1/accounting?job_id=%d&start_time=%d&end_time=%d&state=%s", test.id, now.Add(test.from).Unix(), now.Add(test.to).Unix(), test.state)
		var resp v1.AccountingResponse
		if err := c.Do(t.Context(), "GET", path, nil, &resp); err != nil || len(resp.Jobs) != test.want {
			t.Errorf("%s: %d jobs, want %d, %v", path, len(resp.Jobs), test.want, err)
		}
	}
}

// TestTasksCancelledBy: who has cancelled a task of an array is told task by task, whoever cancelled the rest of it.
func TestTasksCancelledBy(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	array := job(1, alice, federation.Cancelled)
	array.Spec.Array, array.Whole = "2", &federation.ArrayWhole{Count: 3, Max: 2, Step: 1, Spread: true}
	array.Submit, array.End, array.Cancel, array.CancelBy = time.Now().Add(-time.Minute), time.Now(), true, olga
	d.Put(t, array)
	d.Store.Commit(t.Context(), &journal.Batch{Tasks: []*federation.Task{
		{Job: 1, Index: 0, State: federation.Cancelled, End: time.Now(), Cancel: true, CancelBy: alice},
		{Job: 1, Index: 1, State: federation.Failed, End: time.Now()},
	}})
	var a v1.AccountingResponse
	if err := c.Do(t.Context(), "GET", "/fed/v1/accounting?job_id=1", nil, &a); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range a.Jobs {
		by := "nobody"
		if j.CancelledBy != nil {
			by = fmt.Sprint(*j.CancelledBy)
		}
		got = append(got, j.State.Current[0]+":"+by+":"+j.KillRequestUser)
	}
	if want := fmt.Sprintf("[CANCELLED:%d:alice FAILED:nobody: CANCELLED:%d:olga]", alice, olga); fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestLastTaskHasTheArraysNumber: the task that was bound last has the array's own raw number, in every listing and however it is asked for.
func TestLastTaskHasTheArraysNumber(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	array := job(30, alice, federation.Running)
	array.Spec.Array, array.Whole = "6-8:2", &federation.ArrayWhole{Count: 4, Min: 2, Max: 8, Step: 2, Spread: true}
	first, last := job(41, alice, federation.Completed), job(42, alice, federation.Running)
	for i, p := range []*federation.Job{&first, &last} {
		p.Part = &federation.ArrayPart{Array: 30, Index: []int{2, 8}[i], Count: 4, Min: 2, Max: 8, Step: 2}
		p.Start = time.Now()
	}
	first.End = time.Now()
	last.Part.Last = true
	array.Spec = new(*array.Spec)
	array.Spec.Array = ""
	d.Put(t, array, first, last)
	check := func(query, want string) {
		t.Helper()
		var a v1.AccountingResponse
		if err := c.Do(t.Context(), "GET", "/fed/v1/accounting?job_id="+query, nil, &a); err != nil {
			t.Fatal(err)
		}
		var q wire.JobsResponse
		if err := c.Do(t.Context(), "GET", "/slurm/v0.0.42/jobs?job_id="+query, nil, &q); err != nil {
			t.Fatal(err)
		}
		var got, listed []int64
		for _, j := range a.Jobs {
			got = append(got, j.JobID)
		}
		for _, j := range q.Jobs {
			listed = append(listed, j.JobID)
		}
		if slices.Sort(listed); fmt.Sprint(got) != want || !slices.Equal(slices.Sorted(slices.Values(got)), listed) {
			t.Errorf("%s: raw numbers %v in accounting, %v in the queue, want %s", query, got, listed, want)
		}
	}
	check("30", "[41 30]")
	check("30_8", "[30]")
	check("42", "[30]")
	check("41", "[41]")
}
