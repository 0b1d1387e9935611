package controller

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"fsub/accounting"
	"fsub/accounting/egress"
	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/decision"
	"fsub/federation/lifecycle"
	"fsub/federation/move"
	"fsub/federation/place"
	"fsub/slurm/hostlist"
)

// departures move running jobs that have said --keep, where that saves more than it costs: before a maintenance or the end of a drain, to a cheaper or safer place, and
// to make room for a gang; and from nodes that operators empty by moves. A move is a request like an operator's; what it saves and costs stands in the job's attempts from the same commit on, and bounds the next one.
// So it is decided once, whatever becomes of the daemon. How many moves the last hour has seen, a new daemon knows of the jobs that have not ended.
type departures struct {
	now     func() time.Time
	log     *slog.Logger
	metrics *metrics
	rule    move.Rule
	store   egress.Store
	stager  federation.Stager // nil: there is none
	sites   *roster
	jobs    *jobTable
	batch   *pendingBatch
	runs    *runTimes
	queue   *queue
	moves   *moves
	victims *preempts
	drained func(federation.SiteName) federation.SiteRecord
	planner *planner

	emptied  drainMoves
	bounds   move.Bounds
	loaded   bool
	next     time.Time
	windowed federation.JobID            // the last job that was looked at for a window
	priced   federation.JobID            // the last job whose price was looked at
	dry      map[federation.JobID]string // what was last told of a job that would be moved
}

const (
	departEach = 15 * time.Second
	// departLooks bounds the jobs for which one pass asks placement.
	departLooks = 50
	// windowsWithin is how far ahead windows are looked for.
	windowsWithin = 48 * time.Hour
)

// reconcile looks for moves, now and then: what is to end by a window first.
func (dp *departures) reconcile() {
	now := dp.now()
	if dp.rests() || now.Before(dp.next) {
		return
	}
	dp.next = now.Add(departEach)
	dp.load(now)
	for id := range dp.dry {
		if j := dp.jobs.Of(id); j == nil || !j.live() {
			delete(dp.dry, id)
		}
	}
	looks := departLooks
	looks = dp.leaveWindows(now, looks/2) + looks - looks/2
	looks = dp.leaveDrained(now, looks)
	dp.leavePrices(now, looks)
	dp.makeRoom(now)
}

// rests reports whether no moves are looked for.
func (dp *departures) rests() bool { return dp.rule.Off() && dp.emptied.rest(dp.sites.all) }

// load counts the moves of the last hour that earlier daemons have begun.
func (dp *departures) load(now time.Time) {
	if dp.loaded {
		return
	}
	dp.loaded = true
	for _, j := range dp.jobs.All() {
		if m := j.lastMove(); m != nil && now.Sub(m.At) < time.Hour {
			dp.bounds.Note(m.At)
		}
	}
}

// lastMove is the newest move of a job that ran; nil: none is known.
func (t *tried) lastMove() *decision.Moved {
	if t.att != nil {
		return t.att.Moved
	}
	return t.moved
}

// movable reports whether a job may be moved now.
func (dp *departures) movable(s *site, j *job, now time.Time) bool {
	return immovable(j) == "" && dp.quiet(s, j) && dp.rule.May(j.att.Moved, now)
}

// immovable is why a job at a site can never be moved from there, in words that complete a sentence; "": it can.
func immovable(j *job) string {
	switch {
	case len(j.Spec.Keeps()) == 0:
		return "it has not said --keep"
	case !lifecycle.MayRequeue(&j.Job):
		return "it was submitted with --no-requeue"
	case j.leader != nil || len(j.Spec.Het) > 0:
		return "it has several components"
	case j.Spec.Reservation != "":
		return "it runs in reservation " + j.Spec.Reservation
	case j.pack != nil || j.in != nil:
		return "it shares its nodes with other tasks (--pack)"
	case j.whole != nil || j.att == nil || len(j.att.Decision.Offers) == 0:
		return "an earlier version has sent it there"
	}
	return ""
}

// quiet reports whether a job runs, and nothing is being done with it.
func (dp *departures) quiet(s *site, j *job) bool {
	a := j.att
	return a.State == federation.AttemptStarted && j.State == federation.Running && !a.Started.IsZero() && !j.Cancel && !j.inFlight() &&
		s.Answering && !s.breaker.open && s.Lost.IsZero() && dp.moves.asks.open[j.ID] == nil && !j.isVictim() && dp.victims.victim(j) == nil
}

