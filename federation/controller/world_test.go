package controller

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/driver"
	"fsub/federation/place"
	"fsub/sbatch"
)

// Whatever happens to jobs and sites, placement knows of those that a walk over all of them would find, as they are now.
func TestWorldIsWhatAWalkFinds(t *testing.T) {
	seeds := 12
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			h := &history{bench: newBench(t), rng: rand.New(rand.NewPCG(uint64(seed), 5))}
			h.begin()
			for range 250 {
				for range h.rng.IntN(4) {
					h.happen()
				}
				h.rounds(1 + h.rng.IntN(3)*h.rng.IntN(6))
				h.compare()
			}
			if h.most < 10 || h.offered < 10 || h.held < 3 {
				t.Errorf("at most %d jobs may be bound at once, %d tasks are offered, %d jobs wait at sites: the history is dull", h.most, h.offered, h.held)
			}
		})
	}
}

// history is what may happen to a controller, by chance.
type history struct {
	*bench
	rng                 *rand.Rand
	ids                 []federation.JobID
	bad                 map[federation.JobID]bool // placement fails over them
	most, offered, held int
}

// moody is a fake site that shows what runs, and now and then takes no job.
type moody struct {
	*fakeSite
	rng *rand.Rand
	no  error
}

func (m *moody) Observe(ctx context.Context) (*federation.Observation, error) {
	o, err := m.fakeSite.Observe(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(m.jobs)) {
		if j := m.jobs[id]; j.State == federation.Running {
			o.Running = append(o.Running, federation.RunningJob{Job: id, Nodes: []string{"n1"}, CPUs: 1, Mem: 100, End: j.Start.Add(time.Hour)})
		}
	}
	return o, nil
}

func (m *moody) Submit(ctx context.Context, s federation.Submission) (federation.Receipt, error) {
	if m.no != nil && m.rng.IntN(3) == 0 {
		return federation.Receipt{}, m.no
	}
	return m.fakeSite.Submit(ctx, s)
}

// begin is for a new daemon.
func (h *history) begin() {
	for _, s := range h.ctl.sites.all {
		m := &moody{fakeSite: h.site(s), rng: h.rng}
		s.driver, s.can = m, driver.AbilitiesOf(m)
	}
	h.bad = map[federation.JobID]bool{}
	h.ctl.queue.world.Watch(func(j *federation.Job) {
		if h.bad[j.ID] {
			panic("planted")
		}
	})
}

func (h *history) site(s *site) *fakeSite {
	if s.Name == "cheap" {
		return h.cheap
	}
	return h.dear
}

func (h *history) one(of []federation.JobID) federation.JobID { return of[h.rng.IntN(len(of))] }

func (h *history) happen() {
	s := h.ctl.sites.all[h.rng.IntN(len(h.ctl.sites.all))]
	fake := h.site(s)
	what := h.rng.IntN(20)
	if len(h.ids) == 0 {
		what = 0
	}
	switch what {
	case 0, 1, 2, 3:
		h.ids = append(h.ids, h.submit(h.draw))
	case 4, 5, 6, 7:
		for _, id := range slices.Sorted(maps.Keys(fake.jobs)) {
			switch j := fake.jobs[id]; {
			case h.rng.IntN(2) > 0:
			case j.State == federation.Pending:
				fake.start(id)
			case j.State == federation.Running:
				fake.end(id, []federation.State{federation.Completed, federation.Completed, federation.Failed, federation.NodeFail}[h.rng.IntN(4)])
			}
		}
	case 8:
		fake.fail = []error{nil, nil, federation.ErrUnavailable}[h.rng.IntN(3)]
	case 9:
		if m, ok := s.driver.(*moody); ok {
			m.no = []error{nil, nil, federation.ErrInvalid, federation.ErrDenied, federation.ErrNotSent, federation.ErrCapacity}[h.rng.IntN(6)]
		}
	case 10:
		if jobs := h.ctl.queue.world.Snapshot().Jobs; len(jobs) > 0 && h.rng.IntN(3) == 0 {
			clear(h.bad)
			h.bad[jobs[h.rng.IntN(len(jobs))].ID] = true
		}
	case 11:
		if h.rng.IntN(6) == 0 {
			h.restart()
			h.begin()
		}
	case 12:
		h.clock = h.clock.Add(time.Duration(h.rng.IntN(40)) * time.Second)
	case 13:
		state := []federation.FedState{federation.FedActive, federation.FedDrain}[h.rng.IntN(2)]
		if err := h.store.SetSiteState(h.t.Context(), federation.SiteRecord{Name: s.Name, State: state}); err != nil {
			h.t.Fatal(err)
		}
	default:
		h.ask()
	}
}

