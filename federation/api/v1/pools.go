package v1

import (
	"time"

	"fsub/federation"
)

// Pool is how a pool of rented machines stands: GET /fed/v1/pools, for operators.
type Pool struct {
	Site         federation.SiteName `json:"site"`
	Name         string              `json:"name"` // also of its partition
	Min          int                 `json:"min"`  // machines that are kept though idle
	Max          int                 `json:"max"`  // that there may be at one time
	Starting     int                 `json:"starting"`
	Idle         int                 `json:"idle"`
	Busy         int                 `json:"busy"`
	Ending       int                 `json:"ending"`
	Waiting      int                 `json:"waiting"` // jobs that wait for machines there
	PricePerHour federation.Money    `json:"price_per_hour"`
	Today        federation.Money    `json:"today"` // spent since the day began, by UTC
	Month        federation.Money    `json:"month"`
	Daily        federation.Money    `json:"daily_budget,omitempty"` // 0: no bound
	Monthly      federation.Money    `json:"monthly_budget,omitempty"`
	BoundToday   federation.Money    `json:"bound_today,omitempty"` // of the daily budget, by what runs, until the time limits
	BoundMonth   federation.Money    `json:"bound_month,omitempty"`
	Stopped      string              `json:"stopped,omitempty"` // why no machine is started
	Note         string              `json:"note,omitempty"`    // on its machines
	Cooling      []Cooling           `json:"cooling,omitempty"`
}

// Cooling is what a provider has refused and is not asked for until some time.
type Cooling struct {
	What   string            `json:"what"`
	Reason federation.Reason `json:"reason"`
	Detail string            `json:"detail,omitempty"`
	Until  time.Time         `json:"until"`
}

// PoolOf is the answer for a pool.
func PoolOf(s *federation.PoolStatus) Pool {
	p := Pool{Site: s.Site, Name: s.Name, Min: s.Min, Max: s.Max, Starting: s.Starting, Idle: s.Idle, Busy: s.Busy, Ending: s.Ending, Waiting: s.Waiting,
		PricePerHour: s.PricePerHour, Today: s.Today, Month: s.Month, Daily: s.Daily, Monthly: s.Monthly, BoundToday: s.BoundToday, BoundMonth: s.BoundMonth, Stopped: s.Stopped, Note: s.Note}
	for _, c := range s.Cooling {
		p.Cooling = append(p.Cooling, Cooling(c))
	}
	return p
}

// Machine is a rented machine as the books have it: GET /fed/v1/machines, for operators, with the newest first.
type Machine struct {
	Site         federation.SiteName `json:"site"`
	Pool         string              `json:"pool"`
	ID           string              `json:"id"`
	Name         string              `json:"name"` // of its node
	Instance     string              `json:"instance,omitempty"`
	Offering     string              `json:"offering"`
	Market       string              `json:"market,omitempty"`
	CPUs         int                 `json:"cpus,omitempty"` // 0: not known
	GPUs         int                 `json:"gpus,omitempty"`
	GPUType      string              `json:"gpu_type,omitempty"` // "": not known
	Stray        bool                `json:"stray,omitempty"`    // nobody had asked for it any more: it was ended when it was found
	State        string              `json:"state"`              // starting, idle, busy, ending, ended
	PricePerHour federation.Money    `json:"price_per_hour"`
	Job          federation.JobID    `json:"job,omitempty"`           // that it runs or has run last
	Array        federation.JobID    `json:"array_job_id,omitempty"`  // of a job that is a task of an array
	Task         *int                `json:"array_task_id,omitempty"` // its index in that
	Created      time.Time           `json:"created"`
	Ready        time.Time           `json:"ready,omitzero"`
	Ended        time.Time           `json:"ended,omitzero"`
	Cost         federation.Money    `json:"cost"` // so far
	IdleCost     federation.Money    `json:"idle_cost"`
	GangWait     federation.Money    `json:"gang_wait"`     // while it was up and its job waited for other machines
	Drained      federation.Money    `json:"drained"`       // while it was drained and had no job
	Why          string              `json:"why,omitempty"` // it ended, or is to end
}

// MaxMachines is how many machines one answer has at most.
const MaxMachines = 10_000

// MachineQuery is which machines are listed.
type MachineQuery struct {
	Site  federation.SiteName `query:"site"`
	Since time.Time           `query:"since" doc:"seconds since 1970: those too that have ended since then"`
	Limit int                 `query:"limit" min:"1" doc:"how many at most"`
}

// Pools are the pools of all sites.
var Pools = Noun[Pool, None]{Path: "/fed/v1/pools", Who: ForOperators, Doc: "How the pools of rented machines stand"}

// Machines are the rented machines of all sites.
var Machines = Noun[Machine, MachineQuery]{Path: "/fed/v1/machines", Who: ForOperators, Doc: "Rented machines, the newest first"}
