package predict

import (
	"context"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
)

// busy is a site where a local user's jobs of one node run for ten minutes each, one after another on one node, and as many wait.
type busy struct {
	at   time.Time
	next federation.JobID
	list []federation.WaitingJob
	run  federation.RunningJob
}

func (b *busy) look(more ...federation.WaitingJob) *federation.Observation {
	b.at = b.at.Add(10 * time.Minute)
	if len(b.list) > 0 {
		w := b.list[0]
		b.run = federation.RunningJob{Job: w.Job, Nodes: []string{"n1"}, CPUs: w.CPUs, Stake: w.Stake}
		b.list = b.list[1:]
	}
	for len(b.list) < 5 {
		b.next++
		b.list = append(b.list, federation.WaitingJob{Job: b.next, Submit: b.at, Nodes: 1, CPUs: 8, Stake: federation.Stake{User: "local", Partition: "main", Limit: time.Hour}})
	}
	waiting := append(append([]federation.WaitingJob{}, b.list...), more...)
	o := &federation.Observation{At: b.at, Waiting: waiting}
	if b.run.Job != 0 {
		o.Running = []federation.RunningJob{b.run}
	}
	return o
}

var ann = decision.QueueAsk{User: "ann", Partition: "main", Nodes: 1, CPUs: 8, Limit: time.Hour}

// A queue of five jobs of ten minutes each is foretold to take some fifty minutes, and still is when the daemon has been started anew.
func TestQueueIsForetold(t *testing.T) {
	b := busy{at: time.Unix(1e9, 0)}
	waits := Waits{}
	if o := b.look(); waits.Look("quiet", &federation.Observation{At: o.At}) != nil || waits["quiet"] != nil {
		t.Error("a site where nobody waits is followed")
	}
	var all []PastWait
	for range 100 {
		all = append(all, waits.Look("busy", b.look())...)
	}
	kept, _, err := OpenWaits(t.Context(), store(all))
	if err != nil {
		t.Fatal(err)
	}
	again := b.look()
	kept.Look("busy", again)
	waits.Look("busy", again)
	for name, q := range map[string]*Queue{"first": waits["busy"], "again": kept["busy"]} {
		f := q.Outlook(b.at).Wait(ann)
		if f == nil || f.P50 < 40*time.Minute || f.P50 > time.Hour || f.P90 < f.P50 || f.P90 > time.Hour || f.Unsure != "" || f.Starts < 90 {
			t.Errorf("%s: %+v", name, f)
		}
	}
	for i := range 40 { // far more wait than ever before
		w := b.list[0]
		w.Job = 5000 + federation.JobID(i)
		b.list = append(b.list, w)
	}
	waits.Look("busy", b.look())
	if f := waits["busy"].Outlook(b.at).Wait(ann); f.Unsure == "" {
		t.Errorf("the queue is nine times as long as ever: %+v", f)
	}
}

// A site's own expectations count where they hold, and are corrected where they do not: here jobs start in half of the time.
func TestSitesOwnWord(t *testing.T) {
	q := NewQueue("busy")
	at := time.Unix(1e9, 0)
	mine := federation.WaitingJob{Job: 7, Ours: true, Submit: at, Nodes: 1, CPUs: 8, Stake: federation.Stake{User: "ann", Partition: "main"}}
	for i := range 60 {
		id := federation.JobID(100 + i)
		w := federation.WaitingJob{Job: id, Submit: at, Start: at.Add(time.Hour), Nodes: 1, CPUs: 8, Stake: federation.Stake{User: "local", Partition: "main"}}
		mine.Start = at.Add(4 * time.Hour)
		q.Look(&federation.Observation{At: at, Waiting: []federation.WaitingJob{w, mine}})
		if i == 5 {
			f := q.Outlook(at).Wait(ann)
			if f == nil || f.Unsure == "" || f.P50 < time.Hour || f.P90 > 4*time.Hour {
				t.Errorf("when little is known: %+v", f)
			}
		}
		at = at.Add(30 * time.Minute)
		q.Look(&federation.Observation{At: at, Waiting: []federation.WaitingJob{mine}, Running: []federation.RunningJob{{Job: id, Nodes: []string{"n1"}, CPUs: 8, Stake: w.Stake}}})
	}
	f := q.Outlook(at).Left(7, ann)
	if f == nil || f.P50 < 90*time.Minute || f.P50 > 2*time.Hour || f.P90 < f.P50 {
		t.Errorf("the site says 3.5 h: %+v", f)
	}
	if f := q.Outlook(at).Left(8, ann); f != nil {
		t.Errorf("of a job that does not wait there it says %+v", f)
	}
}

