package controller

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/health"
)

// standings are what operators have said of sites, and what is wrong with those: it is written to their history when it changes, and acted upon.
type standings struct {
	now      func() time.Time
	log      *slog.Logger
	store    Store
	sites    *roster
	jobs     *jobTable
	batch    *pendingBatch
	agenda   *agenda
	upkeep   *upkeep
	life     *life
	watch    *watch
	stageOut *stageOut
	promises *promises

	by    map[federation.SiteName]federation.SiteRecord
	away  map[federation.SiteName]*site // that have left the federation
	asked map[jobAt]bool                // jobs whose move away was asked for
}

type jobAt struct {
	job     federation.JobID
	attempt int
}

// record is what operators have said of a site.
func (st *standings) record(name federation.SiteName) federation.SiteRecord { return st.by[name] }

// take takes in what operators have said. Their words are in the store, so that they outlive the daemon.
func (st *standings) take(records map[federation.SiteName]federation.SiteRecord) {
	before := st.by
	st.by = records
	for _, s := range slices.Clone(st.sites.all) {
		if records[s.Name].State == federation.FedRemoved {
			st.leave(s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(st.away)) {
		if s := st.away[name]; records[name].State != federation.FedRemoved {
			delete(st.away, name)
			st.enter(s)
		}
	}
	for _, s := range st.sites.all {
		r, ok := records[s.Name]
		if !ok {
			r.State = federation.FedActive
		}
		if ok && r.State == federation.FedActive && !r.At.Equal(before[s.Name].At) && !s.restored.at.IsZero() { // an operator has seen it
			s.restored = restored{}
			st.watch.health(s)
		}
		if r.State == s.State && r.Lost.Equal(s.Lost) {
			continue
		}
		if !r.Lost.Equal(s.Lost) {
			s.mark, s.anew = nil, true // whatever it still has is to be told once more
			s.returned = time.Time{}
		}
		s.State, s.Lost, s.StateWhy = r.State, r.Lost, r.Reason
		st.agenda.plan = true
		st.watch.health(s)
	}
}

// Join has a site taken into the federation, in the next round. One that is known by its name is what it is now configured as from then on; whether it is a
// member stays as it is.
func (v *View) Join(s Site) {
	v.joinMu.Lock()
	v.joining = append(v.joining, s)
	v.joinMu.Unlock()
	v.Wake()
}

// takeIn takes in the sites that are to join. An attempt at one that was there before a restart is its again.
func (c *Controller) takeIn() {
	c.joinMu.Lock()
	joining, tuning := c.joining, c.tuning
	c.joining, c.tuning = nil, nil
	c.joinMu.Unlock()
	if tuning != nil {
		c.tune(tuning)
	}
	for i := range joining {
		if s := cmp.Or(c.sites.byName[joining[i].Name], c.standings.away[joining[i].Name]); s != nil {
			c.reconfigure(s, &joining[i])
			continue
		}
		c.cfg.Sites = append(c.cfg.Sites, joining[i])
		s := c.watch.newSite(&joining[i])
		c.watch.listenTo(s)
		c.standings.enter(s)
		for _, j := range c.jobs.All() {
			if j.live() && j.att.Site == s.Name {
				s.jobs[j.ID] = j
				c.queue.claim(j)
			}
		}
	}
}

// reconfigure makes a site that is known what it is now configured as. A new driver is told all of its jobs.
func (c *Controller) reconfigure(s *site, sc *Site) {
	c.cfg.Sites = slices.Clone(c.cfg.Sites)
	if i := slices.IndexFunc(c.cfg.Sites, func(other Site) bool { return other.Name == sc.Name }); i >= 0 {
		c.cfg.Sites[i] = *sc
	}
	other := s.driver != sc.Driver
	s.configure(sc)
	c.agenda.plan, s.told = true, nil
	if other {
		s.mark, s.anew = nil, true
		s.nextPoll, s.nextObserve = time.Time{}, time.Time{}
		c.watch.listenTo(s)
	}
	c.log.Info("site is configured again", "site", s.Name)
}

// leave takes a site out of the federation.
func (st *standings) leave(s *site) {
	st.sites.remove(s)
	st.away[s.Name] = s
	s.State, s.told = federation.FedRemoved, nil
	st.agenda.plan = true
	st.log.Info("site has left the federation", "site", s.Name)
}

// enter takes a site into the federation.
func (st *standings) enter(s *site) {
	st.sites.add(s)
	s.nextPoll, s.nextObserve, s.mark = time.Time{}, time.Time{}, nil
	st.agenda.plan = true
}

// reconcile acts on what was said: jobs of lost sites are given up, those that wait at INACTIVE ones are moved, and a site that was to be removed when it has
// no more jobs is.
func (st *standings) reconcile(ctx context.Context) {
	for _, s := range slices.Clone(st.sites.all) {
		subject{site: s.Name}.do(func() { st.actOn(ctx, s) })
	}
}

func (st *standings) actOn(ctx context.Context, s *site) {
	if !s.Lost.IsZero() {
		st.giveUp(s)
	}
	if s.State == federation.FedInactive {
		st.moveAway(s, fmt.Sprintf("FedState of %s is %s", s.Name, s.State), func(*job) bool { return true })
	}
	if len(st.upkeep.planned[s.Name]) > 0 {
		st.leaveBefore(s)
	}
	if s.State == federation.FedDrainRemove && len(s.jobs) == 0 && !st.promises.left(s) {
		st.remove(ctx, s)
	}
}

// giveUp takes the jobs of a lost site away from it, as their requeue rules say. A job whose results are on the way here has ended.
func (st *standings) giveUp(s *site) {
	r := st.by[s.Name]
	for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
		j := s.jobs[id]
		if h := st.stageOut.byKey[j.att.Key]; h != nil && h.ended != nil {
			continue
		}
		note := fmt.Sprintf("%s was declared lost by %s", s.Name, r.By)
		if r.Reason != "" {
			note += ": " + r.Reason
		}
		st.life.lose(j, j.att.State == federation.AttemptStarted, "", note)
	}
}

// moveAway asks for jobs that wait at a site to be moved, once for each attempt.
func (st *standings) moveAway(s *site, why string, which func(*job) bool) {
	maps.DeleteFunc(st.asked, func(k jobAt, _ bool) bool {
		j := st.jobs.Of(k.job)
		return j == nil || !j.live() || j.att.Number != k.attempt
	})
	for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
		j := s.jobs[id]
		k := jobAt{id, j.att.Number}
		if j.leader != nil || j.pack != nil || j.State != federation.Pending || j.att.State != federation.AttemptSubmitted || st.asked[k] || !which(j) {
			continue
		}
		st.asked[k] = true
		st.batch.request(action.Request{Job: id, Kind: action.Move, Operator: true, Restarts: j.Restarts, At: st.now().UTC(),
			Move: &action.Relocation{From: s.Name, Why: why}})
	}
}

