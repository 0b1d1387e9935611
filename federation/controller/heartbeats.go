package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/health"
	"fsub/federation/heartbeat"
)

// heartbeats asks sites how far the nodes of running jobs are (#FSUB --heartbeat), and tells of nodes that are slower than the others of their gang and of gangs that have
// stopped. What was found is in the attempts; what is compared is in memory alone: a new daemon starts again.
type heartbeats struct {
	now     func() time.Time
	log     *slog.Logger
	metrics *metrics
	notify  func(health.Finding) // nil: nobody is told
	sites   *roster
	jobs    *jobTable
	batch   *pendingBatch
	calls   *calls
	rules   *healthRules

	of     map[federation.JobID]*beating
	asking map[federation.SiteName]bool
	failed map[federation.SiteName]string // why a site could not be asked last
	next   time.Time
}

// beating is a run that is followed.
type beating struct {
	run   time.Time // when it began
	track *heartbeat.Track
	last  heartbeat.Beats
}

// beaten is how far jobs are by their site's word.
type beaten struct {
	of  heartbeat.Of
	err error
}

// reconcile asks the sites that can tell.
func (hs *heartbeats) reconcile() {
	now := hs.now()
	if now.Before(hs.next) {
		return
	}
	every := heartbeat.Every
	for _, s := range hs.sites.all {
		if s.can.Beats != nil {
			every = min(every, s.can.Beats.BeatsEvery())
		}
	}
	hs.next = now.Add(every)
	for id, p := range hs.of {
		if j := hs.jobs.Of(id); j == nil || !hs.follows(j) || !p.run.Equal(j.att.Started) {
			delete(hs.of, id)
		}
	}
	for _, s := range hs.sites.all {
		hs.ask(s)
	}
}

// follows reports whether a job runs, by itself, and has heartbeats.
func (hs *heartbeats) follows(j *job) bool {
	return j.Spec.Heartbeat() != "" && j.att != nil && j.att.State == federation.AttemptStarted && j.State == federation.Running && !j.Cancel && j.whole == nil && j.leader == nil &&
		j.in == nil && j.pack == nil
}

// ask asks a site about those of its jobs that have heartbeats.
func (hs *heartbeats) ask(s *site) {
	if s.can.Beats == nil || hs.asking[s.Name] {
		return
	}
	var jobs []federation.JobRef
	slow, hung := 0, 0
	for _, j := range s.jobs {
		if !hs.follows(j) {
			continue
		}
		jobs = append(jobs, j.Ref(j.att))
		if rec := heartbeatOf(j); rec.Hangs() {
			hung++
		} else if len(rec.Now()) > 0 {
			slow++
		}
	}
	hs.metrics.running.gangs.WithLabelValues(string(s.Name), "slow").Set(float64(slow))
	hs.metrics.running.gangs.WithLabelValues(string(s.Name), "hung").Set(float64(hung))
	if len(jobs) == 0 {
		return
	}
	hs.asking[s.Name] = true
	teller := s.can.Beats
	hs.calls.add(s, beaten{}, func(ctx context.Context) any {
		of, err := teller.Beats(ctx, jobs)
		return beaten{of, err}
	})
}

// take takes in what a site has said. A job that it says nothing of has no beats that are known.
func (hs *heartbeats) take(s *site, b beaten) {
	delete(hs.asking, s.Name)
	if text := errorText(b.err); text != hs.failed[s.Name] {
		if hs.failed[s.Name] = text; text != "" {
			hs.log.Warn("heartbeats of jobs are not known", "site", s.Name, "err", b.err)
		}
	}
	for id, one := range b.of {
		if j := s.jobs[id]; j != nil && hs.follows(j) {
			hs.see(s, j, one)
		}
	}
}

// heartbeatOf is what was found of a job's run; nil: nothing was.
func heartbeatOf(j *job) *heartbeat.Record {
	if j.att == nil || j.att.Heartbeat == nil || !j.att.Heartbeat.Run.Equal(j.att.Started) {
		return nil
	}
	return j.att.Heartbeat
}