// A queue that was first looked at a short time ago, of which two jobs have started, is not taken for as slow as the limits of its jobs say.
func TestFewStartsSaySomething(t *testing.T) {
	q, at := NewQueue("new"), time.Unix(1e9, 0)
	var waiting []federation.WaitingJob
	for i := range 12 {
		waiting = append(waiting, federation.WaitingJob{Job: federation.JobID(100 + i), Submit: at, Start: at.Add(time.Duration(i+1) * 10 * time.Minute), Nodes: 1, CPUs: 8, Stake: federation.Stake{User: "local", Partition: "main"}})
	}
	q.Look(&federation.Observation{At: at, Waiting: waiting})
	for range 2 {
		at = at.Add(20 * time.Second)
		run := federation.RunningJob{Job: waiting[0].Job, Nodes: []string{"n1"}, CPUs: 8, Stake: waiting[0].Stake}
		waiting = waiting[1:]
		q.Look(&federation.Observation{At: at, Waiting: waiting, Running: []federation.RunningJob{run}})
	}
	if f := q.Outlook(at).Wait(ann); f == nil || f.P50 < 2*time.Minute || f.P50 > 5*time.Minute || f.P90 < f.P50 || f.Unsure == "" {
		t.Errorf("ten wait, and one starts each 20 seconds: %+v", f)
	}
}

type store []PastWait

func (s store) PastWaits(context.Context, int) ([]PastWait, error) { return s, nil }

func BenchmarkWait(b *testing.B) {
	q := NewQueue("busy")
	for i := range keptWaits {
		a := decision.QueueAsk{User: string(rune('a' + i%26)), Partition: string(rune('p' + i%4)), Nodes: 1 + i%3, CPUs: 1 << (i % 7), Limit: time.Duration(1+i%48) * time.Hour}
		o := &open{trait: traitOf(&a), since: int64(i)}
		o.queue = sight{float32(i % 13), float32(i % 17), float32(i % 7), float32(i % 11), float32(i % 3), float32(i % 5), float32(i % 19), float32(i % 23)}
		q.started(o, int64(i+i%5000))
	}
	o := q.Outlook(time.Unix(keptWaits, 0)).(*outlook)
	for i := 0; b.Loop(); i++ {
		t := traitOf(&decision.QueueAsk{User: string(rune('a' + i%26)), Partition: string(rune('p' + i%4)), Nodes: 1 + i%3, CPUs: 1 << (i % 7), Limit: time.Duration(1+i%48) * time.Hour})
		o.wait(&t)
	}
}

// The speed of a queue tells how long a job waits that comes to one twice as long as any before; a site of which few starts have been seen says less.
func TestQueueMoves(t *testing.T) {
	b, q := busy{at: time.Unix(1e9, 0)}, NewQueue("busy")
	for range 10 {
		q.Look(b.look())
	}
	f := q.Outlook(b.at).Wait(ann)
	if f == nil || f.P50 < 50*time.Minute || f.P50 > 70*time.Minute || f.P90 < 2*f.P50 || f.Unsure == "" {
		t.Errorf("one of five starts every ten minutes: %+v", f)
	}
	for range 20 {
		q.Look(b.look())
	}
	long := q.Outlook(b.at).Wait(ann)
	for i := range 5 {
		w := b.list[0]
		w.Job = 5000 + federation.JobID(i)
		b.list = append(b.list, w)
	}
	q.Look(b.look())
	f = q.Outlook(b.at).Wait(ann)
	if f == nil || f.P90 < 90*time.Minute || f.Likely() <= long.Likely() {
		t.Errorf("ten wait: %+v; of five it was %+v", f, long)
	}
}

// A wait that follows from time limits is half as long where what runs takes half of its limit, by the time that it holds nodes: jobs that fail at once hold none.
func TestBounds(t *testing.T) {
	q, at := NewQueue("busy"), time.Unix(1e9, 0)
	look := func(running ...federation.RunningJob) { q.Look(&federation.Observation{At: at, Running: running}) }
	bounds := func() (p50, p90 time.Duration) { return q.Outlook(at).Bounds(2 * time.Hour) }
	run := func(id int, lasts time.Duration) {
		look(federation.RunningJob{Job: federation.JobID(id), End: at.Add(2 * time.Hour), Nodes: []string{"n1"}, CPUs: 8, Stake: federation.Stake{Limit: 2 * time.Hour}})
		at = at.Add(lasts)
		look()
	}
	look()
	for i := range 2 * fewWords {
		if p50, p90 := bounds(); 2*i < fewWords && (p50 != 2*time.Hour || p90 != 2*time.Hour) {
			t.Errorf("after %d ends: %s, %s", 2*i, p50, p90)
		}
		run(i, time.Second)
		run(100+i, time.Hour)
	}
	if p50, p90 := bounds(); p50 != time.Hour || p90 != 2*time.Hour {
		t.Errorf("where half of each limit is taken: %s, %s", p50, p90)
	}
	for range fewWords { // the site says an hour, and starts them after half of one
		q.words = append(q.words, .5)
	}
	q.words = append(q.words, .25, .25, .25)
	if p50, _ := bounds(); p50 != time.Hour {
		t.Errorf("by the site's own expectations: %s", p50)
	}
}
