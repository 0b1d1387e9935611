package controller

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/driver"
	"fsub/federation/health"
	"fsub/federation/idle"
	"fsub/federation/lifecycle"
)

// idles asks sites how busy running jobs keep what they hold, and goes by the rule idle-held: it tells of those that leave it idle, and ends them where their
// QOS says so. What was told is in the attempts, in the same commit as the finding that mails follow from. For how long a job has been idle is in memory
// alone: a new daemon starts counting again.
type idles struct {
	now     func() time.Time
	log     *slog.Logger
	metrics *metrics
	rule    idle.Rule
	notify  func(health.Finding) // nil: nobody is told
	sites   *roster
	jobs    *jobTable
	batch   *pendingBatch
	calls   *calls

	of      map[federation.JobID]*watched
	asking  map[federation.SiteName]bool
	failed  map[federation.SiteName]string // why a site could not be asked last
	next    time.Time
	changed bool                         // of what is told, since it was
	to      *atomic.Pointer[[]idle.Held] // what is told of it
}

// watched is a run that is followed.
type watched struct {
	run time.Time // when it began
	idle.Stretch
}

// used is how busy jobs are by their site's word.
type used struct {
	use map[federation.JobID]idle.Use
	err error
}

// reconcile asks the sites that can tell, and ends what has had its time to write a checkpoint.
func (is *idles) reconcile() {
	now := is.now()
	if is.rule.Off() {
		is.to.Store(nil)
		return
	}
	if now.Before(is.next) {
		if is.changed {
			is.publish(now)
		}
		return
	}
	is.next = now.Add(is.rule.Every())
	for id := range is.of {
		if j := is.jobs.Of(id); j == nil || !j.live() {
			delete(is.of, id)
		}
	}
	for _, s := range is.sites.all {
		is.ask(s)
		for _, j := range s.jobs {
			is.endLate(j, now)
		}
	}
	is.publish(now)
}

// publish tells which jobs leave idle what they hold.
func (is *idles) publish(now time.Time) {
	is.changed = false
	var all []idle.Held
	for _, s := range is.sites.all {
		gpus := 0
		for _, j := range s.jobs {
			if h := is.held(s, j, now); h.Now || h.Text != "" {
				all = append(all, h)
				if h.Now {
					gpus += h.GPUs
				}
			}
		}
		if s.can.Use != nil {
			is.metrics.running.idle.WithLabelValues(string(s.Name)).Set(float64(gpus))
		}
	}
	slices.SortFunc(all, func(a, b idle.Held) int { return cmp.Compare(a.Job, b.Job) })
	is.to.Store(&all)
}

// held is what is told of a job: nothing if neither Now nor Text is set.
func (is *idles) held(s *site, j *job, now time.Time) idle.Held {
	h := idle.Held{Job: j.ID, Site: s.Name, Account: cmp.Or(j.TreeAccount, j.Account, j.Spec.Account)}
	if !is.follows(j) {
		return h
	}
	if rec := j.att.Idle; rec != nil && rec.Run.Equal(j.att.Started) && rec.Busy.IsZero() {
		h.Text = rec.String()
	}
	w := is.of[j.ID]
	h.Now = w != nil && w.run.Equal(j.att.Started) && w.Lasted(&is.rule, now) >= is.rule.For
	if h.Now || h.Text != "" {
		if _, h.GPUs = held(j); h.Now {
			h.GPUs = w.GPUs()
		}
	}
	return h
}

// ask asks a site about those of its jobs that the rule may apply to.
func (is *idles) ask(s *site) {
	if s.can.Use == nil || is.asking[s.Name] {
		return
	}
	var jobs []driver.Running
	for _, j := range s.jobs {
		if is.follows(j) {
			_, gpus := held(j)
			jobs = append(jobs, driver.Running{JobRef: j.Ref(j.att), Nodes: j.att.Nodes, GPUs: gpus})
		}
	}
	if len(jobs) == 0 {
		return
	}
	is.asking[s.Name] = true
	teller := s.can.Use
	is.calls.add(s, used{}, func(ctx context.Context) any {
		use, err := teller.Use(ctx, jobs)
		return used{use, err}
	})
}

// follows reports whether a job runs, by itself, and holds what the rule is about. Tasks that share a job (--pack) are not told apart.
func (is *idles) follows(j *job) bool {
	if j.att == nil || j.att.State != federation.AttemptStarted || j.State != federation.Running || j.Cancel || j.whole != nil || j.leader != nil || j.in != nil || j.pack != nil {
		return false
	}
	return is.rule.CPU > 0 || strings.Contains(j.att.Held.TRES, "gres/gpu")
}

// take takes in what a site has said.
func (is *idles) take(s *site, u used) {
	delete(is.asking, s.Name)
	if text := errorText(u.err); text != is.failed[s.Name] {
		if is.failed[s.Name] = text; text != "" {
			is.log.Warn("how busy jobs are is not known", "site", s.Name, "err", u.err)
		}
	}
	for id, one := range u.use {
		if j := s.jobs[id]; j != nil && is.follows(j) {
			is.see(s, j, one)
		}
	}
}

