package preempted

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/accounting/report"
	"fsub/federation"
	"fsub/federation/decision"
)

// One job makes room for a job of one node: it gets TERM, is requeued when its grace is over, keeps its ID, its age and its place before who has come after it, and the
// ledger counts what it had done as lost.
func TestRequeuedByUs(t *testing.T) {
	world.Need(t)
	eachSite(t, federate(t, 0, decision.PreemptByUs), func(p *place) {
		low := p.fill("low")
		after := p.submit("low", 1, 600)
		high := p.submit("high", 1, map[bool]int{false: 10, true: 75}[full()]) // for a minute its site remembers the victim, which cannot come back
		r := p.await(high, federation.Running)
		by, chosen := victims(r)
		if by != decision.PreemptByUs || len(chosen) != 1 {
			p.Fatalf("who makes room for it is %q %+v", by, chosen)
		}
		p.requeued(low, &after, high, chosen[0].Job)
	})
}

// A site that preempts by itself is left to do so: the job is sent to wait there, and what slurmctld does to one of ours is taken in.
func TestRequeuedBySite(t *testing.T) {
	world.Need(t)
	if !full() {
		t.Skip("SKIPPED: another daemon over the same sites; FSUB_FULL=1 runs it")
	}
	d := federate(t, 1, decision.PreemptBySite)
	eachSite(t, d, func(p *place) {
		p.at("sacctmgr", "-i", "modify", "qos", "high", "set", "Preempt=low")
		defer p.at("sacctmgr", "-i", "modify", "qos", "high", "set", "Preempt=")
		low := p.fill("low")
		high := p.submit("high", 1, 10)
		r := p.await(high, federation.Running)
		if by, _ := victims(r); by != decision.PreemptBySite {
			p.Errorf("who makes room for it is chosen by %q", by)
		}
		gone := p.ended(low)
		if len(gone) != 1 {
			p.Fatalf("%d jobs have made room: %v", len(gone), gone)
		}
		p.requeued(low, nil, high, gone[0].JobID) // slurmctld lets it wait two minutes, and others pass it
	})
}

// requeued looks what has become of a job of low that has made room for high. after is a job that has waited behind it; nil: the site itself has chosen the victim.
func (p *place) requeued(low []job, after *job, high job, victim federation.JobID) {
	p.Helper()
	gone := p.ended(low)
	if len(gone) != 1 || gone[0].JobID != victim {
		p.Fatalf("%v have made room, want %d alone", gone, victim)
	}
	v := gone[0]
	defer p.explain(v, high)
	p.eventually("the victim to wait", func() string {
		if r := p.record(v); r.Job.Restarts != 1 {
			return fmt.Sprintf("%s, %d restarts", r.Job.State, r.Job.Restarts)
		}
		return ""
	})
	term, began := p.saw(v, "TERM"), p.began(high)
	if len(term) == 0 || len(began) != 1 {
		p.Fatalf("the victim has noted %v, the other job %v", p.notes(v), p.notes(high))
	}
	p.Logf("%s: TERM %.1f s before the other job began; the grace is %v", p.site, began[0].Sub(term[0]).Seconds(), grace)
	if d := began[0].Sub(term[0]); d < grace/2 { // a script may be late to note what it gets; without a grace it gets nothing
		p.Errorf("the victim had %v from TERM on, its grace is %v", d, grace)
	}
	all, bySite := append(slices.Clone(low), high), after == nil
	if !bySite {
		all = append(all, *after)
	}
	defer p.clear(all...)
	p.lost("low", low)
	p.await(high, federation.Completed)
	if !full() {
		p.Log("NOT TESTED: that the victim runs again, which takes a minute and more; FSUB_FULL=1 waits for it")
		return
	}
	p.eventually("the victim to run again", func() string {
		if n := len(p.saw(v, "BEGIN")); n < 2 {
			return fmt.Sprintf("%s, began %d times", p.record(v).Job.State, n)
		}
		return ""
	})
	if !bySite {
		if r := p.record(*after); r.Job.State != federation.Pending || len(p.saw(*after, "BEGIN")) > 0 {
			p.Errorf("job %d, which was submitted later, is %s when the victim starts again", after.JobID, r.Job.State)
		}
	}
	notes := p.notes(v)
	pinned := notes[0].id == uint32(v.JobID) // else the site gives it another number each time
	if last := notes[len(notes)-1]; pinned && last.id != notes[0].id || last.restart != 1 {
		p.Errorf("the victim has noted %+v", notes)
	}
	// While the first victim of a grace comes to its end, slurmctld may give another one its grace, which then ends for nothing, with the next look at time limits.
	if gone := p.ended(low); len(gone) != 1 && bySite {
		p.Logf("%s itself had %d jobs make room for one: %v", p.site, len(gone), gone)
	} else if len(gone) != 1 {
		p.Errorf("%d jobs have made room for one: %v", len(gone), gone)
	}
}