// remove writes down that a site has left; it does when that is read back.
func (st *standings) remove(ctx context.Context, s *site) {
	r := st.by[s.Name]
	r.Name, r.State, r.Lost, r.At = s.Name, federation.FedRemoved, time.Time{}, st.now().UTC()
	if err := st.store.SetSiteState(ctx, r); err != nil {
		st.log.Error("write that a site has left", "site", s.Name, "err", err)
		return
	}
	st.by[s.Name] = r
	st.leave(s)
}

// conditionNames are the names of all conditions, the worst first.
var conditionNames = []federation.ConditionName{federation.CondLost, federation.CondReturned, federation.CondNotSeen, federation.CondTokenRefused, federation.CondNoAnswer,
	federation.CondRestored, federation.CondNodesSilent, federation.CondTokenExpires, federation.CondNoAccounting, federation.CondOldPrices, federation.CondBadPart}

// note compares what is wrong with a site with what was wrong before, and writes the difference to its history.
func (w *watch) note(s *site) {
	is := health.SiteConditions(&s.Site, s.returned, s.restored.condition(w.now()), w.silentFor(s), w.now())
	if s.Seen != nil {
		w.metrics.tokenExpires(s.Name, s.Seen.CredentialEnds)
	}
	if slices.Equal(is, s.Conditions) {
		return
	}
	was := s.Conditions
	s.Conditions = is
	has := func(list []federation.Condition, n federation.ConditionName) bool {
		return slices.ContainsFunc(list, func(k federation.Condition) bool { return k.Name == n })
	}
	event := func(from, to, why string) {
		w.batch.siteEvent(federation.SiteEvent{Site: s.Name, At: w.now().UTC(), From: from, To: to, Why: why})
	}
	for _, k := range is {
		if !has(was, k.Name) && k.Name != federation.CondNotSeen && k.Name != federation.CondLost {
			event("OK", string(k.Name), k.Detail)
			w.log.Warn("condition of a site", "site", s.Name, "condition", k.Name, "why", k.Detail)
		}
	}
	for _, k := range was {
		if !has(is, k.Name) && k.Name != federation.CondNotSeen && k.Name != federation.CondLost {
			event(string(k.Name), "OK", "")
			w.log.Info("condition of a site is over", "site", s.Name, "condition", k.Name)
		}
	}
	for _, n := range conditionNames {
		w.metrics.condition(s.Name, n, has(is, n))
	}
}

