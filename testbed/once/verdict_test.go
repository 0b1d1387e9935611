package once

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	"fsub/federation/decision"
	"fsub/testbed/proxy"
)

// awaitEnds waits until the books say that every job has ended.
func (w *world) awaitEnds(ctx context.Context, subs []*Submission) {
	c := w.daemon.Client()
	defer c.Close()
	begun := time.Now()
	waiting := map[federation.JobID]bool{}
	for _, s := range subs {
		if s.ID != 0 {
			waiting[s.ID] = true
		}
	}
	for len(waiting) > 0 && ctx.Err() == nil {
		for id := range waiting {
			rec, err := c.Job(ctx, id)
			if err == nil && rec.Job.State.Ended() || errors.Is(err, federation.ErrNotFound) {
				delete(waiting, id)
			}
		}
		sleep(ctx, 300*time.Millisecond)
	}
	w.t.Logf("all faults over, the last job ended %v later", time.Since(begun).Round(time.Second))
}

// check compares every record with what has run, and prints what came of it.
func (w *world) check(ctx context.Context, subs []*Submission, begun time.Time) {
	// The deadline of the waiting is not that of the judgement.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Minute)
	defer cancel()
	c := w.daemon.Client()
	defer c.Close()
	count := map[Kind]int{}
	ids := map[federation.JobID]*Submission{}
	tokens := map[string]*Submission{}
	acknowledged := 0
	for _, s := range subs {
		tokens[s.Token] = s
		if s.ID == 0 {
			continue
		}
		acknowledged++
		if other := ids[s.ID]; other != nil {
			w.t.Errorf("ID %d was given to %s and to %s", s.ID, other.Token, s.Token)
		}
		ids[s.ID] = s
		count[w.judge(ctx, c, s)]++
	}
	unanswered := w.checkUnanswered(ctx, c, ids, tokens)
	w.checkSites(ctx)

	lost := func(faults ...proxy.Fault) (requests, submissions int) {
		for _, p := range w.proxies {
			for _, f := range faults {
				n, s := p.Count(f)
				requests, submissions = requests+n, submissions+s
			}
		}
		return requests, submissions
	}
	lostRequests, lostSubmissions := lost(proxy.LoseRequest)
	lostReplies, lostReceipts := lost(proxy.LoseReply, proxy.CutReply, proxy.Swallow)
	w.t.Logf("SUMMARY seed %d, %v: %d submissions acknowledged (and %d accepted whose answer was lost), daemon killed %d times, database %d times, controllers %d times, "+
		"requests lost %d (submissions %d), replies lost %d (receipts %d), nodes drained by Slurm %d; ran once %d, reruns explained %d, NODE_FAIL by --no-requeue %d, "+
		"--no-requeue and submitted again because nothing told that it had started %d, refused for its number %d, started again by a controller before anybody could see it %d, end unheard by the controller %d, script removed by slurmd %d, broken %d",
		w.seed, time.Since(begun).Round(time.Second), acknowledged, unanswered, w.daemonKills.Load(), w.databaseKills.Load(), len(w.controllerKills),
		lostRequests, lostSubmissions, lostReplies, lostReceipts, w.drains.Load(),
		count[Once], count[Rerun], count[NodeFailed], count[RerunBlindly], count[NumberTaken], count[RerunUnseen], count[EndUnheard], count[ScriptGone], count[Broken])
	if acknowledged == 0 || w.daemonKills.Load() == 0 || len(w.controllerKills) == 0 || lostReceipts == 0 {
		w.t.Error("nothing was tested: no submission, no kill or no lost reply")
	}
}

func (w *world) judge(ctx context.Context, c *client.Client, s *Submission) Kind {
	rec, err := c.Job(ctx, s.ID)
	if err != nil {
		w.t.Errorf("job %d (%s) was acknowledged: %v", s.ID, s.Token, err)
		return Broken
	}
	runs, err := s.Runs()
	if err != nil {
		w.t.Error(err)
		return Broken
	}
	v := Check(s, rec, runs, w.controllerKills)
	if v.Kind == Broken || v.Kind == RerunBlindly || v.Kind == RerunUnseen && s.NoRequeue {
		w.explain(ctx, s, rec, runs, v)
	}
	return v.Kind
}

