package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/decision"
	"fsub/federation/driver"
	"fsub/sbatch"
)

// keeper is a fake site with reservations, on whose first node a job of somebody else runs.
type keeper struct {
	*fakeSite
	until     time.Time // the other job's end; zero: there is none
	resvs     map[string]driver.Promise
	into      map[federation.JobID]string // the reservation that each job was submitted into
	made      int
	removed   int
	unknown   string // a user whom the site does not know
	fails     error
	failAfter error
	stays     error // of the removal of one
}

func (k *keeper) Abilities() driver.Abilities { return driver.Abilities{Reserve: k} }

func (k *keeper) Reserve(_ context.Context, p driver.Promise) error {
	if k.fails != nil {
		return k.fails
	}
	old, is := k.resvs[p.Name]
	switch {
	case p.User == k.unknown:
		return fmt.Errorf("%w: Invalid user id", federation.ErrDenied)
	case p.Start.IsZero() && !is || is && !p.Start.IsZero() && !old.Start.After(k.now()):
		return fmt.Errorf("%w: its begin cannot be changed", federation.ErrConflict)
	case p.Start.IsZero():
		p.Start = old.Start
	}
	k.made++
	k.resvs[p.Name] = p
	return k.failAfter
}

func (k *keeper) Unreserve(_ context.Context, name string) error {
	if k.stays != nil {
		return k.stays
	}
	for id, in := range k.into {
		if j := k.jobs[id]; in == name && j != nil && !j.State.Ended() {
			return fmt.Errorf("%w: in use", federation.ErrConflict)
		}
	}
	delete(k.resvs, name)
	k.removed++
	return nil
}

func (k *keeper) Submit(ctx context.Context, s federation.Submission) (federation.Receipt, error) {
	k.into[s.Job.ID] = s.Promise
	return k.fakeSite.Submit(ctx, s)
}

func (k *keeper) Observe(ctx context.Context) (*federation.Observation, error) {
	o, err := k.fakeSite.Observe(ctx)
	if err == nil && !k.until.IsZero() {
		o.Running = append(o.Running, federation.RunningJob{Job: 7, End: k.until, Nodes: []string{"n1"}, CPUs: 16, GRES: []federation.GRES{{Name: "gpu", Type: "h100", Used: 4}}})
		o.Nodes[0].GRES[0].Used, o.Nodes[0].CPUsUsed, o.Nodes[0].State = 4, 16, []string{"ALLOCATED"}
	}
	for _, name := range slices.Sorted(maps.Keys(k.resvs)) {
		p := k.resvs[name]
		if !p.End.After(k.now()) {
			delete(k.resvs, name)
			continue
		}
		o.Reservations = append(o.Reservations, federation.Reservation{Name: name, Start: p.Start, End: p.End, Nodes: p.Nodes, Users: []string{p.User}, For: driver.PromisedTo("test", name)})
		for i := range o.Nodes {
			if !p.Start.After(k.now()) && slices.Contains(p.Nodes, o.Nodes[i].Name) {
				o.Nodes[i].State = append(o.Nodes[i].State, "RESERVED")
			}
		}
	}
	return o, nil
}

// newKeeper is a bench whose cheap site keeps places. The other site has one node, which is too small for a gang.
func newKeeper(t *testing.T) (*bench, *keeper) {
	b := newBench(t)
	b.dear.nodes = 1
	k := &keeper{fakeSite: b.cheap, until: b.clock.Add(time.Hour).Truncate(time.Second), resvs: map[string]driver.Promise{}, into: map[federation.JobID]string{}}
	b.with(func(c *Config) { c.Sites[0].Driver, c.Sites[0].Promises = k, true })
	return b, k
}

func gang(s *sbatch.Spec) {
	s.MinNodes, s.MaxNodes, s.NTasks, s.GPUsPerNode, s.TimeLimit = 2, 2, 2, "4", 2*time.Hour
}

// kept is the site's only reservation.
func (k *keeper) kept(t *testing.T, id federation.JobID) driver.Promise {
	t.Helper()
	p, is := k.resvs[driver.PromiseName("test", decision.Promised{Job: id})]
	if !is || len(k.resvs) != 1 {
		t.Fatalf("the site has %v, want a reservation for job %d", k.resvs, id)
	}
	return p
}

