package api_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
)

// TestNodeRights: users are told why they may not; operators and administrators may.
func TestNodeRights(t *testing.T) {
	q := v1.SetNodes{Nodes: []string{"alpha/n1"}, State: federation.WishDrain, Reason: "fan"}
	for uid, want := range map[uint32]int{bob: 403, alice: 403, olga: 200, 0: 200} {
		d := start(t)
		d.Controller.SetSites(testSites()...)
		var out v1.ErrorResponse
		if code := as(t, uid, d.Socket, "POST", "/fed/v1/nodes/state", q, &out); code != want || (want == 403) != strings.Contains(out.Error.Detail, "only an operator may") {
			t.Errorf("%s: status %d, %+v", testUsers[uid], code, out)
		}
		records, _ := d.Store.Nodes(t.Context())
		if (len(records) == 1) != (want == 200) || len(records) == 1 && records[0].Owner != testUsers[uid] {
			t.Errorf("%s: %+v", testUsers[uid], records)
		}
		var list []v1.Node // which anybody may read
		if code := as(t, uid, d.Socket, "GET", "/fed/v1/nodes", nil, &list); code != 200 || len(list) != 5 {
			t.Errorf("%s: status %d, %d nodes", testUsers[uid], code, len(list))
		}
	}
}

func TestNodesAreChosen(t *testing.T) {
	d := start(t)
	d.Controller.SetSites(testSites()...)
	c := client.New(d.Socket)
	defer c.Close()
	for _, test := range []struct {
		names, where []string
		want, err    string
	}{
		{want: "alpha/n1 alpha/n2 alpha/n3 beta/b2 beta/n1"},
		{names: []string{"alpha/n[1-2],n3", "beta/b2"}, want: "alpha/n1 alpha/n2 alpha/n3 beta/b2"},
		{names: []string{"alpha/n3,beta/n1"}, want: "alpha/n3 beta/n1"},
		{names: []string{"n2", "b2", "b2"}, want: "alpha/n2 beta/b2"},
		{names: []string{"beta/*"}, want: "beta/b2 beta/n1"},
		{names: []string{"n1"}, err: "several sites have a node n1: write alpha/n1 or beta/n1"},
		{names: []string{"beta/n2"}, err: "site beta has no node n2"},
		{names: []string{"n7"}, err: "no site has a node n7"},
		{names: []string{"gamma/n1"}, err: `no nodes of a site "gamma" are known`},
		{where: []string{"gpu=H100"}, want: "alpha/n1 alpha/n2 alpha/n3"},
		{where: []string{"gpu=any", "state=idle"}, want: "alpha/n1 alpha/n3"},
		{where: []string{"state=drained,allocated"}, want: "alpha/n3 beta/n1"},
		{where: []string{"partition=short"}, want: "beta/b2"},
		{where: []string{"pool=main", "site=beta"}, names: []string{"beta/*"}, want: "beta/b2 beta/n1"},
		{where: []string{"feature=ib", "state=mixed"}, want: "alpha/n2"},
		{where: []string{"owner=olga"}, want: ""},
		{where: []string{"colour=red"}, err: `invalid condition "colour=red"`},
		{where: []string{"state"}, err: `invalid condition "state"`},
	} {
		nodes, err := c.Nodes(t.Context(), test.names, test.where)
		var got []string
		for _, n := range nodes {
			got = append(got, string(n.Site)+"/"+n.Name)
		}
		if strings.Join(got, " ") != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%v %v: %v, %v", test.names, test.where, got, err)
		}
	}
}

