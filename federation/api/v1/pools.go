package v1

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/reasons"
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
	What   string         `json:"what"`
	Reason reasons.Reason `json:"reason"`
	Detail string         `json:"detail,omitempty"`
	Until  time.Time      `json:"until"`
}

// PoolOf is the answer for a pool.
func PoolOf(s *driver.PoolStatus) Pool {
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
	Limit int                 `query:"limit" min:"1" doc:"maximum number of machines in a page"`
	Sort  string              `query:"sort" enum:"created,-created,cost,-cost,state,-state,pool,-pool" doc:"the order of a page; without it -created, the newest first"`
}

// Pools are the pools of all sites.
var Pools = Noun[Pool, None]{
	Key:  func(x *Pool) string { return key(x.Site, x.Name) },
	Path: "/fed/v1/pools", Who: ForOperators, Doc: "How the pools of rented machines stand",
	Columns: []Column[Pool]{
		{"SITE", func(x *Pool) string { return string(x.Site) }},
		{"POOL", func(x *Pool) string { return x.Name }},
		{"STARTING", func(x *Pool) string { return strconv.Itoa(x.Starting) }},
		{"IDLE", func(x *Pool) string { return strconv.Itoa(x.Idle) }},
		{"BUSY", func(x *Pool) string { return strconv.Itoa(x.Busy) }},
		{"ENDING", func(x *Pool) string { return strconv.Itoa(x.Ending) }},
		{"MAX", func(x *Pool) string { return strconv.Itoa(x.Max) }},
		{"WAITING", func(x *Pool) string { return strconv.Itoa(x.Waiting) }},
		{"$/H", func(x *Pool) string { return accounting.Bare(x.PricePerHour.Rate()) }},
		{"TODAY", func(x *Pool) string { return x.Today.USD() }},
		{"MONTH", func(x *Pool) string { return x.Month.USD() }},
		{"BUDGET", func(x *Pool) string { return x.budgets() }},
		{"NOTE", func(x *Pool) string { return oneLine(x.notes()) }},
	},
}

// Machines are the rented machines of all sites.
var Machines = Noun[Machine, MachineQuery]{
	Key: func(x *Machine) string { return key(string(x.Site), x.ID) },
	Orders: map[string]func(*Machine) string{
		"created": func(x *Machine) string { return numberKey(x.Created.UnixNano()) },
		"cost":    func(x *Machine) string { return numberKey(int64(x.Cost)) },
		"state":   func(x *Machine) string { return x.State },
		"pool":    func(x *Machine) string { return key(string(x.Site), x.Pool) },
	},
	Usual: "-created", Logged: true,
	Path: "/fed/v1/machines", Who: ForOperators, Doc: "Rented machines, the newest first",
	Columns: []Column[Machine]{
		{"SITE", func(x *Machine) string { return string(x.Site) }},
		{"POOL", func(x *Machine) string { return x.Pool }},
		{"MACHINE", func(x *Machine) string { return x.ID }},
		{"NODE", func(x *Machine) string { return x.Name }},
		{"INSTANCE", func(x *Machine) string { return x.Instance }},
		{"OFFERING", func(x *Machine) string { return x.Offering }},
		{"STATE", func(x *Machine) string { return x.State }},
		{"SINCE", func(x *Machine) string { return moment(x.Created) }},
		{"ENDED", func(x *Machine) string { return moment(x.Ended) }},
		{"JOB", func(x *Machine) string { return TaskName(x.Job, x.Array, x.Task) }},
		{"$/H", func(x *Machine) string { return accounting.Bare(x.PricePerHour.Rate()) }},
		{"COST", func(x *Machine) string { return x.Cost.USD() }},
		{"IDLE", func(x *Machine) string { return x.IdleCost.USD() }},
		{"WHY", func(x *Machine) string { return oneLine(x.Why) }},
	},
}

// budgets are the bounds of what the pool may spend.
func (p *Pool) budgets() string {
	var texts []string
	if p.Daily > 0 {
		texts = append(texts, p.Daily.USD()+"/day")
	}
	if p.Monthly > 0 {
		texts = append(texts, p.Monthly.USD()+"/month")
	}
	return strings.Join(texts, ",")
}

// notes say why a pool starts no machines, or not all types, and what else an operator should know.
func (p *Pool) notes() string {
	var notes []string
	if p.Stopped != "" {
		notes = append(notes, p.Stopped)
	}
	if p.BoundToday > 0 {
		notes = append(notes, p.BoundToday.USD()+" of today's budget bound by running jobs")
	}
	if p.BoundMonth > 0 {
		notes = append(notes, p.BoundMonth.USD()+" of this month's bound by running jobs")
	}
	for _, c := range p.Cooling {
		notes = append(notes, fmt.Sprintf("%s: %s until %s", c.What, c.Reason, c.Until.Local().Format("15:04:05")))
	}
	if p.Note != "" {
		notes = append(notes, p.Note)
	}
	return strings.Join(notes, "; ")
}

// TaskName is a job as squeue names it: a task of an array by its index.
func TaskName(job, array federation.JobID, task *int) string {
	switch {
	case task != nil:
		return fmt.Sprintf("%d_%d", array, *task)
	case job != 0:
		return job.String()
	}
	return ""
}