func (k *keeper) none(t *testing.T, when string) {
	t.Helper()
	if len(k.resvs) > 0 {
		t.Fatalf("%s: the site has %v", when, k.resvs)
	}
}

// The place of a gang is held from when it is planned to start, moves with the plan, takes the job in, and is gone when it has ended.
func TestPlaceIsHeld(t *testing.T) {
	b, k := newKeeper(t)
	id := b.submit(gang)
	b.wait(5 * time.Second)
	p := k.kept(t, id)
	if !p.Start.Equal(k.until) || !p.End.Equal(p.Start.Add(promiseFor)) || !slices.Equal(p.Nodes, []string{"n1", "n2"}) || p.User != "alice" || p.Idle != promiseIdle {
		t.Fatalf("the site keeps %+v, want n1 and n2 for alice from %v", p, k.until)
	}
	j := b.job(id)
	if e := b.ctl.forecasts.waitsNow(id); e.place == nil || e.place.Reservation != p.Name || e.place.Nodes != "n[1-2]" {
		t.Errorf("shown: %+v", e.place)
	}
	short := b.submit(func(s *sbatch.Spec) { s.GPUsPerNode, s.TimeLimit = "1", 30*time.Minute }) // is over before that
	b.wait(5 * time.Second)
	b.want(short, federation.Pending, "", "cheap")
	b.cheap.end(short, federation.Completed)

	k.until = k.until.Add(-20 * time.Minute)
	b.wait(20 * time.Second)
	if p := k.kept(t, id); !p.Start.Equal(k.until) {
		t.Fatalf("the plan has changed: the site keeps %+v, want the start %v", p, k.until)
	}
	made := k.made
	b.restart()
	b.wait(10 * time.Second)
	if k.kept(t, id); k.made != made {
		t.Errorf("a new daemon has asked for it %d times more", k.made-made)
	}
	k.until = time.Time{} // long before its limit
	b.wait(5 * time.Second)
	b.want(id, federation.Pending, "", "cheap")
	if k.into[id] != p.Name {
		t.Fatalf("the job was submitted into %q, want %q", k.into[id], p.Name)
	}
	b.cheap.start(id)
	b.wait(15 * time.Second)
	k.kept(t, id)
	b.cheap.end(id, federation.Completed)
	b.wait(15 * time.Second)
	k.none(t, "the job has ended")
	events, _ := b.store.Events(t.Context(), id)
	if text := fmt.Sprint(events); strings.Count(text, "cheap holds its place: reservation "+p.Name+" of n[1-2]") != 1 {
		t.Errorf("job %d: history %v", j.ID, text)
	}
}

// A place is given up at once when nobody is to have it any more.
func TestPlaceIsGivenUp(t *testing.T) {
	for what, do := range map[string]func(*bench, *keeper, federation.JobID){
		"cancelled": func(b *bench, _ *keeper, id federation.JobID) {
			b.request(action.Request{Job: id, Kind: action.Cancel})
		},
		"held":           func(b *bench, _ *keeper, id federation.JobID) { b.request(action.Request{Job: id, Kind: action.Hold}) },
		"a node is down": func(_ *bench, k *keeper, _ federation.JobID) { k.down = map[string]bool{"n2": true} },
		"site is drained": func(b *bench, _ *keeper, _ federation.JobID) {
			if err := b.store.SetSiteState(b.t.Context(), federation.SiteRecord{Name: "cheap", State: federation.FedDrain, At: b.clock}); err != nil {
				b.t.Fatal(err)
			}
		},
		"switched off": func(b *bench, _ *keeper, _ federation.JobID) { b.with(func(c *Config) { c.Sites[0].Promises = false }) },
		"another daemon, without the job": func(b *bench, k *keeper, id federation.JobID) {
			b.request(action.Request{Job: id, Kind: action.Cancel})
			k.fails = federation.ErrUnavailable // of no use to it
			b.ctl.round(b.t.Context())
			b.restart()
		},
	} {
		t.Run(what, func(t *testing.T) {
			b, k := newKeeper(t)
			id := b.submit(gang)
			b.wait(5 * time.Second)
			k.kept(t, id)
			do(b, k, id)
			b.wait(15 * time.Second)
			k.none(t, what)
		})
	}
}

