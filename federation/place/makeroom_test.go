package place

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/demand"
	"fsub/federation/move"
	"fsub/sbatch"
)

// roomCrowd is a federation with jobs that may move, and gangs that wait.
type roomCrowd struct {
	*crowd
	rule  move.Rule
	w     *World
	ran   time.Duration                      // since the start of the history
	saved map[federation.JobID]time.Duration // how often those write checkpoints that may move
	stays map[federation.JobID]bool          // they may not just now
	began map[federation.JobID]time.Duration // how long they had run then
}

func newRoomCrowd(sites, nodes int) *roomCrowd {
	r := &roomCrowd{crowd: newCrowd(sites, nodes), rule: move.Default(), saved: map[federation.JobID]time.Duration{}, stays: map[federation.JobID]bool{}, began: map[federation.JobID]time.Duration{}}
	r.rule.Gangs = move.On
	return r
}

// keeps has a job run that may move.
func (r *roomCrowd) keeps(site int, id federation.JobID, gpus int, since, checkpoint time.Duration, nodes ...int) {
	if r.run(site, id, "low", gpus, since, nodes...) {
		r.ours[id].Spec.Fed = &sbatch.Fed{Keep: []string{"ckpt"}, Checkpoint: checkpoint}
		r.ours[id].Demand = demand.Of(r.ours[id].Spec)
		r.saved[id], r.began[id] = checkpoint, since
	}
}

func (r *roomCrowd) world(jobs ...*federation.Job) {
	s := r.snapshot(jobs...)
	s.Preempting = nil
	r.w = newWorldOf(&s, DefaultPolicy())
	r.w.Decide()
}

func (r *roomCrowd) ask() RoomAsk {
	return RoomAsk{Rule: &r.rule, Look: 64, Most: 10, May: func(_ federation.SiteName, j *federation.Job) (*move.Run, *decision.Expected) {
		if r.stays[j.ID] || j.Spec.Fed == nil {
			return nil, nil
		}
		return &move.Run{Ran: r.began[j.ID] + r.ran, Checkpoint: r.saved[j.ID], Copied: -1}, nil
	}}
}

// look looks for room after a while, and reports whether the plan was made again for that.
func (r *roomCrowd) look(after time.Duration) (room *Room, again bool) {
	r.ran += after
	r.w.SetTime(r.now.Add(r.ran))
	r.w.Decide()
	run := r.w.run
	room = MakeRoom(r.w, r.ask())
	return room, r.w.run != run
}

// changes tells of a site again.
func (r *roomCrowd) changes(site int, change func(obs *federation.Observation)) {
	s, obs := *r.sites[site], *r.sites[site].Seen
	change(&obs)
	s.Seen, r.sites[site] = &obs, &s
	r.w.SetSite(&s)
}

// Room is looked for where it may help: the plan is not made again where no job may move, where their moves would not free enough, or where nothing has changed since that was found out.
func TestRoomIsLookedForOnce(t *testing.T) {
	const hour = time.Hour
	gang := highJob(100, 2, 8, "")
	for _, c := range []struct {
		name string
		made func(r *roomCrowd)
		gang *federation.Job
		// then is told of each look in turn: whether the plan is made again, and whether room is found.
		then []func(r *roomCrowd) (again, found bool)
	}{
		{name: "it helps", made: func(r *roomCrowd) { r.keeps(0, 1, 8, hour, hour, 0) },
			then: []func(*roomCrowd) (bool, bool){func(*roomCrowd) (bool, bool) { return true, true }}},
		{name: "nobody may move", made: func(r *roomCrowd) { r.run(0, 1, "low", 8, hour, 0) },
			then: []func(*roomCrowd) (bool, bool){func(*roomCrowd) (bool, bool) { return false, false }}},
		{name: "no gang", gang: highJob(100, 1, 4, ""), made: func(r *roomCrowd) {
			r.keeps(0, 1, 8, hour, hour, 0)
			r.run(0, 2, "", 8, hour, 1)
			r.run(1, 3, "", 8, hour, 1)
		},
			then: []func(*roomCrowd) (bool, bool){func(*roomCrowd) (bool, bool) { return false, false }}},
		{name: "others are in the way", made: func(r *roomCrowd) { r.keeps(0, 1, 8, hour, hour, 0); r.run(0, 2, "", 1, hour, 1) },
			then: []func(*roomCrowd) (bool, bool){func(*roomCrowd) (bool, bool) { return false, false }}},
		{name: "no place elsewhere, until one is free", made: func(r *roomCrowd) { r.keeps(0, 1, 8, hour, hour, 0); r.run(1, 2, "", 8, hour, 1) },
			then: []func(*roomCrowd) (bool, bool){
				func(*roomCrowd) (bool, bool) { return true, false },
				func(*roomCrowd) (bool, bool) { return false, false },
				func(r *roomCrowd) (bool, bool) { // what is said again is no change
					r.changes(1, func(*federation.Observation) {})
					return false, false
				},
				func(r *roomCrowd) (bool, bool) {
					free := r.without(map[federation.JobID]bool{2: true})[1].Seen
					r.changes(1, func(obs *federation.Observation) { *obs = *free })
					return true, true
				},
			}},
		{name: "too much is lost, until the next checkpoint", made: func(r *roomCrowd) { r.keeps(0, 1, 8, 10*hour-50*time.Second, 10*hour, 0) },
			then: []func(*roomCrowd) (bool, bool){
				func(*roomCrowd) (bool, bool) { return true, false },
				func(*roomCrowd) (bool, bool) { return false, false },
				func(*roomCrowd) (bool, bool) { return true, true },
			}},
		{name: "it may not move just now", made: func(r *roomCrowd) { r.keeps(0, 1, 8, hour, hour, 0); r.stays[1] = true },
			then: []func(*roomCrowd) (bool, bool){
				func(*roomCrowd) (bool, bool) { return false, false },
				func(r *roomCrowd) (bool, bool) { r.stays[1] = false; return true, true },
			}},
		{name: "the moves of the hour are few", made: func(r *roomCrowd) { r.keeps(0, 1, 8, hour, hour, 0); r.rule.Margin = 1e6 },
			then: []func(*roomCrowd) (bool, bool){
				func(*roomCrowd) (bool, bool) { return true, false },
				func(*roomCrowd) (bool, bool) { return false, false },
				func(r *roomCrowd) (bool, bool) { r.rule.Margin = 1; return true, true },
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRoomCrowd(2, 2)
			r.run(1, 50, "", 8, hour, 0) // a job of others
			c.made(r)
			job := gang
			if c.gang != nil {
				job = c.gang
			}
			r.world(job)
			for i, then := range c.then {
				again, found := then(r)
				if room, was := r.look(20 * time.Second); was != again || (room != nil) != found {
					t.Fatalf("look %d: the plan was made again: %v, and room found: %v; want %v, %v", i, was, room != nil, again, found)
				}
			}
		})
	}
}