// draw makes a job of any kind that waits for something, or for nothing.
func (h *history) draw(s *sbatch.Spec) {
	s.Name = fmt.Sprint("job", h.rng.IntN(3))
	s.GPUsPerNode = fmt.Sprint(1 + h.rng.IntN(4))
	if h.rng.IntN(3) == 0 {
		s.Array = []string{"0-9", "0-19%3", "1-29:2", "3,5,7%1"}[h.rng.IntN(4)]
	}
	if h.rng.IntN(6) == 0 {
		s.Begin = h.clock.Add(time.Duration(h.rng.IntN(30)) * time.Second)
	}
	if h.rng.IntN(8) == 0 {
		s.Deadline = h.clock.Add(time.Duration(5+h.rng.IntN(60)) * time.Second)
	}
	if len(h.ids) > 0 && h.rng.IntN(3) == 0 {
		on := h.one(h.ids)
		s.Dependency = []string{
			fmt.Sprint("afterany:", on), fmt.Sprint("afterok:", on), fmt.Sprint("afternotok:", on), fmt.Sprint("aftercorr:", on), fmt.Sprint("after:", on, "+1"), "singleton",
		}[h.rng.IntN(6)]
		if h.rng.IntN(2) == 0 {
			s.More = &sbatch.More{KillOnInvalidDep: sbatch.Yes}
		}
	}
}

// ask is a request of a user or an operator.
func (h *history) ask() {
	ids := h.ids[max(len(h.ids)-12, 0):]
	r := action.Request{Job: h.one(ids), UID: 7001, At: h.clock, Operator: h.rng.IntN(3) == 0}
	r.Kind = []action.Kind{
		action.Hold, action.Release, action.Release, action.Cancel, action.Requeue,
		action.ReqHold, action.Top, action.Update, action.Update,
	}[h.rng.IntN(9)]
	if j := h.ctl.jobs.Of(r.Job); j != nil && j.Whole != nil && h.rng.IntN(2) == 0 && r.Kind != action.Top {
		if indices, err := federation.ArrayIndices(j.Spec.Array); err == nil && len(indices) > 0 {
			r.Tasks = federation.Tasks(indices[h.rng.IntN(len(indices))])
		}
	}
	if r.Kind == action.Update {
		r.Change = []sbatch.Change{[]sbatch.Change{
			{Option: "job-name", Key: "JobName", Value: "other"},
			{Option: "time", Key: "TimeLimit", Value: fmt.Sprint(10 * (1 + h.rng.IntN(4)))},
			{Option: "priority", Key: "Priority", Value: fmt.Sprint(h.rng.IntN(3))},
			{Option: "array-limit", Key: "ArrayTaskThrottle", Value: fmt.Sprint(h.rng.IntN(4))},
		}[h.rng.IntN(4)]}
	}
	h.request(r)
}

