package controller

import (
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/lifecycle"
	"fsub/federation/predict"
	"fsub/sbatch"
)

// runTimes foretells how long jobs run.
type runTimes struct {
	book  *predict.Book // nil: nothing is known of jobs that have ended
	share float64       // of its time limit that a job is taken to run where nothing is known

	outlasted *sync.Map // federation.JobID -> time.Duration: how long a job has run that its time limit has ended and that runs again
}

// outlasts notes that a job has run for as long as an attempt did, if its time limit has ended that.
func (rt *runTimes) outlasts(id federation.JobID, a *federation.Attempt) {
	ran := lifecycle.Elapsed(a.Started, a.Ended)
	if before, _ := rt.outlasted.Load(id); a.Final == federation.Timeout && ran > 0 && (before == nil || ran > before.(time.Duration)) {
		rt.outlasted.Store(id, ran)
	}
}

// expected is how long a job is expected to run, from what jobs like it did; nil: that is not known.
func (rt *runTimes) expected(j *federation.Job) *decision.Expected {
	b := rt.book
	if ran, again := rt.outlasted.Load(j.ID); again {
		if e := rt.expectedAfter(j, ran.(time.Duration)); e != nil {
			return e
		}
		return predict.Outlasts(limitOf(j), ran.(time.Duration), rt.share)
	}
	if b == nil {
		return nil
	}
	return b.Expect(b.Keys(j), limitOf(j))
}

// expectedAfter is expected of a job that has run for some time.
func (rt *runTimes) expectedAfter(j *federation.Job, ran time.Duration) *decision.Expected {
	switch b := rt.book; {
	case b == nil:
		return nil
	case ran > 0:
		return b.ExpectAfter(b.Keys(j), limitOf(j), ran)
	}
	return rt.expected(j)
}

// lasts is how long a job is expected to run in all, where it has run for some time.
func (rt *runTimes) lasts(j *job, ran time.Duration) *decision.Expected {
	if e := rt.expectedAfter(&j.Job, ran); e != nil {
		return e
	}
	limit := limitOf(&j.Job)
	if limit == 0 && j.att != nil && len(j.att.Decision.Offers) > 0 {
		limit = time.Duration(float64(j.att.Decision.Offers[0].Run) / rt.share)
	}
	return predict.Outlasts(limit, ran, rt.share)
}

// limitOf is the time limit that a job asks for; 0: none.
func limitOf(j *federation.Job) time.Duration {
	if limit := j.Needs().TimeLimit; limit != sbatch.Unlimited {
		return limit
	}
	return 0
}

// passRuns tells the forecasts what runs now, when that is due. Where the queue is ordered by what jobs are expected to take, those that wait are foretold anew: others like them
// have ended since they came, or still run.
func (br *briefing) passRuns(now time.Time) {
	b := br.runs.book
	if b == nil || !b.Due(now) {
		return
	}
	var running []predict.Live
	for _, s := range br.sites.all {
		for _, j := range s.jobs {
			if a := j.att; a != nil && a.State == federation.AttemptStarted && !a.Started.IsZero() && j.whole == nil {
				running = append(running, predict.Live{Keys: b.Keys(&j.Job), Start: a.Started, Lasts: atSpeed(lifecycle.Elapsed(a.Started, now), s, a)})
			}
		}
	}
	b.Pass(now, running)
	br.workflows.foretell()
	if f := br.fairShare; f != nil && f.ByWork() && br.queue.world.Len() > 0 {
		br.queue.world.Predict(br.runs.expected)
	}
}

// lasted notes how long a run was, if that tells how long others take.
func (ch *charges) lasted(s *site, j *job, a *federation.Attempt, k *federation.Charge) {
	b := ch.runs.book
	if b == nil || s == nil || k.From == federation.PriceNone || j.leader != nil {
		return
	}
	took := atSpeed(lifecycle.Elapsed(k.Start, k.End)-k.Suspended, s, a)
	tells, cut := predict.Tells(k.State, took)
	if !tells {
		return
	}
	r := predict.Run{Keys: b.Keys(&j.Job), Start: k.Start, Seconds: float32(took.Seconds()), Cut: cut}
	b.Ended(r)
	ch.batch.length(r.Length())
}

// atSpeed is how long a run of an attempt would have been on nodes of speed 1.
func atSpeed(d time.Duration, s *site, a *federation.Attempt) time.Duration {
	if len(a.Decision.Offers) > 0 {
		if speed := s.Speed[a.Decision.Offers[0].GPUType]; speed > 0 {
			return time.Duration(float64(d) * speed)
		}
	}
	return d
}
