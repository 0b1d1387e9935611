package place

import (
	"fsub/accounting/egress"
	"time"

	"fsub/federation/decision"
)

// Policy is what the operators of a federation may set about placement. A field that is zero or less takes its value from
// [DefaultPolicy], unless it says otherwise.
type Policy struct {
	// RunFraction is the share of its time limit that a job is expected to run. Users ask for about twice what they need.
	RunFraction float64
	// DefaultRun is how long a job without any time limit is expected to run.
	DefaultRun time.Duration

	// WaitJobHour and WaitGPUHour are what an hour of waiting is worth: per job, and per GPU that it asks for. A negative
	// value means nothing at all.
	WaitJobHour decision.Dollars
	WaitGPUHour decision.Dollars
	// WaitQOS multiplies both for the jobs of a QOS; 1 for one that is not in it.
	WaitQOS map[string]float64
	// FarWait is counted where nothing says when enough will be free.
	FarWait time.Duration
	// SwitchesWait is how long after its submission a job's --switches binds if it does not say so itself, as
	// Slurm's max_switch_wait.
	SwitchesWait time.Duration

	// LostWork is how much work a job loses at most when a rented node is taken from it: the time between two checkpoints.
	LostWork time.Duration
	// Store is by which results come home.
	Store egress.Store

	// Backlog is how many jobs of ours may wait at a site beyond what it can start now, where the site sets none. Where many of others wait, more may.
	// A negative value means none at all.
	Backlog int
	// BindAhead is how soon a pool must be able to start a job for that job to wait there and not in the federation's queue:
	// by the limits of what runs there, or because so many jobs run that enough of them are expected to end. Where others wait too it need not be soon.
	BindAhead time.Duration

	// MoveMargin is how many dollars it must save for a job that waits at a site to leave it for another one. A negative value: no job leaves.
	MoveMargin decision.Dollars

	// MaxLook and MaxBind bound the jobs that one plan looks at and binds.
	MaxLook, MaxBind int
	// Behind is how much a plan may work for jobs behind the first MaxLook, which may start on nodes that nobody before them wants: a job that is decided about by itself counts 1, as a
	// kind of jobs does in a chunk that is decided about as a whole; the first job of a kind counts [firstOfKind]; a job that no plan has looked at yet counts nothing. 0 beside
	// a MaxLook: it looks at none of them.
	Behind int
	// MaxOffers is how many offers a decision tells: the chosen one and the cheapest others. 0: all.
	MaxOffers int
	// Reservations is how many waiting jobs may hold nodes in time, in each pool.
	Reservations int
}

// DefaultPolicy is the policy of a federation that sets none.
func DefaultPolicy() Policy {
	return Policy{
		RunFraction:  0.5,
		DefaultRun:   24 * time.Hour,
		WaitJobHour:  0.20,
		WaitGPUHour:  1.60,
		FarWait:      7 * 24 * time.Hour,
		SwitchesWait: 5 * time.Minute,
		LostWork:     30 * time.Minute,
		Backlog:      8,
		BindAhead:    2 * time.Minute,
		MoveMargin:   0.10,
		MaxLook:      100_000,
		MaxBind:      100_000,
		Behind:       100_000,
		Reservations: 8,
	}
}

// Share is RunFraction or its default.
func (p Policy) Share() float64 { return p.withDefaults().RunFraction }

func (p Policy) withDefaults() Policy {
	d := DefaultPolicy()
	set(&p.RunFraction, d.RunFraction)
	set(&p.DefaultRun, d.DefaultRun)
	set(&p.FarWait, d.FarWait)
	set(&p.SwitchesWait, d.SwitchesWait)
	set(&p.LostWork, d.LostWork)
	set(&p.BindAhead, d.BindAhead)
	if p.MaxLook <= 0 {
		p.Behind = max(p.Behind, d.Behind)
	}
	set(&p.MaxLook, d.MaxLook)
	set(&p.MaxBind, d.MaxBind)
	set(&p.Reservations, d.Reservations)
	setOrNone(&p.WaitJobHour, d.WaitJobHour)
	setOrNone(&p.WaitGPUHour, d.WaitGPUHour)
	setOrNone(&p.Backlog, d.Backlog)
	if p.MoveMargin == 0 {
		p.MoveMargin = d.MoveMargin
	}
	return p
}

type number interface {
	~int | ~int64 | ~float64
}

func set[T number](v *T, normal T) {
	if *v <= 0 {
		*v = normal
	}
}

func setOrNone[T number](v *T, normal T) {
	switch {
	case *v == 0:
		*v = normal
	case *v < 0:
		*v = 0
	}
}