// run is what a job that runs would lose. What an hour of it is worth, placement says.
func (dp *departures) run(s *site, j *job, now time.Time) move.Run {
	o := j.att.Decision.Offers[0]
	r := move.Run{Ran: lifecycle.Elapsed(j.att.Started, now), Copied: -1}
	if f := j.Spec.Fed; f != nil {
		r.Checkpoint = f.Checkpoint
	}
	if own := j.Spec.Signal; own != nil {
		r.Grace = own.Before
	}
	if o.Run > 0 && len(o.Terms) > 0 {
		r.Hour = o.Terms[0].Amount / decision.Dollars(o.Run.Hours())
	}
	if k := j.att.Kept; k != nil && carries(dp.stager, s, &j.Job) {
		r.Copied = max(now.Sub(k.At), 0)
		if m, far := egress.Between(place.DataAt(&s.Site, o.Zone), egress.Site{Name: "home", Place: dp.store.Place}, k.Bytes); far {
			if r.Save = m.Took; !m.Assumed {
				r.SaveCost = decision.Dollars(m.Dollars)
			}
		}
	}
	return r
}

// compare asks placement what the rest of a run comes to elsewhere; false if there is no place.
func (dp *departures) compare(s *site, j *job, r *move.Run, left *decision.Expected, stay, free bool) (rest place.Rest, ok bool) {
	q := place.Running{Job: withKept(j), Expected: left, Refused: j.refused, Site: s.Name, Pool: j.att.Decision.Offers[0].Pool, Stay: stay, Now: free}
	if f := dp.queue.world.Guard(func() { rest = place.Elsewhere(dp.queue.world, q) }); f != nil {
		dp.log.Error("placement failed", "job", j.ID, "err", f)
		return rest, false
	}
	if rest.WaitHour > 0 {
		r.WaitHour = rest.WaitHour
	}
	if rest.Known {
		r.Hour = rest.Hour
	} else if rest.Offer != nil {
		rest.Here = r.Hour * decision.Dollars(rest.Offer.Run.Hours())
	}
	return rest, rest.Offer != nil
}

// left is what is left of a run.
func (dp *departures) left(j *job, ran time.Duration) *decision.Expected {
	return move.Rest(dp.runs.lasts(j, ran), ran)
}

// window is a time in which nothing is to run on some nodes of a site.
type window struct {
	from  time.Time
	lasts time.Duration // 0: nothing says
	why   string
	nodes map[string]bool // nil: all
	stay  bool            // other nodes of the site take jobs
}

// windows are those ahead at a site.
func (dp *departures) windows(s *site, now time.Time) (all []window) {
	if s.Seen != nil {
		for i := range s.Seen.Reservations {
			r := &s.Seen.Reservations[i]
			if !r.Maint || !r.End.IsZero() && !r.End.After(now) || r.Start.Sub(now) > windowsWithin {
				continue
			}
			w := window{from: r.Start, why: fmt.Sprintf("%s at %s begins at %s", cmp.Or(r.Name, "maintenance"), s.Name, r.Start.UTC().Format(time.RFC3339)), nodes: map[string]bool{},
				stay: len(r.Nodes) < len(s.Seen.Nodes)}
			if !r.End.IsZero() {
				w.lasts = r.End.Sub(r.Start)
			}
			for _, n := range r.Nodes {
				w.nodes[n] = true
			}
			all = append(all, w)
		}
	}
	if drains := s.State == federation.FedDrain || s.State == federation.FedDrainRemove; drains && dp.rule.Drain > 0 {
		r := dp.drained(s.Name)
		why := fmt.Sprintf("FedState of %s is %s since %s", s.Name, s.State, r.At.UTC().Format(time.RFC3339))
		if r.Reason != "" {
			why += ": " + r.Reason
		}
		all = append(all, window{from: r.At.Add(dp.rule.Drain), why: why})
	}
	return all
}