// held is what a job was granted; 0: it is not known.
func held(j *job) (cpus, gpus int) {
	tres, err := accounting.ParseTRES(j.att.Held.TRES)
	if err != nil {
		return 0, 0
	}
	return int(tres["cpu"]), int(tres["gres/gpu"])
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// see takes in a reading of a job, and does what is due.
func (is *idles) see(s *site, j *job, u idle.Use) {
	run := j.att.Started
	w := is.of[j.ID]
	if w == nil || !w.run.Equal(run) {
		w = &watched{run: run}
		is.of[j.ID] = w
	}
	cpus, gpus := held(j) // what was granted; a site may measure without knowing that
	u.CPUs, u.GPUs = cmp.Or(cpus, u.CPUs), cmp.Or(gpus, u.GPUs)
	w.See(&is.rule, u)
	now := is.now().UTC()
	rec := j.att.Idle
	if rec != nil && !rec.Run.Equal(run) {
		rec = nil
	}
	since := w.Since(&is.rule, now)
	if rec != nil && rec.Busy.IsZero() && w.Busy() {
		is.write(j, rec, func(r *idle.Record) { r.Busy = now })
		is.batch.eventf(j, "%s: it is in use again", idle.Name)
		return
	}
	stage := is.rule.Next(rec, qosOf(j), since, u.At)
	if stage == idle.Nothing {
		return
	}
	is.write(j, rec, func(r *idle.Record) {
		r.Run, r.What, r.Since, r.Busy = run, is.rule.What(u.GPUs, u.CPUs), since.UTC(), time.Time{}
		is.tell(s, j, r, stage, now)
	})
}

func qosOf(j *job) string { return cmp.Or(j.att.Held.QOS, j.Spec.QOS) }

// write changes the record of a job's run. It is not changed in place: others may read the attempt.
func (is *idles) write(j *job, rec *idle.Record, change func(*idle.Record)) {
	var r idle.Record
	if rec != nil {
		r = *rec
	}
	change(&r)
	j.att.Idle, is.changed = &r, true
	is.batch.attempt(j.att)
}

// tell does what is due for a run that is idle, and writes that into its record.
func (is *idles) tell(s *site, j *job, r *idle.Record, stage idle.Stage, now time.Time) {
	f := health.Finding{At: now, Rule: idle.Name, Act: health.Act(stage), Job: j.ID, Node: federation.NodeID{Site: s.Name}}
	switch stage {
	case idle.TellUser:
		r.Told = now
	case idle.TellLead:
		r.Lead = now
	case idle.End:
		r.Ended, r.Act = now, is.rule.Act[qosOf(j)]
		f.Act = health.Act(r.Act)
		if r.Act == idle.Requeue && !lifecycle.MayRequeue(&j.Job) {
			r.Act, f.Denied = idle.None, "it was submitted with --no-requeue"
		}
	}
	f.Why = r.String()
	if next := is.rule.Then(r, qosOf(j)); next != "" && stage != idle.End {
		f.Why += "; " + next
	}
	if f.Denied != "" {
		is.batch.eventf(j, "%s: not done (%s): %s", idle.Name, f.Denied, f.Why)
	} else {
		is.batch.eventf(j, "%s: %s", idle.Name, f.Why)
	}
	is.batch.finding(health.PastFinding{At: now, Rule: f.Rule, Act: string(f.Act), Node: f.Node, Job: f.Job, Why: f.Why, Denied: f.Denied})
	is.metrics.found(f.Rule, string(f.Act), f.Denied != "")
	is.log.Info("health", "rule", f.Rule, "action", f.Act, "site", s.Name, "job", j.ID, "why", f.Why, "denied", f.Denied)
	if is.notify != nil {
		is.notify(f)
	}
	if stage != idle.End || r.Act == idle.None {
		return
	}
	if own := j.Spec.Signal; own != nil && own.Before > 0 { // it writes its checkpoint first, as before a move
		is.batch.request(action.Request{Job: j.ID, Operator: true, At: now, Kind: action.Signal, Signal: endSignal(j)})
		return
	}
	is.end(j, r, now)
}

// endLate ends a job that was told to end, when it has had the time that it asks for with --signal.
func (is *idles) endLate(j *job, now time.Time) {
	if j.att == nil || j.att.State != federation.AttemptStarted {
		return
	}
	rec := j.att.Idle
	if rec == nil || rec.Act == idle.None || rec.Asked || !rec.Run.Equal(j.att.Started) || j.Cancel {
		return
	}
	if own := j.Spec.Signal; own == nil || !now.Before(rec.Ended.Add(own.Before)) {
		is.write(j, rec, func(r *idle.Record) { is.end(j, r, now.UTC()) })
	}
}

// end asks for the end of a job, as an operator would: what it keeps (--keep) is saved as at any other end.
func (is *idles) end(j *job, r *idle.Record, now time.Time) {
	r.Asked = true
	ask := action.Request{Job: j.ID, Operator: true, At: now, Kind: action.Cancel}
	if r.Act == idle.Requeue {
		ask.Kind, ask.Restarts = action.Requeue, j.Restarts
	}
	is.batch.request(ask)
}

func (is *idles) due(sooner func(time.Time)) {
	if !is.rule.Off() {
		sooner(is.next)
	}
}
