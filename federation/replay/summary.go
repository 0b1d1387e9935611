package replay

import (
	"math"
	"slices"
	"strings"
	"time"

	"fsub/federation/decision"
)

// Summary is the figures of a replay.
type Summary struct {
	Jobs          int              `json:"jobs"`
	Ended         int              `json:"ended"`
	MeanWait      time.Duration    `json:"mean_wait_ns"`
	WaitP50       time.Duration    `json:"wait_p50_ns"`
	WaitP90       time.Duration    `json:"wait_p90_ns"`
	WaitP99       time.Duration    `json:"wait_p99_ns"`
	MeanTime      time.Duration    `json:"mean_time_ns"` // from submission to end: the completion time
	SlowDown      float64          `json:"slow_down"`    // mean of the bounded slow-downs
	Accounts      []AccountFigures `json:"accounts"`
	Fairness      float64          `json:"fairness"`     // Jain's index of the accounts' mean slow-downs: 1 is alike for all
	GPUHours      float64          `json:"gpu_hours"`    // of the owned fleet
	RentedHours   float64          `json:"rented_hours"` // GPU-hours that were rented
	Utilisation   float64          `json:"utilisation"`  // of the owned GPUs, or CPUs where no job asks for GPUs, while jobs came
	Cost          decision.Dollars `json:"cost_usd"`
	Span          time.Duration    `json:"span_ns"`     // from the first submission to the last end
	PerPlan       time.Duration    `json:"per_plan_ns"` // of this machine's time
	Plans         int              `json:"plans"`
	UnstartedGPUs int              `json:"unstarted_gpus"` // that jobs ask for which have not ended
}

// AccountFigures are those of one account.
type AccountFigures struct {
	Account     string           `json:"account"`
	Jobs        int              `json:"jobs"`
	MeanWait    time.Duration    `json:"mean_wait_ns"`
	SlowDown    float64          `json:"slow_down"`
	SlowDownP99 float64          `json:"slow_down_p99"`
	GPUHours    float64          `json:"gpu_hours"`
	Cost        decision.Dollars `json:"cost_usd"`
}

// slowDown is how many times as long a job took as it ran. Runs of less than ten minutes count as ten minutes, as is usual (Feitelson's bounded slow-down).
func (o *Outcome) slowDown() float64 {
	run, took := o.End.Sub(o.Start).Seconds(), o.End.Sub(o.Submit).Seconds()
	return math.Max(1, took/math.Max(run, 600))
}

// LocalSummary adds up what became of local jobs.
func (r *Result) LocalSummary() Summary {
	local := *r
	local.Jobs = r.Local
	return local.Summary()
}

// Summary adds up a result. A job that has not ended counts in Jobs alone.
func (r *Result) Summary() Summary {
	s := Summary{Jobs: len(r.Jobs), Span: r.End.Sub(r.Begin), Plans: r.Plans}
	if r.Plans > 0 {
		s.PerPlan = r.Planner / time.Duration(r.Plans)
	}
	var waits []time.Duration
	var wait, took, slow float64
	accounts := map[string]*AccountFigures{}
	slows := map[string][]float64{}
	for i := range r.Jobs {
		o := &r.Jobs[i]
		if o.End.IsZero() {
			s.UnstartedGPUs += GPUs(o.Job)
			continue
		}
		s.Ended++
		w := o.Start.Sub(o.Submit)
		waits = append(waits, w)
		wait += w.Seconds()
		took += o.End.Sub(o.Submit).Seconds()
		slow += o.slowDown()
		hours := float64(o.GPUs) * o.End.Sub(o.Start).Hours()
		if o.Rented {
			s.RentedHours += hours
		} else {
			s.GPUHours += hours
		}
		s.Cost += o.Cost
		name := o.Job.Spec.Account
		if name == "" {
			name = o.Job.User
		}
		a := accounts[name]
		if a == nil {
			a = &AccountFigures{Account: name}
			accounts[name] = a
		}
		a.Jobs++
		a.MeanWait += w
		a.GPUHours += hours
		a.Cost += o.Cost
		slows[name] = append(slows[name], o.slowDown())
	}
	if s.Ended == 0 {
		return s
	}
	n := float64(s.Ended)
	seconds := func(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
	s.MeanWait, s.MeanTime, s.SlowDown = seconds(wait/n), seconds(took/n), slow/n
	slices.Sort(waits)
	s.WaitP50, s.WaitP90, s.WaitP99 = at(waits, .5), at(waits, .9), at(waits, .99)
	var sum, squares float64
	for name, a := range accounts {
		all := slows[name]
		slices.Sort(all)
		for _, x := range all {
			a.SlowDown += x / float64(len(all))
		}
		a.SlowDownP99 = at(all, .99)
		a.MeanWait /= time.Duration(a.Jobs)
		s.Accounts = append(s.Accounts, *a)
	}
	slices.SortFunc(s.Accounts, func(a, b AccountFigures) int {
		switch {
		case a.GPUHours != b.GPUHours && a.GPUHours > b.GPUHours:
			return -1
		case a.GPUHours != b.GPUHours:
			return 1
		}
		return strings.Compare(a.Account, b.Account)
	})
	for i := range s.Accounts {
		x := s.Accounts[i].SlowDown
		sum, squares = sum+x, squares+x*x
	}
	s.Fairness = sum * sum / (squares * float64(len(s.Accounts)))
	s.Utilisation = r.utilisation()
	return s
}

// WorstP99 is the highest p99 slow-down of an account with at least so many jobs, and whose it is.
func (s *Summary) WorstP99(jobs int) (worst float64, account string) {
	for i := range s.Accounts {
		if a := &s.Accounts[i]; a.Jobs >= jobs && a.SlowDownP99 > worst {
			worst, account = a.SlowDownP99, a.Account
		}
	}
	return worst, account
}

// OfGPUs reports whether it is GPUs that utilisation is about: some are owned, and jobs ask for some. Else it is CPUs.
func (r *Result) OfGPUs() bool {
	return r.GPUs > 0 && slices.ContainsFunc(r.Jobs, func(o Outcome) bool { return GPUs(o.Job) > 0 })
}

// utilisation is that of the owned GPUs, or of the CPUs where there are none or no job asks for any.
func (r *Result) utilisation() float64 {
	switch {
	case r.Hours == 0:
		return 0
	case r.OfGPUs():
		return r.GPUHours / r.Hours / float64(r.GPUs)
	}
	return r.CPUHours / r.Hours / float64(r.CPUs)
}

func at[T any](sorted []T, share float64) T {
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}
