package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/driver"
	"fsub/federation/health"
	"fsub/federation/journal"
	"fsub/sbatch"
)

// hall is a site whose nodes can be drained. It has able's abilities too.
type hall struct {
	*able
	states  map[string][]string // flags beside IDLE
	reasons map[string]string
	orders  []driver.NodeOrder
	refuse  error // what SetNodes fails with
	left    map[string]error
	info    federation.NodeInfo // of all nodes
}

func (h *hall) Abilities() driver.Abilities { return driver.Abilities{Requeue: h, Nodes: h} }

func (h *hall) Observe(ctx context.Context) (*federation.Observation, error) {
	o, err := h.fakeSite.Observe(ctx)
	if err != nil {
		return nil, err
	}
	for i := range o.Nodes {
		n := &o.Nodes[i]
		n.State = append(n.State, h.states[n.Name]...)
		n.Reason = h.reasons[n.Name]
		info := h.info
		n.Info = &info
	}
	o.SlurmUser = "slurm"
	return o, nil
}

func (h *hall) SetNodes(ctx context.Context, o driver.NodeOrder) (map[string]error, error) {
	h.orders = append(h.orders, o)
	if h.refuse != nil {
		return nil, h.refuse
	}
	seen, err := h.Observe(ctx)
	if err != nil {
		return nil, err
	}
	do, left := health.Todo(seen.Nodes, o)
	for name, err := range h.left {
		left[name] = err
	}
	for a, names := range do {
		for _, name := range names {
			switch {
			case h.left[name] != nil:
			case a == health.Drain:
				h.set(name, o.Text, "DRAIN")
			default:
				h.set(name, "")
			}
		}
	}
	return left, nil
}

// set says what a node is, as its site's admin does.
func (h *hall) set(name, reason string, flags ...string) {
	h.states[name], h.reasons[name] = flags, reason
}

func (h *hall) is(t *testing.T, name, reason string, flags ...string) {
	t.Helper()
	if !slices.Equal(h.states[name], flags) || h.reasons[name] != reason {
		t.Fatalf("node %s is %v %q, want %v %q; orders %+v", name, h.states[name], h.reasons[name], flags, reason, h.orders)
	}
}

func (b *bench) makeHall() *hall {
	h := &hall{able: &able{fakeSite: b.cheap}, states: map[string][]string{}, reasons: map[string]string{}, info: federation.NodeInfo{ReasonUser: "root"}}
	b.drive(h)
	return h
}

// wish says what is wanted of nodes of the cheap site, as the API does.
func (b *bench) wish(w federation.NodeWish, change func(*federation.NodeRecord), names ...string) {
	b.t.Helper()
	var batch journal.Batch
	for _, name := range names {
		r := federation.NodeRecord{Node: federation.NodeID{Site: "cheap", Name: name}, Wish: w, Owner: "olga", Ticket: "T1", Reason: "fan", Since: b.clock}
		if change != nil {
			change(&r)
		}
		batch.Nodes = append(batch.Nodes, r)
	}
	if err := b.store.Commit(b.t.Context(), &batch); err != nil {
		b.t.Fatal(err)
	}
}

const fan = "test:olga:T1 fan"

func (b *bench) nodeHistory(name string) string {
	b.t.Helper()
	events, err := b.store.NodeEvents(b.t.Context(), federation.NodeID{Site: "cheap", Name: name}, 99)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, e := range events {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s>%s %s %s", e.From, e.To, e.Who, e.Why)))
	}
	return strings.Join(out, "; ")
}

// TestDrainAtOnce: nothing is placed on a node from the moment on that its drain is wanted, though the site cannot be told.
func TestDrainAtOnce(t *testing.T) {
	b := newBench(t)
	h := b.makeHall()
	b.wait(4 * time.Second)
	h.refuse = federation.ErrUnavailable
	b.wish(federation.WishDrain, nil, "n1", "n2")
	id := b.submit(nil)
	b.wait(time.Second)
	b.want(id, federation.Pending, "", "dear")
	if n := b.ctl.Sites()[0].Seen.Nodes[0]; !n.Unconfirmed || n.Usable() || n.Reason != fan {
		t.Errorf("%+v", n)
	}
	if notes := b.ctl.Sites()[0].NodeNotes; !strings.Contains(notes["n1"], "unavailable") {
		t.Errorf("notes %v", notes)
	}
	h.refuse = nil
	b.wait(40 * time.Second)
	h.is(t, "n1", fan, "DRAIN")
	if s := b.ctl.Sites()[0]; s.Seen.Nodes[0].Unconfirmed || s.NodeNotes != nil {
		t.Errorf("%+v %v", s.Seen.Nodes[0], s.NodeNotes)
	}
	orders := len(h.orders)
	b.wait(20 * time.Second)
	if len(h.orders) != orders {
		t.Errorf("%d orders more about nodes that are as they should be", len(h.orders)-orders)
	}
}

// TestDrainComesBack: a drain that the site has forgotten is set again, also by the next daemon; one that it remembers after a resume is ended again.
func TestDrainComesBack(t *testing.T) {
	b := newBench(t)
	h := b.makeHall()
	b.wish(federation.WishDrain, nil, "n1")
	b.wait(8 * time.Second)
	h.is(t, "n1", fan, "DRAIN")
	h.set("n1", "")
	b.restart()
	b.drive(h)
	b.wait(8 * time.Second)
	h.is(t, "n1", fan, "DRAIN")
	b.wish(federation.WishResume, nil, "n1")
	b.wait(8 * time.Second)
	h.is(t, "n1", "")
	h.set("n1", fan, "DRAIN") // slurmctld was restored from an older state
	b.restart()
	b.drive(h)
	b.wait(8 * time.Second)
	h.is(t, "n1", "")
}