// compare holds what placement knows against what a walk finds.
func (h *history) compare() {
	h.t.Helper()
	c, now := h.ctl, h.clock
	c.planner.briefing.tell()
	for marked := c.queue.take(now); len(marked) > 0; marked = c.queue.take(now) { // what is ended by one may concern another
		for _, j := range marked {
			c.planner.candidates.consider(j, now)
		}
	}
	known := c.queue.world.Snapshot()
	var got, want []string
	for _, j := range known.Jobs {
		name := fmt.Sprint(j.ID)
		if o := c.arrays.offered[j.ID]; o != nil {
			name = fmt.Sprintf("%d_%d", j.Part.Array, j.Part.Index)
			h.offered++
			if o.task != j || j.Spec != o.array.specOfTasks() {
				h.t.Fatalf("task %s is offered as it was once", name)
			}
		} else if &c.jobs.Of(j.ID).Job != j {
			h.t.Fatalf("job %d is another one", j.ID)
		}
		got = append(got, fmt.Sprintf("job %s of priority %d, refused by %v", name, place.Priority(j), slices.Sorted(maps.Keys(known.Refused[j.ID]))))
	}
	h.most = max(h.most, len(got))
	for _, s := range known.Sites {
		got = append(got, tellSite(*s, s.Bound))
		h.held = max(h.held, len(s.Bound))
		if shown := c.queue.world.Bound(s.Name); !slices.Equal(shown, s.Bound) {
			h.t.Fatalf("at %s %v are shown as bound, not %v", s.Name, shown, s.Bound)
		}
	}
	want = append(h.walkJobs(now), h.walkSites(now)...)
	if !slices.Equal(got, want) {
		h.t.Fatalf("at %v placement knows\n%s\na walk finds\n%s", now, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := len(slices.Collect(c.waiting())); n != c.queue.len() {
		h.t.Fatalf("%d jobs are in the queue, a walk finds %d", c.queue.len(), n)
	}
	tasks := 0
	for j := range c.waiting() {
		if j.spreads() {
			tasks += j.rest.Len()
		} else {
			tasks++
		}
	}
	if tasks != c.queue.tasks {
		h.t.Fatalf("%d tasks are counted in the queue, a walk finds %d", c.queue.tasks, tasks)
	}
}

// waiting are all jobs without a live attempt.
func (c *Controller) waiting() func(func(*job) bool) {
	return func(yield func(*job) bool) {
		for _, j := range c.jobs.All() {
			if !j.live() && j.leader == nil && (!j.spreads() || j.rest.Len() > 0) && !yield(j) {
				return
			}
		}
	}
}

func (h *history) walkJobs(now time.Time) (found []string) {
	c := h.ctl
	for _, j := range slices.SortedFunc(c.waiting(), func(a, b *job) int {
		if before(a, b) {
			return -1
		}
		return 1
	}) {
		if j.waitsFor(now) {
			continue
		}
		rest := fmt.Sprintf("of priority %d, refused by %v", place.Priority(&j.Job), slices.Sorted(maps.Keys(j.refused)))
		for _, l := range j.leaves {
			if !now.Before(l.until) {
				h.t.Fatalf("job %d is still refused by %s %s", j.ID, l.no.Site, l.what)
			}
		}
		if !j.spreads() {
			found = append(found, fmt.Sprintf("job %d %s", j.ID, rest))
			continue
		}
		room := c.arrays.ahead(j)
		if j.Whole.Limit > 0 {
			room = j.Whole.Limit - j.running()
		}
		for index := range j.rest.All() {
			if room > 0 && j.depends.taskReason(index, now) == "" {
				room--
				if c.arrays.short[j] && !slices.ContainsFunc(j.offers, func(o *offered) bool { return o.task.Part.Index == index }) {
					continue // there is no number for it
				}
				found = append(found, fmt.Sprintf("job %d_%d %s", j.ID, index, rest))
			}
		}
	}
	return found
}

// waitsFor reports whether a job may not be bound, by all that it may wait for.
func (j *job) waitsFor(now time.Time) bool {
	return j.Held != federation.NotHeld || now.Before(j.Spec.Begin) || now.Before(j.asideUntil) || j.depends.reason(now) != "" ||
		j.limit() > 0 && j.array.running() >= j.limit()
}

func (h *history) walkSites(now time.Time) (found []string) {
	for _, s := range h.ctl.sites.all {
		site, running := s.Site, map[federation.JobID]int{}
		if s.unread != nil && s.unread == s.Seen {
			site.Seen = nil
		}
		if site.Seen != nil {
			for _, r := range site.Seen.Running {
				running[r.Job]++
			}
		}
		var bound []federation.Bound
		for _, j := range s.jobs {
			if n := j.units() - running[j.ID]; n > 0 && !now.Before(j.asideUntil) {
				bound = append(bound, federation.Bound{Job: &j.Job, Units: n, Partition: j.att.Partition, Since: j.att.Created})
			}
		}
		slices.SortFunc(bound, func(a, b federation.Bound) int {
			if c := a.Since.Compare(b.Since); c != 0 {
				return c
			}
			return int(a.Job.ID) - int(b.Job.ID)
		})
		found = append(found, tellSite(site, bound))
	}
	return found
}

func tellSite(s federation.Site, bound []federation.Bound) string {
	var b strings.Builder
	fmt.Fprintf(&b, "site %s: %s, answers %t, denied %t, %q, observation %p", s.Name, s.State, s.Answering, s.Denied, s.Error, s.Seen)
	for _, x := range bound {
		fmt.Fprintf(&b, ", %d of job %d in %s since %v (%p)", x.Units, x.Job.ID, x.Partition, x.Since, x.Job)
	}
	return b.String()
}