// A site that leaves the federation is rid of its reservations first, unless it refuses to remove them.
func TestPlaceIsGivenUpByASiteThatLeaves(t *testing.T) {
	for what, stays := range map[string]error{"removed": nil, "refused": federation.ErrConflict} {
		t.Run(what, func(t *testing.T) {
			b, k := newKeeper(t)
			id := b.submit(gang)
			b.wait(5 * time.Second)
			k.kept(t, id)
			k.stays = stays
			if err := b.store.SetSiteState(t.Context(), federation.SiteRecord{Name: "cheap", State: federation.FedDrainRemove, At: b.clock}); err != nil {
				t.Fatal(err)
			}
			b.wait(10 * time.Minute)
			if is, err := b.store.SiteState(t.Context()); err != nil || is["cheap"].State != federation.FedRemoved {
				t.Fatalf("the site has not left: %v %+v", err, is["cheap"])
			}
			if stays == nil {
				k.none(t, "the site has left")
			}
		})
	}
}

// Killed between making and noting, or without an answer: what is there is found, kept while it is wanted, and removed when it is not. What others have made stays.
func TestPlacesAreFound(t *testing.T) {
	b, k := newKeeper(t)
	k.resvs["fsub_test_39999999"] = driver.Promise{Start: b.clock.Add(time.Hour), End: b.clock.Add(2 * time.Hour), Nodes: []string{"n2"}}
	k.resvs["fsub_other_30000001"] = driver.Promise{Start: b.clock.Add(50 * time.Hour), End: b.clock.Add(51 * time.Hour), Nodes: []string{"n1"}}
	b.wait(5 * time.Second)
	if _, others := k.resvs["fsub_other_30000001"]; len(k.resvs) != 1 || !others {
		t.Fatalf("the site has %v, want that of the other federation alone", k.resvs)
	}
	delete(k.resvs, "fsub_other_30000001")
	k.failAfter = fmt.Errorf("%w: no answer", federation.ErrUnavailable)
	id := b.submit(gang)
	b.wait(2 * time.Second)
	k.kept(t, id)
	b.restart()
	b.wait(5 * time.Second)
	k.kept(t, id)
	if k.made > 2 {
		t.Errorf("it was made %d times", k.made)
	}
	b.request(action.Request{Job: id, Kind: action.Cancel})
	b.wait(15 * time.Second)
	k.none(t, "cancelled")
}

// Where the site does not let us the gang waits as it would without, and the site is left alone.
func TestPlaceIsRefused(t *testing.T) {
	b, k := newKeeper(t)
	k.fails = fmt.Errorf("%w: Invalid user id", federation.ErrDenied)
	id := b.submit(gang)
	b.wait(time.Minute)
	b.want(id, federation.Pending, "", "")
	events, _ := b.store.Events(t.Context(), id)
	if text := fmt.Sprint(events); strings.Count(text, "Invalid user id") != 1 {
		t.Errorf("history: %v", text)
	}
	k.fails = nil
	b.wait(time.Minute)
	k.none(t, "soon after")
	b.wait(10 * time.Minute)
	k.kept(t, id)
}

// A reservation is extended while its job waits there for nodes that are not free in time, but not for ever.
func TestPlaceIsExtended(t *testing.T) {
	b, k := newKeeper(t)
	k.until = b.clock.Add(4 * time.Minute).Truncate(time.Second)
	id := b.submit(gang)
	b.wait(4*time.Minute - 10*time.Second) // it is sent two minutes before
	p := k.kept(t, id)
	if k.into[id] != p.Name {
		t.Fatalf("the job was submitted into %q, want %q", k.into[id], p.Name)
	}
	b.wait(15 * time.Minute)
	if late := k.kept(t, id); !late.Start.Equal(p.Start) || !late.End.After(b.clock) {
		t.Fatalf("the site keeps %+v, want it extended from %+v", late, p)
	}
	b.wait(70 * time.Minute)
	k.none(t, "an hour late")
	b.want(id, federation.Pending, "", "cheap")
}
