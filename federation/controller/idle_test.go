package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/health"
	"fsub/federation/idle"
	"fsub/sbatch"
)

// gauged is a site that tells how busy its jobs keep their GPUs.
type gauged struct {
	*able
	b       *bench
	percent map[federation.JobID]float64
	dark    bool // it does not answer
	asked   []driver.Running
}

func (g *gauged) Abilities() driver.Abilities { return driver.Abilities{Requeue: g, Use: g} }

func (g *gauged) Use(_ context.Context, jobs []driver.Running) (map[federation.JobID]idle.Use, error) {
	g.asked = jobs
	if g.dark {
		return nil, errors.New("sstat: no answer")
	}
	out := map[federation.JobID]idle.Use{}
	for _, j := range jobs {
		if p, ok := g.percent[j.ID]; ok {
			out[j.ID] = idle.Use{At: g.b.now(), GPU: p, KnowsGPU: true}
		}
	}
	return out, nil
}

// idleBench has a site that tells, and the rule with a short time.
func idleBench(t *testing.T, change func(*idle.Rule)) (*bench, *gauged) {
	b := newBench(t)
	rule := idle.Rule{GPU: 5, For: 2 * time.Minute}
	if change != nil {
		change(&rule)
	}
	b.with(func(c *Config) { c.Idle = rule })
	g := &gauged{able: &able{fakeSite: b.cheap}, b: b, percent: map[federation.JobID]float64{}}
	b.drive(g)
	return b, g
}

// runs has a job of two GPUs run at the cheap site.
func (g *gauged) runs(change func(*sbatch.Spec)) federation.JobID {
	id := g.b.submit(change)
	g.b.rounds(4)
	g.start(id)
	g.jobs[id].TRES = "cpu=4,node=1,gres/gpu=2"
	g.b.rounds(4)
	return id
}

// said are what the rule has said of jobs.
func (b *bench) said(t *testing.T) (list []string) {
	all, err := b.store.HealthFindings(t.Context(), health.FindingQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.Rule == idle.Name {
			list = append(list, fmt.Sprintf("%d %s", f.Job, f.Act))
		}
	}
	return list
}

// TestIdleIsTold: the user is told, later the account's coordinators, each once, also where the daemon is restarted meanwhile; the attempt and the job's history say so.
func TestIdleIsTold(t *testing.T) {
	b, g := idleBench(t, nil)
	id := g.runs(nil)
	g.percent[id] = 1
	b.wait(110 * time.Second)
	if got := b.said(t); len(got) > 0 {
		t.Fatalf("too soon: %v", got)
	}
	b.wait(40 * time.Second)
	want := []string{fmt.Sprintf("%d tell-user", id)}
	if got := b.said(t); !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	held := b.ctl.Idle()
	if len(held) != 1 || held[0].Job != id || held[0].GPUs != 2 || !held[0].Now || !strings.HasPrefix(held[0].Comment(), "idle-held: its 2 GPUs were used below 5 %") {
		t.Errorf("held and idle: %+v", held)
	}
	if len(g.asked) != 1 || g.asked[0].GPUs != 2 || g.asked[0].Nodes == "" {
		t.Errorf("asked about %+v", g.asked)
	}
	b.restart()
	b.drive(g)
	b.wait(30 * time.Second)
	if held := b.ctl.Idle(); len(held) != 1 || held[0].Now || held[0].Text == "" {
		t.Errorf("after a restart it is known what was told, and not that it is idle now: %+v", held)
	}
	b.wait(80 * time.Second)
	if got := b.said(t); !slices.Equal(got, want) {
		t.Fatalf("a new daemon starts counting again: %v, want %v", got, want)
	}
	b.wait(60 * time.Second)
	want = append(want, fmt.Sprintf("%d tell-lead", id))
	b.wait(5 * time.Minute)
	if got := b.said(t); !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	a := b.attempts(id)[0]
	if a.Idle == nil || a.Idle.Told.IsZero() || a.Idle.Lead.IsZero() || !a.Idle.Ended.IsZero() || !strings.Contains(a.Idle.String(), "its 2 GPUs were used below 5 %") {
		t.Errorf("the attempt says %+v", a.Idle)
	}
	if text := b.history(id); strings.Count(text, "idle-held: its 2 GPUs were used below 5 %") != 2 {
		t.Errorf("history: %s", text)
	}
	g.percent[id] = 80
	b.wait(2 * time.Minute)
	if a := b.attempts(id)[0]; a.Idle.Busy.IsZero() {
		t.Errorf("it is in use again, and the attempt says %+v", a.Idle)
	}
	if held := b.ctl.Idle(); len(held) > 0 {
		t.Errorf("it is in use again, and told is %+v", held)
	}
}

// TestIdleUnknown: nothing is told of jobs whose use is not known, that compute, or of which readings are missing for too long; nor of one that is suspended.
func TestIdleUnknown(t *testing.T) {
	b, g := idleBench(t, nil)
	unknown, busy, gaps := g.runs(nil), g.runs(nil), g.runs(nil)
	g.percent[busy], g.percent[gaps] = 60, 0
	for range 5 {
		b.wait(100 * time.Second)
		g.dark = true
		b.wait(70 * time.Second)
		g.dark = false
	}
	if got := b.said(t); len(got) > 0 {
		t.Errorf("unknown %d, busy %d, gaps %d: said %v", unknown, busy, gaps, got)
	}
}

// TestIdleEnds: where its QOS says so a job is ended at last, after the time that it asks for with --signal; it is asked for once.
func TestIdleEnds(t *testing.T) {
	for _, c := range []struct {
		act    idle.Act
		change func(*sbatch.Spec)
		want   []string // calls
		denied bool
	}{
		{idle.Cancel, nil, []string{"cancel"}, false},
		{idle.Requeue, nil, []string{"requeue"}, false},
		{idle.Cancel, func(s *sbatch.Spec) { s.Signal = &sbatch.Signal{Name: "USR1", Before: 30 * time.Second} }, []string{"signal", "cancel"}, false},
		{idle.Requeue, func(s *sbatch.Spec) { s.Requeue = new(bool) }, nil, true},
	} {
		t.Run(string(c.act), func(t *testing.T) {
			b, g := idleBench(t, func(r *idle.Rule) { r.Act = map[string]idle.Act{"debug": c.act} })
			id := g.runs(func(s *sbatch.Spec) {
				s.QOS = "debug"
				if c.change != nil {
					c.change(s)
				}
			})
			g.percent[id] = 0
			b.wait(5 * time.Minute)
			if len(g.cancelled)+len(g.requeues)+len(g.signals) > 0 {
				t.Fatal("it was ended too soon")
			}
			b.wait(5 * time.Minute)
			var did []string
			for _, n := range []struct {
				word string
				n    int
			}{{"signal", len(g.signals)}, {"cancel", len(g.cancelled)}, {"requeue", len(g.requeues)}} {
				if n.n > 0 {
					did = append(did, n.word)
				}
			}
			if !slices.Equal(did, c.want) {
				t.Errorf("the site was asked for %v, want %v\n%v", did, c.want, b.history(id))
			}
			said := b.said(t)
			if len(said) != 3 || said[2] != fmt.Sprintf("%d %s", id, c.act) {
				t.Errorf("said %v", said)
			}
			if rec := b.attempts(id)[0].Idle; rec == nil || rec.Ended.IsZero() || (rec.Act == idle.None) != c.denied {
				t.Errorf("the attempt says %+v", rec)
			}
		})
	}
}
