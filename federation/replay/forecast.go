package replay

import (
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/predict"
	"fsub/sbatch"
)

// forecasts is what the planner knows of how long jobs run.
type forecasts struct {
	book    *predict.Book
	oracle  bool
	given   map[federation.JobID]*decision.Expected
	running map[federation.JobID]predict.Live
}

func newForecasts(cfg *Config) *forecasts {
	return &forecasts{book: predict.New(cfg.Policy.Share()), oracle: cfg.Oracle, given: cfg.Expected, running: map[federation.JobID]predict.Live{}}
}

// expect is how long a job is expected to run; nil: nothing is known.
func (f *forecasts) expect(j *Job) *decision.Expected {
	if f.oracle {
		return &decision.Expected{P50: j.Run, P90: j.Run, Runs: 1, Of: "itself"}
	}
	if f.given != nil {
		return f.given[j.ID]
	}
	return f.book.Expect(f.book.Keys(j.Job), limitOf(j))
}

// limitOf is a job's time limit; 0: none.
func limitOf(j *Job) time.Duration {
	if l := j.Needs().TimeLimit; l != sbatch.Unlimited {
		return l
	}
	return 0
}

// endOf is when the run of a job that begins then is reckoned to have ended: by its limit, or, without one, as nine in ten of such jobs. Zero: never.
func (f *forecasts) endOf(j *Job, begin time.Time) time.Time {
	if l := limitOf(j); l > 0 && !f.oracle {
		return begin.Add(l)
	}
	if e := f.expect(j); e != nil {
		return begin.Add(max(e.P90, time.Minute))
	}
	return time.Time{}
}

func (f *forecasts) started(j *Job, at time.Time) {
	keys := f.book.Keys(j.Job)
	f.book.Started(keys, at)
	f.running[j.ID] = predict.Live{Keys: keys, Start: at}
}

func (f *forecasts) ended(j *Job, o *Outcome) {
	delete(f.running, j.ID)
	f.book.Ended(predict.Run{Keys: f.book.Keys(j.Job), Start: o.Start, Seconds: float32(j.Run.Seconds())})
}

// pass tells the book what runs, when that is due. It reports whether forecasts may have changed.
func (f *forecasts) pass(now time.Time) bool {
	if f.oracle || !f.book.Due(now) {
		return false
	}
	all := make([]predict.Live, 0, len(f.running))
	for _, id := range slices.Sorted(maps.Keys(f.running)) {
		l := f.running[id]
		l.Lasts = now.Sub(l.Start)
		all = append(all, l)
	}
	f.book.Pass(now, all)
	return f.given == nil
}