// What is found is what is found where the plan is made again for every job of the queue.
func TestRoomIsFoundAsBefore(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		sites, nodes := rapid.IntRange(1, 3).Draw(t, "sites"), rapid.IntRange(1, 4).Draw(t, "nodes")
		make := func() *roomCrowd { return newRoomCrowd(sites, nodes) }
		r := make()
		for id := range rapid.IntRange(0, 12).Draw(t, "running") {
			on := rapid.Permutation(count(nodes)).Draw(t, "on")[:rapid.IntRange(1, min(nodes, 2)).Draw(t, "how many")]
			gpus, since := rapid.SampledFrom([]int{1, 4, 8}).Draw(t, "GPUs"), time.Duration(rapid.IntRange(1, 600).Draw(t, "ran"))*time.Minute
			site := rapid.IntRange(0, sites-1).Draw(t, "site")
			if rapid.IntRange(0, 2).Draw(t, "stays") == 0 {
				r.run(site, federation.JobID(id+1), "", gpus, since, on...)
			} else {
				r.keeps(site, federation.JobID(id+1), gpus, since, time.Duration(rapid.IntRange(1, 60).Draw(t, "checkpoint"))*time.Minute, on...)
			}
		}
		var jobs []*federation.Job
		for i := range rapid.IntRange(1, 4).Draw(t, "jobs") {
			jobs = append(jobs, highJob(1000+i, rapid.IntRange(1, nodes).Draw(t, "nodes asked"), rapid.SampledFrom([]int{1, 8}).Draw(t, "GPUs asked"), ""))
		}
		r.world(jobs...)
		all := map[*queued]*triedRoom{}
		for q := range r.w.queue.all() {
			all[q] = &triedRoom{}
		}
		ask := r.ask()
		r.w.rooms.tried = map[federation.JobID]*triedRoom{}
		s := newRoomSearch(r.w, &ask)
		want := s.search(r.w, all)
		r.world(jobs...)
		if got := MakeRoom(r.w, ask); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		if want != nil {
			found++
		}
	})
	if found == 0 {
		t.Error("no room was found")
	}
}

// BenchmarkMakeRoom: what it costs to ask for room beside a queue of 100,000 jobs, with the plan that follows.
func BenchmarkMakeRoom(b *testing.B) {
	for _, c := range []string{"nobody may move", "no place", "no place, each time something new", "without asking"} {
		b.Run(c, func(b *testing.B) {
			r := newRoomCrowd(0, 0)
			r.sites = fleet(10, scaled(1000))
			for _, s := range r.sites {
				fill(s.Seen)
			}
			if obs := r.sites[0].Seen; c != "nobody may move" {
				obs.Running = obs.Running[16*8:]
				for i := range 16 {
					obs.Nodes[i].CPUsUsed, obs.Nodes[i].MemUsed, obs.Nodes[i].GRES[0].Used = 0, 0, 0
					r.keeps(0, federation.JobID(1e6+i), 8, time.Hour, time.Hour, i)
				}
			}
			jobs := mixed(scaled(100_000))
			jobs[0] = gpuJob(1, 1, 16, 8, time.Hour)
			r.world(jobs...)
			for i := 0; b.Loop(); i++ {
				if c == "no place, each time something new" {
					r.w.news++
				}
				if c != "without asking" {
					MakeRoom(r.w, r.ask())
				}
				r.w.Decide()
			}
		})
	}
}
