package simsite

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/topology"
)

// Site is one simulated site. Its methods may be called from several goroutines.
type Site struct {
	mu    sync.Mutex
	cfg   Config
	clock Clock
	rng   *rand.Rand
	now   int64 // Unix nanoseconds; while an event is carried out, its time

	events  events
	boot    int64
	nodes   []*node
	leaves  []*leaf
	tree    topology.Tree
	parts   []*partition
	resvs   []*reservation
	users   map[string]*user
	byUID   map[uint32]*user
	scratch []candidate

	nodeByName map[string]*node

	controller
	dbd    dbd
	faults faultBox
	stats  Stats

	broken map[string]*Behaviour // by node: what every job does there
	runs   map[uint32][]*run     // by job ID, of a task by array ID
	active map[*run]struct{}     // alive at the nodes, whatever the controller knows
}

// controller is what the controller holds in memory.
type controller struct {
	down    bool
	nextID  uint32
	savedID uint32 // nextID as saved
	seq     int
	prio    int64
	jobs    map[uint32]*job
	arrays  map[uint32]*array
	order   []*job // by submission, with holes
	holes   int
	ended   []due // jobs that may be purged, in order of time
	needs   map[string]*need
	groups  map[groupKey]*group
	dirty   []*job
	saveGen uint64
	saveDue bool
	passDue bool
	pending int
	running int
}

type due struct {
	j  *job
	at int64
}

// Stats count what a site has done.
type Stats struct {
	Submitted, Started, Ended, Cancelled, Requeued, Forgotten, Orphans int
	Requests, Faults                                                   int
	Reserved                                                           int // reservations made or changed by the API
	Denied                                                             int // requests with a token that does not count
}

// New makes a site. Its controller, slurmdbd and nodes are up.
func New(cfg Config) (*Site, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	s := &Site{cfg: cfg, clock: cfg.Clock, rng: rand.New(rand.NewPCG(cfg.Seed, 0x51735)), runs: map[uint32][]*run{},
		active: map[*run]struct{}{}}
	s.now = s.clock.Now().UnixNano()
	s.boot = s.now
	s.controller = controller{nextID: cfg.FirstJobID, savedID: cfg.FirstJobID, prio: 4294901760, saveGen: 1, jobs: map[uint32]*job{},
		arrays: map[uint32]*array{}, needs: map[string]*need{}, groups: map[groupKey]*group{}}
	s.dbd = newDBD(!cfg.NoDBD)
	s.faults.rng = rand.New(rand.NewPCG(cfg.Seed, 0xfa17))
	s.buildUsers(&cfg)
	if err := s.buildNodes(&cfg); err != nil {
		return nil, err
	}
	var err error
	if s.tree, err = buildTree(&cfg); err != nil {
		return nil, err
	}
	if err := s.buildReservations(cfg.Reservations); err != nil {
		return nil, err
	}
	for _, r := range s.resvs {
		s.push(r.Start.UnixNano(), event{kind: evPass})
		s.push(r.End.UnixNano(), event{kind: evPass})
	}
	return s, nil
}

// modern: quirks of 26.05 instead of those of 24.11.
func (s *Site) modern() bool { return s.cfg.Version >= "25.11" }

// Name is the site's ClusterName.
func (s *Site) Name() string { return s.cfg.Name }

// Now is the site's time.
func (s *Site) Now() time.Time { return s.clock.Now() }

// Advance moves a virtual clock on by d and carries out all that has become due. With another clock it only does the latter.
func (s *Site) Advance(d time.Duration) {
	if v, ok := s.clock.(*VirtualClock); ok {
		v.Advance(d)
	}
	s.lock()
	s.mu.Unlock()
}

// lock takes the site's lock and brings it up to the present.
func (s *Site) lock() {
	s.mu.Lock()
	s.catchUp()
}

// catchUp carries out, in order of time, every event that is due.
func (s *Site) catchUp() {
	until := s.clock.Now().UnixNano()
	for len(s.events.heap) > 0 && s.events.heap[0].at <= until {
		at := s.events.heap[0].at
		s.now = max(s.now, at)
		for len(s.events.heap) > 0 && s.events.heap[0].at == at {
			s.handle(s.events.pop())
		}
		s.schedule()
	}
	s.now = max(s.now, until)
	s.expireReservations()
	s.schedule()
	if !s.down {
		s.purge()
	}
}

func (s *Site) handle(e event) {
	switch e.kind {
	case evRunEnd:
		s.runEnds(e.run)
	case evLimit:
		if !s.down && e.job.gen == e.gen {
			s.killRun(e.job, RunTimeout)
			s.finish(e.job, federation.Timeout, 0, string(reasons.TimeLimit))
		}
	case evBegin:
		if !s.down && e.job.gen == e.gen {
			s.enqueue(e.job)
		}
	case evSave:
		if !s.down && e.gen == int(s.saveGen) {
			s.save()
		}
	case evPass:
		s.passDue = true
	case evComplete:
		if !s.down && e.job.gen == e.gen && e.job.closing {
			s.free(e.job)
		}
	case evMissing:
		if !s.down && e.job.gen == e.gen {
			s.batchMissing(e.job)
		}
	}
}

// purge drops the ended jobs that are older than MinJobAge. A record of an array stays while a task of it is alive.
func (s *Site) purge() {
	for len(s.ended) > 0 && s.ended[0].at <= s.now {
		d := s.ended[0]
		s.ended = s.ended[1:]
		if !d.j.state.Ended() || s.jobs[d.j.id] != d.j || d.j.end+int64(s.cfg.MinJobAge) > d.at {
			continue
		}
		if s.anchors(d.j) {
			s.ended = append(s.ended, due{d.j, s.now + int64(s.cfg.MinJobAge)})
			continue
		}
		s.drop(d.j)
	}
}

// drop removes a job's record from the controller's memory.
func (s *Site) drop(j *job) {
	delete(s.jobs, j.id)
	j.gen++
	if a := s.arrays[j.array]; a != nil {
		a.tasks = slices.DeleteFunc(a.tasks, func(t *job) bool { return t == j })
		if len(a.tasks) == 0 {
			delete(s.arrays, j.array)
		}
	}
	s.order[j.pos] = nil
	s.holes++
	if s.holes > 64 && s.holes > len(s.order)/2 {
		kept := s.order[:0]
		for _, j := range s.order {
			if j != nil {
				j.pos = len(kept)
				kept = append(kept, j)
			}
		}
		clear(s.order[len(kept):])
		s.order, s.holes = kept, 0
	}
}

// touch notes that j is about to change, so that a controller that is killed can go back to what it had saved.
func (s *Site) touch(j *job) {
	if j.touched == s.saveGen {
		return
	}
	j.touched = s.saveGen
	if !j.isNew {
		c := j.live
		c.waiting = slices.Clone(c.waiting)
		j.saved = &c
	}
	s.dirty = append(s.dirty, j)
	if !s.saveDue {
		s.saveDue = true
		s.push(s.now+int64(s.cfg.SaveWindow), event{kind: evSave, gen: int(s.saveGen)})
	}
}

// save makes the controller's memory durable.
func (s *Site) save() {
	for i, j := range s.dirty {
		j.saved, j.isNew = nil, false
		s.dirty[i] = nil
	}
	s.dirty = s.dirty[:0]
	s.saveGen++
	s.saveDue = false
	s.savedID = s.nextID
}