// hits reports whether a job has nodes in a window, and may run that long.
func (w *window) hits(s *site, j *job) bool {
	if limit := limitAt(s, &j.Job, j.Partition); limit > 0 && !j.att.Started.Add(limit).After(w.from) {
		return false
	}
	if w.nodes == nil {
		return true
	}
	names, err := hostlist.Expand(j.att.Nodes)
	return err == nil && slices.ContainsFunc(names, func(n string) bool { return w.nodes[n] })
}

// leaveWindows moves what a window would end, as late as its checkpoint, the copy of that, and the bound of moves by the hour allow. It returns how many looks are left.
func (dp *departures) leaveWindows(now time.Time, looks int) int {
	if !dp.rule.Looks(move.Window) {
		return looks
	}
	var all []dueJob
	for _, s := range dp.sites.all {
		subject{site: s.Name}.do(func() {
			for _, w := range dp.windows(s, now) {
				all = append(all, dp.dueBy(s, w, now)...)
			}
		})
	}
	for _, at := range after(all, dp.windowed) {
		if looks == 0 {
			break
		}
		looks--
		dp.windowed = at.j.ID
		subject{at.j.ID, at.s.Name}.do(func() { dp.leave(&at, now) })
	}
	return looks
}

// leave moves a job that is due, if that saves enough.
func (dp *departures) leave(at *dueJob, now time.Time) {
	s, j, w := at.s, at.j, at.w
	rest, ok := dp.compare(s, j, &at.run, at.left, w.stay, false)
	if !ok {
		return
	}
	costs := at.run.Costs(&rest.To)
	for _, t := range move.Dearer(rest.Here, rest.To.Rest) { // if a window ends it, it would pay that too
		t.Amount *= decision.Dollars(1 - at.outlives)
		costs = append(costs, t)
	}
	dp.decide(s, j, &decision.Moved{Kind: move.Window, Why: w.why, Stay: w.stay, Saves: at.run.Ended(max(w.from.Sub(now), 0), w.lasts, at.outlives, &rest.To), Costs: costs}, now)
}

// dueJob is a job that is to leave by a window, now or soon.
type dueJob struct {
	stood
	w        window
	run      move.Run
	left     *decision.Expected
	outlives float64 // the probability that it runs into the window
}

// dueBy are the jobs at a site that are to leave by a window and have to begin now.
func (dp *departures) dueBy(s *site, w window, now time.Time) (due []dueJob) {
	before, ahead := 0, max(w.from.Sub(now), 0)
	for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
		j := s.jobs[id]
		if !dp.movable(s, j, now) || !w.hits(s, j) {
			continue
		}
		r := dp.run(s, j, now)
		left := dp.left(j, r.Ran)
		outlives := move.Outlives(left, ahead)
		if outlives == 0 {
			continue
		}
		lead := dp.rule.Lead(&r, before)
		if before++; ahead <= lead {
			due = append(due, dueJob{stood{s, j}, w, r, left, outlives})
		}
	}
	return due
}

// leavePrices moves jobs whose rest is much cheaper, or safer, elsewhere. Each pass looks at some of them.
func (dp *departures) leavePrices(now time.Time, looks int) {
	if !dp.rule.Looks(move.Price) || dp.bounds.Left(&dp.rule, now) == 0 {
		return
	}
	var all []stood
	for _, s := range dp.sites.all {
		for _, j := range s.jobs {
			if dp.movable(s, j, now) {
				all = append(all, stood{s, j})
			}
		}
	}
	all = after(all, dp.priced)
	for _, at := range all[:min(looks, len(all))] {
		s, j := at.s, at.j
		dp.priced = j.ID
		r := dp.run(s, j, now)
		rest, ok := dp.compare(s, j, &r, dp.left(j, r.Ran), false, true)
		if !ok || !rest.Known {
			continue
		}
		why := fmt.Sprintf("the rest of its run costs less at %s", rest.Offer.Site)
		dp.decide(s, j, &decision.Moved{Kind: move.Price, Why: why, Saves: move.Cheaper(rest.Here, rest.To.Rest), Costs: r.Costs(&rest.To)}, now)
	}
}