// TestNodeOrders: an order is shown at once, says whose word stands against it, and is refused if it makes no sense.
func TestNodeOrders(t *testing.T) {
	d := start(t)
	sites := testSites()
	sites[0].Seen.Nodes[2].Reason = "cooling"
	sites[0].Seen.Nodes[2].Info = &federation.NodeInfo{ReasonUser: "otto"}
	d.Controller.SetSites(sites...)
	c := client.New(d.Socket)
	defer c.Close()
	set := func(q v1.SetNodes) []v1.NodeSet {
		t.Helper()
		out, err := c.SetNodes(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	said := set(v1.SetNodes{Nodes: []string{"alpha/*"}, State: federation.WishDrain, Reason: "fan", Ticket: "T-1"})
	if len(said) != 3 || said[0].Left || !said[2].Left || said[2].Note != "DRAIN at the site by otto: cooling" {
		t.Errorf("%+v", said)
	}
	n, err := c.Node(t.Context(), federation.NodeID{Site: "alpha", Name: "n1"})
	if err != nil || !n.Unconfirmed || n.Usable || n.Reason != "fed:root:T-1 fan" || n.Wanted == nil || n.Wanted.Owner != "root" || len(n.History) != 1 || n.History[0].Why != "T-1 fan" {
		t.Errorf("%+v, %v", n, err)
	}
	n, err = c.Node(t.Context(), federation.NodeID{Site: "alpha", Name: "n3"})
	if err != nil || n.Unconfirmed || n.Reason != "cooling" || n.ReasonBy != "otto" || n.Wanted == nil {
		t.Errorf("%+v, %v", n, err)
	}
	said = set(v1.SetNodes{Nodes: []string{"alpha/*", "beta/b2"}, State: federation.WishResume})
	if len(said) != 4 || said[0].Left || !said[2].Left || said[3].Left {
		t.Errorf("%+v", said)
	}
	records, _ := d.Store.Nodes(t.Context())
	if len(records) != 3 || records[0].Wish != federation.WishResume { // b2 was never drained
		t.Errorf("%+v", records)
	}
	later := time.Now().Add(time.Hour)
	for _, q := range []v1.SetNodes{
		{Nodes: []string{"alpha/n1"}, State: "DOWN", Reason: "x"},
		{Nodes: []string{"alpha/n1"}, State: federation.WishDrain},
		{State: federation.WishDrain, Reason: "x"},
		{Nodes: []string{"alpha/n1"}, State: federation.WishDrain, Reason: "x\ny"},
		{Nodes: []string{"alpha/n1"}, State: federation.WishDrain, Reason: strings.Repeat("x", 501)},
		{Nodes: []string{"alpha/n1"}, State: federation.WishDrain, Reason: "x", Ticket: "a b"},
		{Nodes: []string{"alpha/n1"}, State: federation.WishDrain, Reason: "x", Until: time.Now().Add(-time.Hour)},
		{Nodes: []string{"alpha/n1"}, State: federation.WishResume, Until: later},
		{Nodes: []string{"alpha/n1"}, State: federation.WishResume, Requeue: true},
		{Nodes: []string{"alpha/n1"}, State: federation.WishResume, Move: true},
		{Nodes: []string{"alpha/n1"}, State: federation.WishDrain, Reason: "x", Requeue: true, Move: true},
		{Where: []string{"gpu=a100"}, State: federation.WishDrain, Reason: "x"},
	} {
		if out, err := c.SetNodes(t.Context(), q); err == nil {
			t.Errorf("%+v: %+v", q, out)
		}
	}
}

// TestNodeOrdersAtOnce: of many orders at the same time the last one counts, for all of its nodes, and each knows the one before it.
func TestNodeOrdersAtOnce(t *testing.T) {
	d := start(t)
	d.Controller.SetSites(testSites()...)
	c := client.New(d.Socket)
	defer c.Close()
	var all sync.WaitGroup
	for i := range 30 {
		q := v1.SetNodes{Nodes: []string{"alpha/n[1-2]"}, State: federation.WishDrain, Reason: "r" + strings.Repeat("x", i)}
		if i%3 == 2 {
			q.State = federation.WishResume
		}
		all.Go(func() {
			if _, err := c.SetNodes(context.Background(), q); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	records, _ := d.Store.Nodes(t.Context())
	if len(records) != 2 || records[0].Wish != records[1].Wish || records[0].Reason != records[1].Reason {
		t.Fatalf("two nodes that were always meant together: %+v", records)
	}
	for i, name := range []string{"n1", "n2"} {
		if acts, err := d.Store.Audit(t.Context(), audit.Query{Object: "alpha/" + name}); err != nil || len(acts) != 30 {
			t.Errorf("%s: %d orders are in the audit log, %v", name, len(acts), err)
		}
		events, _ := d.Store.NodeEvents(t.Context(), federation.NodeID{Site: "alpha", Name: name}, 99)
		drains, was := 0, ""
		for _, e := range events {
			if e.From != was {
				t.Errorf("%s: from %q to %q (%s), where the order before was %q", name, e.From, e.To, e.Why, was)
			}
			if was = e.To; e.To == string(federation.WishDrain) {
				drains++
			}
		}
		if last := events[len(events)-1]; drains != 20 || last.Why != records[i].Reason || last.To != string(records[i].Wish) {
			t.Errorf("%s: %d drains in the history; it ends with %+v, the record is %+v", name, drains, last, records[i])
		}
	}
}

// TestNodeUpdateRights: slurmrestd's path is for administrators, as in Slurm.
func TestNodeUpdateRights(t *testing.T) {
	body := map[string]any{"name": []string{"alpha/n1"}, "state": []string{"DRAIN"}, "reason": "fan"}
	for uid, want := range map[uint32]int{bob: 2010, olga: 2010, 0: 0} {
		d := start(t)
		d.Controller.SetSites(testSites()...)
		var out struct {
			Errors []struct {
				Number int `json:"error_number"`
			} `json:"errors"`
		}
		as(t, uid, d.Socket, "POST", "/slurm/v0.0.42/nodes/", body, &out)
		got := 0
		if len(out.Errors) > 0 {
			got = out.Errors[0].Number
		}
		if records, _ := d.Store.Nodes(t.Context()); got != want || (len(records) == 1) != (want == 0) {
			t.Errorf("%s: error %d, %d records", testUsers[uid], got, len(records))
		}
	}
}
