package controller

import (
	"context"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/lifecycle"
	"fsub/federation/place"
)

// parts are what a controller consists of, each with a state of its own. They are made one after another, so that each gets what it needs when it is made: a part
// knows those before it, and none after it. All of them are made anew when the store is read again.
type parts struct {
	sites      *roster
	jobs       *jobTable
	batch      *pendingBatch
	agenda     *agenda
	calls      *calls
	upkeep     *upkeep
	queue      *queue
	depends    *dependencies
	arrays     *arrays
	preempts   *preempts
	inbox      *inbox
	tasks      *arrayRequests
	moves      *moves
	requests   *requests
	orphans    *orphans
	nodes      *nodes
	rules      *healthRules
	stageOut   *stageOut
	copies     *copies
	idles      *idles
	heartbeats *heartbeats
	reports    *reports
	watch      *watch
	standings  *standings
	comparing  *comparing
	promises   *promises
	attempts   *attempts
	packs      *packs
	repairs    *repairs
	planner    *planner
	forecasts  *forecasts
	relocation *relocation
	departures *departures
	order      *siteOrder
	budgets    *budgets
	loader     *loader
	writer     *writer
}

func newParts(cfg *Config, v *View, asides *aside, m *metrics) *parts {
	now, t, log, store := cfg.Now, cfg.Timing, cfg.Logger, cfg.Store
	jobs := newJobTable()
	p := &parts{sites: newRoster(), jobs: jobs, batch: newPendingBatch(jobs.packs, now, log), agenda: &agenda{plan: true}, upkeep: &upkeep{}}
	limits := &limits{book: cfg.Quota, fraction: cfg.Policy.RunFraction, sites: p.sites, batch: p.batch}
	runs := &runTimes{book: cfg.Runs, share: cfg.Policy.Share(), outlasted: v.runs.outlasted}
	faults := faults{log, m}
	p.calls = newCalls(cfg.Inline, t.Call, log, m, p.sites, p.jobs.owner)
	p.inbox = &inbox{now: now, store: store, agenda: p.agenda, inline: cfg.Inline, taken: map[int64]federation.JobID{}}
	p.queue = newQueue(now, cfg.Policy, cfg.FairShare, cfg.Told, p.sites, runs)
	p.preempts = &preempts{now: now, log: log, sites: p.sites, jobs: p.jobs, batch: p.batch, book: cfg.Quota, by: map[string]*seizure{}, told: map[federation.JobID]time.Time{}}
	p.orphans = &orphans{federation: cfg.Federation, now: now, t: t, log: log, metrics: m, store: store, batch: p.batch, calls: p.calls, known: map[orphanKey]bool{}}
	p.stageOut = &stageOut{now: now, t: t, log: log, stager: cfg.Stager, sites: p.sites, jobs: p.jobs, batch: p.batch, calls: p.calls, byKey: map[string]*results{}}
	p.copies = &copies{now: now, log: log, stager: cfg.Stager, sites: p.sites, jobs: p.jobs, batch: p.batch, calls: p.calls, looked: map[federation.JobID]time.Time{}}
	p.idles = &idles{now: now, log: log, metrics: m, rule: cfg.Idle, notify: cfg.Notify, sites: p.sites, jobs: p.jobs, batch: p.batch, calls: p.calls,
		of: map[federation.JobID]*watched{}, asking: map[federation.SiteName]bool{}, failed: map[federation.SiteName]string{}, to: &v.idle}

	// What becomes of jobs.
	p.depends = &dependencies{log: log, store: store, jobs: p.jobs, queue: p.queue, agenda: p.agenda, names: newNames(), waits: map[federation.JobID][]waiting{},
		workflows: newWorkflows(p.jobs, runs, p.queue)}
	charges := &charges{now: now, log: log, sites: p.sites, batch: p.batch, runs: runs, fairShare: cfg.FairShare, book: cfg.Quota, through: cfg.Policy.Store}
	p.stageOut.moved = charges.moved
	components := &components{now: now, log: log, sites: p.sites, jobs: p.jobs, batch: p.batch, limits: limits, charges: charges}
	p.arrays = &arrays{now: now, log: log, jobs: p.jobs, batch: p.batch, runs: runs, queue: p.queue,
		ids:  jobIDs{now: now, log: log, store: store, agenda: p.agenda, pause: t.Retry},
		live: map[federation.JobID]*job{}, shrunk: map[*job]bool{}, offered: map[federation.JobID]*offered{}, short: map[*job]bool{}}
	life := &life{now: now, t: t, log: log, store: store, metrics: m, sites: p.sites, jobs: p.jobs, batch: p.batch, agenda: p.agenda, limits: limits, queue: p.queue,
		arrays: p.arrays, depends: p.depends, components: components, charges: charges, rules: lifecycle.Rules{MaxRequeue: cfg.MaxRequeue},
		judge: v.Judge, runs: runs, asked: &v.fragments.Asked}

	// What users and operators ask for.
	p.tasks = &arrayRequests{now: now, batch: p.batch, arrays: p.arrays, life: life, unfinished: unfinished{of: map[federation.JobID]*progress{}}}
	asks := &asks{now: now, t: t, sites: p.sites, batch: p.batch, calls: p.calls, refused: &v.refused, open: map[federation.JobID]*asked{}}
	p.moves = &moves{now: now, t: t, log: log, sites: p.sites, jobs: p.jobs, batch: p.batch, agenda: p.agenda, queue: p.queue, life: life, asks: asks,
		room: p.preempts, to: map[federation.JobID]*destination{}}
	p.requests = &requests{now: now, t: t, log: log, store: store, sites: p.sites, jobs: p.jobs, batch: p.batch, agenda: p.agenda, calls: p.calls, limits: limits,
		asides: asides, refused: &v.refused, inbox: p.inbox, queue: p.queue, arrays: p.arrays, tasks: p.tasks, depends: p.depends, components: components, life: life,
		moves: p.moves, asks: asks}

	// What sites say.
	pools := &nodePools{sites: p.sites, of: map[federation.SiteName]*poolIndex{}}
	engine, report := newRules(cfg.Rules, cfg.Sites, pools, m), &ruleReport{changed: true, idle: cfg.Idle, to: &v.told}
	p.nodes = &nodes{federation: cfg.Federation, now: now, t: t, log: log, store: store, sites: p.sites, batch: p.batch, agenda: p.agenda, calls: p.calls, upkeep: p.upkeep,
		engine: engine, report: report, bySite: map[federation.SiteName]*siteNodes{}}
	p.rules = &healthRules{federation: cfg.Federation, now: now, log: log, metrics: m, records: cfg.Health, rerunEarly: cfg.RerunEarly, notify: cfg.Notify, sites: p.sites,
		jobs: p.jobs, batch: p.batch, nodes: p.nodes, pools: pools, engine: engine, report: report, extra: map[federation.NodeID]string{}}
	p.heartbeats = &heartbeats{now: now, log: log, metrics: m, notify: cfg.Notify, sites: p.sites, jobs: p.jobs, batch: p.batch, calls: p.calls, rules: p.rules,
		of: map[federation.JobID]*beating{}, asking: map[federation.SiteName]bool{}, failed: map[federation.SiteName]string{}}
	p.reports = &reports{now: now, t: t, metrics: m, jobs: p.jobs, batch: p.batch, agenda: p.agenda, calls: p.calls, limits: limits, preempts: p.preempts, queue: p.queue,
		depends: p.depends, components: components, charges: charges, life: life, requests: p.requests, moves: p.moves, stageOut: p.stageOut, orphans: p.orphans,
		rules: p.rules}
	p.watch = &watch{now: now, t: t, log: log, metrics: m, sites: p.sites, batch: p.batch, agenda: p.agenda, calls: p.calls, asides: asides, reports: p.reports,
		looks: p.rules, nodes: p.nodes, wanted: v.wanted, came: make(chan struct{}, 1)}
	p.watch.addSites(cfg.Sites)
	p.promises = &promises{federation: cfg.Federation, now: now, t: t, log: log, sites: p.sites, jobs: p.jobs, batch: p.batch, calls: p.calls,
		arrays: p.arrays, places: map[federation.SiteName]map[decision.Promised]place.Place{}, of: map[federation.SiteName]*sitePromises{}}
	p.standings = &standings{now: now, log: log, store: store, sites: p.sites, jobs: p.jobs, batch: p.batch, agenda: p.agenda, upkeep: p.upkeep, life: life,
		watch: p.watch, stageOut: p.stageOut, promises: p.promises, by: map[federation.SiteName]federation.SiteRecord{}, away: map[federation.SiteName]*site{}, asked: map[jobAt]bool{}}

	// Where jobs go.
	compareDone := func(ctx context.Context) error {
		err := cfg.Compared(ctx)
		if err == nil {
			cfg.Restored = time.Time{}
		}
		return err
	}
	p.comparing = &comparing{federation: cfg.Federation, copied: cfg.Restored, done: compareDone, now: now, t: t, log: log, sites: p.sites, jobs: p.jobs, batch: p.batch,
		agenda: p.agenda, calls: p.calls, queue: p.queue, open: map[federation.JobID]*compared{}}
	p.attempts = &attempts{federation: cfg.Federation, now: now, t: t, log: log, metrics: m, delivery: &delivery{store, cfg.Stager, cfg.PackFiles, cfg.Environment}, sites: p.sites,
		jobs: p.jobs, batch: p.batch, calls: p.calls, limits: limits, preempts: p.preempts, upkeep: p.upkeep, fairShare: cfg.FairShare, queue: p.queue, arrays: p.arrays,
		components: components, life: life, rules: p.rules, watch: p.watch, promises: p.promises}
	p.repairs = &repairs{now: now, t: t, sites: p.sites, jobs: p.jobs, batch: p.batch, calls: p.calls, life: life, reports: p.reports, attempts: p.attempts,
		comparing: p.comparing}
	p.packs = &packs{federation: cfg.Federation, now: now, t: t, log: log, files: cfg.PackFiles, stager: cfg.Stager, sites: p.sites, jobs: p.jobs, batch: p.batch,
		agenda: p.agenda, calls: p.calls, arrays: p.arrays, life: life, reports: p.reports, asks: asks, attempts: p.attempts}
	p.forecasts = &forecasts{now: now, log: log, faults: faults, sites: p.sites, jobs: p.jobs, limits: limits, runs: runs, queue: p.queue, arrays: p.arrays,
		depends: p.depends, comparing: p.comparing, promises: p.promises}
	p.planner = &planner{now: now, t: t, inline: cfg.Inline, metrics: m, faults: faults, sites: p.sites, jobs: p.jobs, batch: p.batch, agenda: p.agenda,
		queue: p.queue, arrays: p.arrays, life: life, watch: p.watch, attempts: p.attempts, packs: p.packs,
		briefing: &briefing{now: now, sites: p.sites, batch: p.batch, limits: limits, runs: runs, waits: cfg.Waits, fairShare: cfg.FairShare, queue: p.queue, workflows: p.depends.workflows},
		candidates: &candidates{sites: p.sites, batch: p.batch, limits: limits, runs: runs, queue: p.queue, arrays: p.arrays, components: components,
			depends: p.depends, life: life, comparing: p.comparing, killInvalid: cfg.KillInvalidDepend},
		planned: v.starts.outdate, keeps: p.promises.planned}
	p.relocation = &relocation{now: now, t: t, log: log, margin: cfg.Policy.MoveMargin, sites: p.sites, runs: runs, queue: p.queue, moves: p.moves, forecasts: p.forecasts}
	p.departures = &departures{now: now, log: log, metrics: m, rule: cfg.Moves, store: cfg.Policy.Store, stager: cfg.Stager, sites: p.sites, jobs: p.jobs, batch: p.batch, runs: runs,
		queue: p.queue, moves: p.moves, victims: p.preempts, drained: p.standings.record, planner: p.planner, dry: map[federation.JobID]string{},
		emptied: drainMoves{nodes: p.nodes, swept: map[federation.SiteName]bool{}}}
	p.order = &siteOrder{now: now, t: t, log: log, sites: p.sites, calls: p.calls, points: p.queue.points, of: map[federation.SiteName]*siteRanks{}}
	p.budgets = &budgets{now: now, log: log, store: store, book: cfg.Quota, notify: cfg.Notify, sites: p.sites, jobs: p.jobs, batch: p.batch,
		ends: map[federation.JobID]time.Time{}}
	p.loader = &loader{now: now, log: log, store: store, metrics: m, sites: p.sites, jobs: p.jobs, agenda: p.agenda, asides: asides, limits: limits, preempts: p.preempts,
		queue: p.queue, arrays: p.arrays, depends: p.depends, life: life, moves: p.moves}
	p.writer = &writer{now: now, log: log, store: store, metrics: m, jobs: p.jobs, batch: p.batch, asides: asides, inbox: p.inbox, settled: v.settled, wake: v.Wake, charged: func() {}}
	if cfg.Quota != nil {
		p.writer.charged = cfg.Quota.Booked.Commit
	}
	p.planner.briefing.tell()
	return p
}