// slack is by how much the end of a run may be off that a site has ended to queue the job again: it counts to when that was seen, which a busy machine has happen late.
const slack = 5 * time.Second

// lost compares what the ledger says was lost of a QOS at the site, where each job holds one node, with how long those of its jobs had run that were queued again: by
// the site's own accounting.
func (p *place) lost(qos string, all []job) {
	p.Helper()
	spec := report.Spec{Kind: "usage", By: []string{"qos", "site"}}
	_, ask, err := spec.Ask(time.Now())
	if err != nil {
		p.Fatal(err)
	}
	p.eventually("what was lost to be in the ledger", func() string {
		sums, err := p.c.BookedSums(p.Context(), ask)
		if err != nil {
			return err.Error()
		}
		runs, lost := int64(0), time.Duration(0)
		for i := range sums {
			if s := &sums[i]; s.Fate == "lost" && slices.Equal(s.Values, []string{qos, p.site}) {
				runs, lost = runs+s.Runs, lost+time.Duration(s.NodeSeconds)*time.Second
			}
		}
		victims, there, rows := int64(0), time.Duration(0), ""
		for _, j := range all {
			if p.record(j).Job.Restarts == 0 {
				continue
			}
			first, _, _ := strings.Cut(p.at("sacct", "-D", "-X", "-n", "-P", "-j", fmt.Sprint(p.notes(j)[0].id), "-o", "ElapsedRaw,State,Start,End"), "\n")
			text, _, _ := strings.Cut(first, "|")
			seconds, _ := strconv.Atoi(text)
			victims, there, rows = victims+1, there+time.Duration(seconds)*time.Second, rows+" "+first
		}
		if runs == victims && (lost-there).Abs() <= time.Duration(runs)*slack && lost >= time.Duration(runs)*grace && runs > 0 {
			return ""
		}
		return fmt.Sprintf("%v of %d runs in %d sums; %d were queued again, and sacct has%s", lost, runs, len(sums), victims, rows)
	})
}

// Two jobs of a QOS that is cancelled make room for a job of two nodes. They end as PREEMPTED, and the others go on.
func TestCancelledByUs(t *testing.T) {
	world.Need(t)
	eachSite(t, federate(t, 2, decision.PreemptByUs), func(p *place) {
		brief := p.fill("brief")
		high := p.submit("high", 2, 5)
		_, chosen := victims(p.await(high, federation.Running))
		if len(chosen) != 2 {
			p.Fatalf("two nodes are made free by %+v", chosen)
		}
		for _, v := range chosen {
			if r := p.await(job{JobID: v.Job}, federation.Preempted); r.Job.Restarts != 0 {
				p.Errorf("job %d has %d restarts", v.Job, r.Job.Restarts)
			}
		}
		p.await(high, federation.Completed)
		time.Sleep(2 * time.Second)
		if gone := p.ended(brief); len(gone) != 2 {
			p.Errorf("%v have made room, want two", gone)
		}
		p.clear(brief...)
	})
}

// A job is left alone until its exempt time is over.
func TestExemptTime(t *testing.T) {
	world.Need(t)
	if !full() {
		t.Skip("SKIPPED: the exempt time is a minute at least; FSUB_FULL=1 waits for it")
	}
	eachSite(t, federate(t, 3, decision.PreemptByUs), func(p *place) {
		fresh := p.fill("fresh")
		high := p.submit("high", 1, 5)
		p.await(high, federation.Running)
		p.began(high)
		gone := p.ended(fresh)
		if len(gone) != 1 {
			p.Fatalf("%v have made room", gone)
		}
		ran := p.saw(high, "BEGIN")[0].Sub(p.saw(gone[0], "BEGIN")[0])
		p.Logf("%s: job %d made room after %v", p.site, gone[0].JobID, ran.Round(time.Second))
		if ran < time.Minute || ran > 3*time.Minute {
			p.Errorf("job %d made room after %v, its exempt time is a minute", gone[0].JobID, ran)
		}
		p.clear(append(fresh, high)...)
	})
}