// TestDrainOfAdmin: what a site's admin has drained appears with its reason and who did it, no word of ours changes it, and ours follows.
func TestDrainOfAdmin(t *testing.T) {
	b := newBench(t)
	h := b.makeHall()
	b.wait(4 * time.Second)
	h.set("n1", "cooling", "DRAIN")
	b.wait(4 * time.Second)
	if got := b.nodeHistory("n1"); got != ">DRAIN root cooling" {
		t.Errorf("history %s", got)
	}
	b.wish(federation.WishResume, nil, "n1")
	b.wait(6 * time.Second)
	h.is(t, "n1", "cooling", "DRAIN")
	b.wish(federation.WishDrain, nil, "n1")
	b.wait(6 * time.Second)
	h.is(t, "n1", "cooling", "DRAIN")
	if len(h.orders) != 0 {
		t.Errorf("orders %+v", h.orders)
	}
	h.set("n1", "")
	b.restart() // the history goes on where it was
	b.drive(h)
	b.wait(8 * time.Second)
	h.is(t, "n1", fan, "DRAIN")
	b.wish(federation.WishResume, nil, "n1")
	b.wait(8 * time.Second)
	if got := b.nodeHistory("n1"); got != ">DRAIN root cooling; DRAIN>UP; UP>DRAIN olga "+fan+"; DRAIN>UP olga resumed" {
		t.Errorf("history %s", got)
	}
	h.set("n1", "cooling", "DRAIN")
	b.wait(4 * time.Second)
	h.set("n1", "") // by whom is not known, though a resume was wanted last
	b.wait(4 * time.Second)
	if got := b.nodeHistory("n1"); !strings.HasSuffix(got, "; UP>DRAIN root cooling; DRAIN>UP") {
		t.Errorf("history %s", got)
	}
	before := b.nodeHistory("n1")
	b.restart()
	b.drive(h)
	b.wait(8 * time.Second)
	if got := b.nodeHistory("n1"); got != before {
		t.Errorf("a new daemon has added to the history: %s", got)
	}
}

func TestDrainUntil(t *testing.T) {
	b := newBench(t)
	h := b.makeHall()
	b.wish(federation.WishDrain, func(r *federation.NodeRecord) { r.Until = b.clock.Add(20 * time.Second) }, "n1")
	b.wait(18 * time.Second)
	h.is(t, "n1", fan, "DRAIN")
	b.wait(8 * time.Second)
	h.is(t, "n1", "")
	if got := b.nodeHistory("n1"); !strings.Contains(got, "DRAIN>UP olga the drain was until") {
		t.Errorf("history %s", got)
	}
}

// TestDrainBulk: one order for all nodes of one reason; a node that the site refuses is asked for less and less often, and the others are not.
func TestDrainBulk(t *testing.T) {
	b := newBench(t)
	b.cheap.nodes = 50
	h := b.makeHall()
	b.wait(4 * time.Second)
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("n%d", i+1))
	}
	h.left = map[string]error{"n7": fmt.Errorf("%w: Invalid node state specified", federation.ErrConflict)}
	b.wish(federation.WishDrain, nil, names...)
	b.wait(60 * time.Second)
	if len(h.orders) > 8 || len(h.orders[0].Nodes) != 40 || len(h.orders[len(h.orders)-1].Nodes) != 1 {
		t.Errorf("%d orders, the first of %d nodes", len(h.orders), len(h.orders[0].Nodes))
	}
	if notes := b.ctl.Sites()[0].NodeNotes; len(notes) != 1 || !strings.Contains(notes["n7"], "Invalid node state") {
		t.Errorf("notes %v", notes)
	}
	h.is(t, "n40", fan, "DRAIN")
	h.left = nil
	b.wait(40 * time.Second)
	h.is(t, "n7", fan, "DRAIN")
}

// TestDrainRequeues: a drain kills nothing; one with --requeue has our jobs run again, once each, and those of --no-requeue end by themselves.
func TestDrainRequeues(t *testing.T) {
	b := newBench(t)
	h := b.makeHall()
	id := b.running()
	no := false
	stays := b.submit(func(s *sbatch.Spec) { s.Requeue = &no })
	b.wait(time.Second)
	b.cheap.start(stays)
	node := b.cheap.jobs[id].Nodes
	b.cheap.jobs[stays].Nodes = node
	b.wait(2 * time.Second)
	b.wish(federation.WishDrain, nil, node)
	b.wait(8 * time.Second)
	b.want(id, federation.Running, "", "cheap")
	b.wish(federation.WishDrain, func(r *federation.NodeRecord) { r.Jobs = string(action.Requeue) }, node)
	b.wait(20 * time.Second)
	if j := b.job(id); len(h.requeues) != 1 || j.Restarts != 1 || j.State != federation.Pending {
		t.Errorf("requeues %v, %d restarts, %s", h.requeues, j.Restarts, j.State)
	}
	b.want(stays, federation.Running, "", "cheap")
	b.noRequests()
}

// TestDrainWithoutAbility: a site that cannot be told is still avoided, and says so.
func TestDrainWithoutAbility(t *testing.T) {
	b := newBench(t)
	b.wish(federation.WishDrain, nil, "n1", "n2")
	id := b.submit(nil)
	b.wait(10 * time.Second)
	b.want(id, federation.Pending, "", "dear")
	if notes := b.ctl.Sites()[0].NodeNotes; !strings.Contains(notes["n2"], "cannot set nodes") {
		t.Errorf("notes %v", notes)
	}
}
