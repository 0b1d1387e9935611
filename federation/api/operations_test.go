package api_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/journal"
	"fsub/federation/reasons"
	"fsub/federation/spending"
	"fsub/federation/store"
	"fsub/sbatch"
)

// coordinates says that bob coordinates the account physics.
type coordinates struct{}

func (coordinates) CoordinatesAny(string) bool { return true }
func (coordinates) Coordinates(user, account string) bool {
	return user == "bob" && account == "physics"
}

// A user may act on his own jobs only, a coordinator on his account's, an operator on all. What is refused says why, and nothing is done to it.
func TestOperationsKnowWhoMay(t *testing.T) {
	st, err := store.Open(t.Context(), store.Config{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	d := startWith(t, api.Config{Store: st, Coordinators: coordinates{}})
	d.Controller.SetSites(testSites()...)
	put := func(uid uint32, account string) federation.JobID {
		j := job(0, uid, federation.Pending)
		j.EditSpec(func(s *sbatch.Spec) { s.Account = account })
		j.TreeAccount = account
		if err := st.CreateJob(t.Context(), &j, &sbatch.Payload{Script: "#!/bin/sh\n"}); err != nil {
			t.Fatal(err)
		}
		j.State, j.Site, j.Nodes, j.Partition = federation.Running, "alpha", "n2", "main"
		if err := st.Commit(t.Context(), &journal.Batch{Jobs: []*federation.Job{&j}}); err != nil {
			t.Fatal(err)
		}
		return j.ID
	}
	physics, vision, bobs := put(alice, "physics"), put(alice, "vision"), put(bob, "biology")
	for _, verb := range []action.Kind{action.Requeue, action.Cancel, action.Hold, action.Move} {
		for uid, may := range map[uint32][]federation.JobID{alice: {physics, vision}, bob: {physics, bobs}, olga: {physics, vision, bobs}} {
			var out v1.Operation
			ask := v1.NewOperation{Verb: verb, Where: []string{"node=alpha/n[1-2]"}, Preview: true}
			if code := as(t, uid, d.Socket, "POST", "/fed/v1/operations", ask, &out); code != 200 {
				t.Fatalf("status %d", code)
			}
			refused := 0
			for _, v := range out.Items {
				allowed := false
				for _, id := range may {
					allowed = allowed || id == v.ID
				}
				if v.Failed == allowed {
					t.Errorf("%s of %s by %s: %+v", verb, v.Job, testUsers[uid], v)
				}
				if v.Failed {
					refused++
					if !strings.Contains(v.Note, "it is "+v.User+"'s: only "+v.User+", coordinators of ") || !strings.Contains(v.Note, "operators may "+string(verb)+" it") {
						t.Errorf("refused because %q", v.Note)
					}
				}
			}
			if len(out.Items) != 3 || refused != 3-len(may) || out.Failed != refused {
				t.Errorf("%s by %s: %d jobs, %d refused", verb, testUsers[uid], len(out.Items), refused)
			}
		}
	}

	// What is refused is written down as that, and gets no request. The same command is the same operation until its end was read.
	var first, again v1.Operation
	ask := v1.NewOperation{Verb: action.Requeue, Where: []string{"node=alpha/n2"}}
	as(t, bob, d.Socket, "POST", "/fed/v1/operations", ask, &first)
	as(t, bob, d.Socket, "POST", "/fed/v1/operations", ask, &again)
	if first.ID == 0 || again.ID != first.ID {
		t.Errorf("operations %d and %d", first.ID, again.ID)
	}
	items, err := st.OperationItems(t.Context(), first.ID)
	if err != nil || len(items) != 3 || !items[1].Failed || items[0].Settled != 0 || items[2].Settled != 0 {
		t.Errorf("%+v, %v", items, err)
	}
	if code := as(t, alice, d.Socket, "GET", "/fed/v1/operation/"+first.ID.String(), nil, nil); code != 404 {
		t.Errorf("alice reads bob's operation: status %d", code)
	}
	entries, err := st.Audit(t.Context(), audit.Query{Kind: audit.Operation})
	if err != nil || len(entries) != 1 || entries[0].Who.User != "bob" || entries[0].Object != first.ID.String() || entries[0].After != "3 jobs" {
		t.Errorf("audit %+v, %v", entries, err)
	}
}

// slowReader takes its time to tell of operations.
type slowReader struct{ *store.Store }

func (s slowReader) Operations(ctx context.Context, open bool, limit int) ([]action.Operation, error) {
	out, err := s.Store.Operations(ctx, open, limit)
	time.Sleep(20 * time.Millisecond)
	return out, err
}

// The same command of one user, many times at once, is one operation.
func TestSameCommandAtOnce(t *testing.T) {
	st, err := store.Open(t.Context(), store.Config{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	d := startWith(t, api.Config{Store: slowReader{st}})
	d.Controller.SetSites(testSites()...)
	j := job(0, alice, federation.Pending)
	if err := st.CreateJob(t.Context(), &j, &sbatch.Payload{Script: "#!/bin/sh\n"}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	ids := make([]action.OperationID, 16)
	for i := range ids {
		wg.Go(func() {
			var out v1.Operation
			as(t, alice, d.Socket, "POST", "/fed/v1/operations", v1.NewOperation{Verb: action.Hold, Where: []string{"user=alice"}}, &out)
			ids[i] = out.ID
		})
	}
	wg.Wait()
	if slices.Sort(ids); ids[0] == 0 || ids[0] != ids[len(ids)-1] {
		t.Errorf("operations %v", ids)
	}
}

func TestConditionsOfJobs(t *testing.T) {
	d := start(t)
	d.Controller.SetSites(testSites()...)
	a, b := job(0, alice, federation.Running), job(0, bob, federation.Pending)
	a.Site, a.Nodes, a.Partition, a.Account = "alpha", "n[1-2]", "main", "physics"
	b.Reason, b.Submit = reasons.Priority, b.Submit.Add(-48*time.Hour)
	b.SetSpec(sbatch.Spec{Name: "sweep-7", GPUsPerNode: "a100:2", Partition: "short"})
	c := job(0, bob, federation.Completed)
	a.Cost, c.Cost = 2*federation.Dollar, 3*federation.Dollar
	ids := d.Put(t, a, b, c)
	spent := spending.Spending{SoFar: 5 * federation.Dollar, AtMost: 9 * federation.Dollar, PerHour: federation.Dollar}
	d.Controller.SetSpendings(spending.Spendings{ids[0]: &spent, ids[1]: &spent, ids[2]: &spent})
	var lines []v1.JobLine
	as(t, alice, d.Socket, "GET", "/fed/v1/jobs?where=state%3Drunning,pending,completed", nil, &lines)
	if len(lines) != 3 || lines[0].Spending == nil || *lines[0].Spending != spent || lines[1].Spending != nil || lines[2].Spending != nil || lines[2].Cost != c.Cost {
		t.Errorf("lines %+v", lines)
	}
	for where, want := range map[string][]federation.JobID{
		"":                          ids[:2],
		"node=n2":                   ids[:1],
		"node=alpha/n[2-9],beta/n1": ids[:1],
		"node=beta/n2":              nil,
		"user=bob":                  ids[1:2],
		"user!=bob":                 ids[:1],
		"site=none":                 ids[1:2],
		"site=alpha,beta":           ids[:1],
		"state=pending":             ids[1:2],
		"state=ended":               ids[2:],
		"gpu=A100":                  ids[1:2],
		"gpu=h100":                  nil,
		"account=phy*":              ids[:1],
		"partition=short":           ids[1:2],
		"name=sweep*":               ids[1:2],
		"reason=prio":               ids[1:2],
		"age<1h":                    ids[:1],
		"id=" + ids[1].String():     ids[1:2],
		"age>1d":                    ids[1:2],
	} {
		var out []v1.JobLine
		path := "/fed/v1/jobs"
		if where != "" {
			path += "?where=" + strings.NewReplacer("*", "%2A", ">", "%3E", "<", "%3C", "[", "%5B", "]", "%5D").Replace(where)
		}
		if code := as(t, alice, d.Socket, "GET", path, nil, &out); code != 200 {
			t.Errorf("%s: status %d", where, code)
		}
		var got []federation.JobID
		for _, j := range out {
			got = append(got, j.ID)
		}
		if len(got) != len(want) || len(got) > 0 && (got[0] != want[0] || got[len(got)-1] != want[len(want)-1]) {
			t.Errorf("%s: %v, want %v", where, got, want)
		}
	}
	for _, where := range []string{"node", "colour=red", "age=2h", "age%3Eold", "state=FINE", "user=", "user!bob", "node=n%5B1-", "user=%5B"} {
		if code := as(t, alice, d.Socket, "GET", "/fed/v1/jobs?where="+where, nil, nil); code != 400 && code != 422 {
			t.Errorf("%s: status %d", where, code)
		}
	}
}

// Nothing is asked of a job for a move to where it cannot run; --force asks it all the same. Named jobs that cannot be chosen are told, too.
func TestMoveAsksFirst(t *testing.T) {
	st, err := store.Open(t.Context(), store.Config{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	d := startWith(t, api.Config{Store: st})
	d.Controller.SetSites(append(testSites(), &federation.Site{Name: "local"})...)
	live, ended := job(0, alice, federation.Pending), job(0, alice, federation.Pending)
	for _, j := range []*federation.Job{&live, &ended} {
		if err := st.CreateJob(t.Context(), j, &sbatch.Payload{Script: "#!/bin/sh\n"}); err != nil {
			t.Fatal(err)
		}
	}
	live.State, live.Site, ended.State, ended.End = federation.Running, "alpha", federation.Completed, time.Now()
	if err := st.Commit(t.Context(), &journal.Batch{Jobs: []*federation.Job{&live, &ended}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		force bool
		note  string
	}{{false, `not moved: local cannot run it (no GRES gpu at the site)`}, {true, ""}} {
		ask := v1.NewOperation{Verb: action.Move, To: []federation.SiteName{"local"}, Where: []string{"id=" + live.ID.String()}, Force: c.force}
		var op v1.Operation
		if code := as(t, alice, d.Socket, "POST", "/fed/v1/operations", ask, &op); code != 200 {
			t.Fatalf("status %d", code)
		}
		items, err := st.OperationItems(t.Context(), op.ID)
		if err != nil || len(items) != 1 || items[0].Note != c.note || items[0].Failed != (c.note != "") {
			t.Errorf("force %t: %+v, %v", c.force, items, err)
		}
	}

	ask := v1.NewOperation{Verb: action.Cancel, Where: []string{"id=" + live.ID.String() + "," + ended.ID.String() + ",99999999,99999999_3"}, Preview: true}
	var op v1.Operation
	as(t, alice, d.Socket, "POST", "/fed/v1/operations", ask, &op)
	var got []string
	for _, v := range op.Items {
		got = append(got, v.Job+": "+v.Note)
	}
	want := []string{live.ID.String() + ": ", ended.ID.String() + ": has ended (COMPLETED)", "99999999: Invalid job id specified", "99999999_3: Invalid job id specified"}
	if !slices.Equal(got, want) || op.Failed != 3 || op.Jobs != 4 {
		t.Errorf("%q, %d failed of %d", got, op.Failed, op.Jobs)
	}
	ask.Where = append(ask.Where, "state=running") // what has ended is not meant then
	op = v1.Operation{}
	as(t, alice, d.Socket, "POST", "/fed/v1/operations", ask, &op)
	if op.Jobs != 3 {
		t.Errorf("%d jobs: %+v", op.Jobs, op.Items)
	}
}