// decide moves a job, if the sum and the bounds allow that. What placement has held for it is free again with the next plan.
func (dp *departures) decide(s *site, j *job, m *decision.Moved, now time.Time) {
	if !dp.rule.Allows(m, j.att.Moved, &dp.bounds, now) {
		return
	}
	dp.record(s, j, m, now)
	if dp.rule.Act(m.Kind) != move.On {
		dp.tellDry(s, j, m)
		return
	}
	dp.begin(s, j, m)
}

// record fills in what a move has in common with all others.
func (dp *departures) record(s *site, j *job, m *decision.Moved, now time.Time) {
	m.At, m.Run, m.From, m.Count = now.UTC(), j.att.Started, s.Name, 1
	if past := j.att.Moved; past != nil {
		m.Count += past.Count
	}
}

// begin asks for a move, writes it into the job's attempt, and counts it.
func (dp *departures) begin(s *site, j *job, m *decision.Moved) {
	j.att.Moved, j.att.Stays = m, ""
	dp.batch.attempt(j.att)
	dp.batch.request(action.Request{Job: j.ID, Kind: action.Move, Operator: true, Restarts: j.Restarts, At: m.At,
		Move: &action.Relocation{From: s.Name, Running: true, Stay: m.Stay, Why: m.Text()}})
	dp.bounds.Note(m.At)
	dp.metrics.departed(m, string(move.On))
	dp.log.Info("running job is moved", "job", j.ID, "site", s.Name, "kind", m.Kind, "why", m.Text())
}

// tellDry tells of a move that is not made, once of each run and kind.
func (dp *departures) tellDry(s *site, j *job, m *decision.Moved) {
	told := m.Kind + m.Run.String()
	if dp.dry[j.ID] == told {
		return
	}
	dp.dry[j.ID] = told
	dp.metrics.departed(m, string(move.Dry))
	net := accounting.MoneyOf(float64(decision.Sum(m.Saves) - decision.Sum(m.Costs))).USD()
	dp.log.Info("running job would be moved", "job", j.ID, "site", s.Name, "kind", m.Kind, "why", m.Text(), "net", net)
}

// gangLooks is how many jobs of the queue may be the gang for which others move.
const gangLooks = 64

// makeRoom binds a gang to where it can start when others have moved, if there is one. Each is moved when the gang waits there (preempt.go), so that its place is kept for it until the last
// of them has left.
func (dp *departures) makeRoom(now time.Time) {
	if !dp.rule.Looks(move.Gang) || dp.queue.world.Len() == 0 {
		return
	}
	ask := place.RoomAsk{Rule: &dp.rule, Look: gangLooks, Most: dp.bounds.Left(&dp.rule, now), May: func(site federation.SiteName, of *federation.Job) (*move.Run, *decision.Expected) {
		s, j := dp.sites.byName[site], dp.jobs.Of(of.ID)
		if s == nil || j == nil || !dp.movable(s, j, now) {
			return nil, nil
		}
		r := dp.run(s, j, now)
		return &r, dp.left(j, r.Ran)
	}}
	if ask.Most == 0 || dp.moves.any() { // what moves has no place in the queue yet
		return
	}
	var room *place.Room
	if f := dp.queue.world.Guard(func() { room = place.MakeRoom(dp.queue.world, ask) }); f != nil {
		dp.log.Error("placement failed", "err", f)
		return
	}
	if room == nil {
		return
	}
	gang := dp.jobs.Of(room.Decision.Job)
	if gang == nil || gang.live() {
		return
	}
	dry := dp.rule.Act(move.Gang) != move.On
	if !dry {
		dp.planner.decide(&room.Decision)
		if !gang.live() { // a limit keeps it back
			return
		}
	}
	for i := range room.Decision.Preempt.Victims {
		m := room.Decision.Preempt.Victims[i].Moved
		j := dp.jobs.Of(room.Decision.Preempt.Victims[i].Job)
		if s := dp.sites.byName[m.From]; dry {
			dp.record(s, j, m, now)
			dp.tellDry(s, j, m)
			continue
		}
		dp.bounds.Note(now)
		dp.metrics.departed(m, string(move.On))
		dp.log.Info("running job is moved", "job", j.ID, "site", m.From, "kind", m.Kind, "why", m.Text())
	}
}

func (dp *departures) due(sooner func(time.Time)) {
	if !dp.rests() {
		sooner(dp.next)
	}
}