// restored is what was seen of a controller that was put back to an older state.
type restored struct {
	at     time.Time
	detail string
}

// showRestored is for how long such a state is shown after the last sign of it, unless an operator resumes the site.
const showRestored = time.Hour

// sinceSaved is for how long a controller may not have saved what it has acknowledged: it saves every five seconds. What it has forgotten and is older than this,
// no crash explains.
const sinceSaved = time.Minute

func (r restored) condition(now time.Time) *federation.Condition {
	if r.at.IsZero() || now.Sub(r.at) > showRestored {
		return nil
	}
	return &federation.Condition{Name: federation.CondRestored, Since: r.at, Detail: r.detail}
}

// recall finds in the history of the sites, for a new daemon, which of them were put back to an older state a short time ago. Whatever else is wrong with
// them shows again.
func (st *standings) recall(ctx context.Context) error {
	for _, s := range st.sites.all {
		events, err := st.store.SiteEvents(ctx, s.Name, recalled)
		if err != nil {
			return err
		}
		for _, e := range slices.Backward(events) {
			if e.From == string(federation.CondRestored) { // it is over
				break
			}
			if e.To == string(federation.CondRestored) {
				s.restored = restored{e.At, e.Why}
				break
			}
		}
	}
	return nil
}

// recalled is how many lines of a site's history are read for that.
const recalled = 200

// wentBack notes a sign that the controller of a site was put back to an older state.
func (s *site) wentBack(now time.Time, format string, args ...any) {
	if s == nil {
		return
	}
	if s.restored.condition(now.UTC()) == nil {
		s.restored = restored{now.UTC(), fmt.Sprintf(format, args...)}
	}
}

// counter watches the numbers that a mapped site gives to jobs: they rise, but for a counter that begins again at its end.
type counter struct {
	top, old uint32    // the highest number, and that of some time ago
	at       time.Time // when old was top
}

// take takes in a number and reports whether the counter has gone back. Answers come in any order, so that only numbers of some time ago count.
func (k *counter) take(id uint32, now time.Time) (back bool) {
	if now.Sub(k.at) > sinceSaved {
		k.old, k.at = k.top, now
	}
	const small, large = 10_000, 1_000_000
	switch back = id <= k.old; {
	case back && id < small && k.old > large: // it has begun again
		*k, back = counter{top: id, at: now}, false
	case back:
		*k = counter{top: id, at: now}
	}
	k.top = max(k.top, id)
	return back
}