// see takes in the beats of a job, and tells what is new.
func (hs *heartbeats) see(s *site, j *job, b heartbeat.Beats) {
	now := hs.now().UTC()
	p := hs.of[j.ID]
	if p == nil || !p.run.Equal(j.att.Started) {
		p = &beating{run: j.att.Started, track: heartbeat.NewTrack(now, s.can.Beats.BeatsEvery())}
		hs.of[j.ID] = p
	}
	slow, known := p.track.See(b, now)
	if len(p.last.Of) < b.Nodes && len(b.Of) == b.Nodes && now.Sub(p.run) < time.Hour { // else a new daemon would say it again
		hs.batch.eventf(j, "heartbeat: %s", firstText(b))
	}
	p.last = b
	rec := heartbeat.Record{Run: j.att.Started}
	if old := heartbeatOf(j); old != nil {
		rec = *old
	}
	changed := false
	if known {
		changed = hs.slow(s, j, &rec, slow, now)
	}
	if hs.silent(s, j, p, &rec, now) || changed {
		j.att.Heartbeat = &rec // others may read the one before
		hs.batch.attempt(j.att)
	}
}

// firstText says that all nodes of a run are heard.
func firstText(b heartbeat.Beats) string {
	text := fmt.Sprintf("%d nodes write it", b.Nodes)
	if b.Nodes == 1 {
		text = "its node writes it"
	}
	switch {
	case !slices.ContainsFunc(b.Of, func(x heartbeat.Beat) bool { return x.Work <= 0 }):
		text += ", with the seconds that a step takes"
	case b.Nodes > 1 && !slices.ContainsFunc(b.Of, func(x heartbeat.Beat) bool { return x.Step <= 0 }):
		text += "; without the seconds that a step takes, a slow node is found only where nodes do not wait for each other in each step"
	case b.Nodes > 1:
		text += "; without the number of a step in it no slow node is found"
	}
	return text
}

// slow tells of nodes that have become slow, and notes those that are so no more.
func (hs *heartbeats) slow(s *site, j *job, rec *heartbeat.Record, slow []heartbeat.Slow, now time.Time) (changed bool) {
	rec.Slow = slices.Clone(rec.Slow)
	for i := range rec.Slow {
		if l := &rec.Slow[i]; l.Fine.IsZero() && !slices.ContainsFunc(slow, func(x heartbeat.Slow) bool { return x.Node == l.Node }) {
			l.Fine, changed = now, true
			hs.batch.eventf(j, "heartbeat: %s is as fast as the others again", l.Node)
		}
	}
	for _, x := range slow {
		if !rec.Add(x, now) {
			continue
		}
		changed = true
		l := &rec.Slow[len(rec.Slow)-1]
		l.Job = hs.rules.late(s, j, x, l.String())
		hs.batch.eventf(j, "heartbeat: %s", l)
		hs.log.Info("a node is slower than the others of its gang", "site", s.Name, "job", j.ID, "node", x.Node, "times", x.Times, "not", l.Job)
	}
	return changed
}

// silent tells when a run has stopped, and when it goes on.
func (hs *heartbeats) silent(s *site, j *job, p *beating, rec *heartbeat.Record, now time.Time) (changed bool) {
	since := p.track.Silent(now)
	was := rec.Silent != nil && rec.Silent.Over.IsZero()
	switch {
	case since.IsZero() && was && p.track.Beaten():
		over := *rec.Silent
		over.Over = now
		if rec.Silent = &over; !over.Never {
			hs.batch.eventf(j, "heartbeat: it goes on")
		}
		return true
	case since.IsZero() || was:
		return false
	}
	rec.Silent = &heartbeat.Silence{Since: since.UTC(), Told: now, Never: len(p.last.Of) == 0}
	rec.Silent.Behind, _ = heartbeat.Behind(p.last.Of)
	why := rec.Silent.String()
	hs.batch.eventf(j, "heartbeat: %s", why)
	hs.log.Warn("a job writes no heartbeats any more", "site", s.Name, "job", j.ID, "since", rec.Silent.Since, "behind", strings.Join(rec.Silent.Behind, ","))
	if rec.Silent.Never {
		return true
	}
	f := health.Finding{At: now, Rule: health.RuleHung, Act: health.ActNotify, Job: j.ID, Node: federation.NodeID{Site: s.Name}, Why: why}
	hs.batch.finding(health.PastFinding{At: now, Rule: f.Rule, Act: string(f.Act), Node: f.Node, Job: f.Job, Why: f.Why})
	hs.metrics.found(f.Rule, string(f.Act), false)
	if hs.notify != nil {
		hs.notify(f)
	}
	return true
}

func (hs *heartbeats) due(sooner func(time.Time)) {
	if len(hs.of) > 0 {
		sooner(hs.next)
	}
}