// explain prints all that is known of a job that did not do what it must.
func (w *world) explain(ctx context.Context, s *Submission, rec *client.JobRecord, runs []Run, v Verdict) {
	var b strings.Builder
	for i := range rec.Attempts {
		rec.Attempts[i].Decision = decision.Decision{}
	}
	record, _ := json.MarshalIndent(rec, "", "  ")
	b.Write(record)
	for _, r := range runs {
		b.WriteString("\nrun: " + r.String())
	}
	if said, err := os.ReadFile(s.complaints()); err == nil && len(said) > 0 {
		fmt.Fprintf(&b, "\nits script's errors: %s", said)
	}
	w.mu.Lock()
	for _, k := range w.controllerKills {
		if k.To.After(rec.Job.Submit) {
			fmt.Fprintf(&b, "\n%s: slurmctld dead from %s to %s", k.Site, k.From.UTC().Format("15:04:05.000"), k.To.UTC().Format("15:04:05.000"))
		}
	}
	w.mu.Unlock()
	for _, site := range w.sites {
		id := s.ID.String()
		for _, a := range rec.Attempts {
			if string(a.Site) == site && a.SiteJobID != 0 {
				id = strconv.Itoa(int(a.SiteJobID))
			}
		}
		out, err := w.bed.Output(ctx, site, "", "sacct", "-D", "-X", "-P", "-j", id, "--format=jobid,jobname,state,exitcode,submit,start,end,nodelist")
		if err != nil {
			out = err.Error()
		}
		b.WriteString("\nsacct at " + site + ":\n" + out)
		out, _ = w.bed.Output(ctx, site, "", "grep", "-hiE", "JobId="+id+"|job "+id, "-r", w.bed.Dir()+"/sites/"+site+"/log")
		shown, _ := w.bed.Output(ctx, site, "", "scontrol", "show", "job", id)
		b.WriteString("scontrol at " + site + ":\n" + shown + "logs at " + site + ":\n" + out)
	}
	if v.Kind == Broken {
		// The reason comes last: of many lines a run of all tests shows the last ones.
		w.t.Errorf("%s\njob %d (%s, no requeue: %v): %s", b.String(), s.ID, s.Token, s.NoRequeue, v.Why)
		return
	}
	w.t.Logf("job %d (%s): not to be requeued, and it ran again: nothing told that it had started\n%s", s.ID, s.Token, b.String())
}

// checkUnanswered checks the jobs whose acknowledgement was lost: they are in the books, and they too run once. It returns how many.
func (w *world) checkUnanswered(ctx context.Context, c *client.Client, known map[federation.JobID]*Submission, tokens map[string]*Submission) int {
	n := 0
	for id := federation.FirstJobID; ; id++ {
		rec, err := c.Job(ctx, id)
		if errors.Is(err, federation.ErrNotFound) {
			return n
		}
		if err != nil {
			w.t.Error(err)
			return n
		}
		if known[id] != nil {
			continue
		}
		s := tokens[rec.Job.Spec.Name]
		if s == nil || s.ID != 0 {
			w.t.Errorf("job %d (%s) is in the books and nobody has submitted it", id, rec.Job.Spec.Name)
			continue
		}
		n++
		s.ID = id
		if _, err = c.Wait(ctx, id); err == nil {
			w.judge(ctx, c, s)
		}
	}
}

// checkSites looks for copies that live on.
func (w *world) checkSites(ctx context.Context) {
	for _, site := range w.sites {
		out, err := w.bed.Output(ctx, site, "", "squeue", "-h", "-t", "PENDING,RUNNING,SUSPENDED", "-o", "%i %T %j")
		if err != nil {
			w.t.Error(err)
		}
		if strings.TrimSpace(out) != "" {
			w.t.Errorf("all jobs have ended, and %s still has\n%s", site, out)
		}
	}
}
