package v1

import (
	"strconv"
	"time"

	"fsub/accounting/ledger"
	"fsub/accounting/report"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/sbatch/bounded"
)

// BookedSum is one line of the ledger's sums: what the runs of one value of each chosen dimension came to in one period. Numbers that are
// 0 are left out.
type BookedSum struct {
	Period string   `json:"period,omitempty"` // the UTC day, "2026-11-22", or month, "2026-11"
	Values []string `json:"values,omitempty"` // of the dimensions that were asked for, in their order
	Fate   string   `json:"fate"`             // what became of it: see docs/books.md
	Runs   int64    `json:"runs,omitempty"`   // that ended
	// Seconds of TRES that were allocated; memory in MiB-seconds.
	CPUSeconds     int64 `json:"cpu_seconds,omitempty"`
	MemSeconds     int64 `json:"mem_seconds,omitempty"`
	NodeSeconds    int64 `json:"node_seconds,omitempty"`
	GPUSeconds     int64 `json:"gpu_seconds,omitempty"`
	BillingSeconds int64 `json:"billing_seconds,omitempty"`
	WallSeconds    int64 `json:"wall_seconds,omitempty"`
	// What it came to, and what it would have come to in the dearest pool, at list price and in the first pool.
	Amount  federation.Money `json:"amount,omitzero"`
	Dearest federation.Money `json:"dearest,omitzero"`
	List    federation.Money `json:"list,omitzero"`
	First   federation.Money `json:"first,omitzero"`

	WaitSeconds int64   `json:"wait_seconds,omitempty"` // of all runs
	Waits       []int64 `json:"waits,omitempty"`        // runs that waited up to 1 and 10 minutes, 1, 6 and 24 hours, 7 days, longer
	// Used and Of: what was used of what was allocated, of those runs of which it was measured.
	CPUUsed int64 `json:"cpu_used,omitempty"`
	CPUOf   int64 `json:"cpu_of,omitempty"`
	GPUUsed int64 `json:"gpu_used,omitempty"`
	GPUOf   int64 `json:"gpu_of,omitempty"`
	LimitOf int64 `json:"limit_of,omitempty"` // seconds of time limits
	LimitBy int64 `json:"limit_by,omitempty"` // seconds that those runs took
}

// Sums are the numbers of s.
func (s *BookedSum) Sums() ledger.Sums {
	out := ledger.Sums{Runs: s.Runs, CPU: s.CPUSeconds, Mem: s.MemSeconds, Node: s.NodeSeconds, GPU: s.GPUSeconds, Billing: s.BillingSeconds, Wall: s.WallSeconds,
		Amount: s.Amount, Dearest: s.Dearest, List: s.List, First: s.First, Waited: s.WaitSeconds, CPUUsed: s.CPUUsed, CPUOf: s.CPUOf, GPUUsed: s.GPUUsed, GPUOf: s.GPUOf,
		LimitOf: s.LimitOf, LimitBy: s.LimitBy}
	copy(out.Waits[:], s.Waits)
	return out
}

// Line is s as a report takes it.
func (s *BookedSum) Line() report.Line {
	return report.Line{Period: s.Period, Values: s.Values, Fate: s.Fate, Sums: s.Sums()}
}

// BookedSumOf writes sums.
func BookedSumOf(s *ledger.Sums) BookedSum {
	out := BookedSum{Runs: s.Runs, CPUSeconds: s.CPU, MemSeconds: s.Mem, NodeSeconds: s.Node, GPUSeconds: s.GPU, BillingSeconds: s.Billing, WallSeconds: s.Wall,
		Amount: s.Amount, Dearest: s.Dearest, List: s.List, First: s.First, WaitSeconds: s.Waited, CPUUsed: s.CPUUsed, CPUOf: s.CPUOf,
		GPUUsed: s.GPUUsed, GPUOf: s.GPUOf, LimitOf: s.LimitOf, LimitBy: s.LimitBy}
	if s.Waits != [ledger.Buckets]int64{} {
		out.Waits = s.Waits[:]
	}
	return out
}

// Budget is how a budget of the account tree stands in its present period.
type Budget struct {
	Kind     accounts.Kind `json:"kind"`              // account, user or qos
	Account  string        `json:"account,omitempty"` // of a user
	Name     string        `json:"name"`
	TRES     string        `json:"tres,omitempty"` // not set: amounts are dollars; else minutes of it
	Period   string        `json:"period"`         // day, week, month, quarter or year
	Since    time.Time     `json:"since"`
	Until    time.Time     `json:"until"`
	Limit    float64       `json:"limit"`
	Used     float64       `json:"used"`     // in the period, by what is booked
	Running  float64       `json:"running"`  // what the others have come to so far
	Reserved float64       `json:"reserved"` // the most that live jobs may come to
	Daily    float64       `json:"daily"`    // what a day of the last four weeks came to
	// Closed tells at which sites the account is closed because a budget of it is used up: BudgetClose.
	Closed []string `json:"closed,omitempty"`
}

// Report is b as a report has it.
func (b *Budget) Report() report.Budget {
	of, unit := string(b.Kind)+" "+b.Name, "dollars"
	if b.Kind == accounts.User {
		of = accounts.UserKey(b.Account, b.Name).String()
	}
	if b.TRES != "" {
		unit = b.TRES + " minutes"
	}
	return report.Budget{Of: of, Unit: unit, Period: b.Period, Since: b.Since, Until: b.Until, Limit: b.Limit, Used: b.Used, Running: b.Running, Reserved: b.Reserved, Daily: b.Daily, Closed: b.Closed}
}

// BooksCheck is what the ledger and a site's own accounting say of some UTC days.
type BooksCheck struct {
	Site  federation.SiteName `json:"site"`
	From  string              `json:"from"`  // the first day
	Until string              `json:"until"` // the day after the last
	Error string              `json:"error,omitempty"`
	// Skipped is why there is nothing to compare: a site of rented machines keeps no accounts of its own.
	Skipped string `json:"skipped,omitempty"`
	Runs    int    `json:"runs"` // that have ended, by the site's accounting
	Live    int    `json:"live"` // that have not: they are booked when they end
	// OtherAccount is how many of the runs the site has under another account than the one that pays for them. They are compared on that one.
	OtherAccount int `json:"other_account,omitempty"`
	// Figures are associations by TRES that were compared with the site's accounting, ReportFigures those with its sreport.
	Figures       int    `json:"figures"`
	ReportFigures int    `json:"report_figures"`
	Report        string `json:"report,omitempty"` // compared, or why not; "": no report_command is configured
	// Differences are all that is not the same.
	Differences []BooksDifference `json:"differences"`
}

// BooksDifference is a figure that is not the same in the ledger and at the site, or a run that explains one.
type BooksDifference struct {
	With    string `json:"with"` // sacct or sreport
	Account string `json:"account,omitempty"`
	User    string `json:"user,omitempty"`
	TRES    string `json:"tres,omitempty"`
	Ours    int64  `json:"ours"`
	Theirs  int64  `json:"theirs"`
	Why     string `json:"why,omitempty"`
}

// ImportBill is what a provider bills for a site in one billing period.
type ImportBill struct {
	Site   federation.SiteName                    `json:"site"`
	From   string                                 `json:"from"`  // the period's first UTC day
	Until  string                                 `json:"until"` // the day after its last
	Told   int64                                  `json:"told"`  // seconds since 1970: until when it tells of usage
	Closed bool                                   `json:"closed,omitempty"`
	Reopen bool                                   `json:"reopen,omitempty"` // the period may be closed already
	Format string                                 `json:"format"`
	Rows   int                                    `json:"rows"`
	Lines  bounded.Slice[BillLine, bounded.Named] `json:"lines"`
}

// BillLine is what is billed for a day.
type BillLine struct {
	Day     string           `json:"day"`
	Service string           `json:"service,omitempty"` // "": the machines of the site's pools
	Amount  federation.Money `json:"amount"`
}

// Bill is a bill that was imported, and what the ledger had estimated.
type Bill struct {
	Site     federation.SiteName `json:"site"`
	From     string              `json:"from"`
	Until    string              `json:"until"`
	Closed   bool                `json:"closed"`
	Format   string              `json:"format"`
	Rows     int                 `json:"rows"`
	By       string              `json:"by"`
	At       int64               `json:"at"`
	Machines federation.Money    `json:"machines"` // billed for the machines of the site's pools
	Others   federation.Money    `json:"others"`   // for other services
	// The days before SettledUntil are billed in full: what was billed for their machines, and what the ledger had estimated.
	SettledUntil string           `json:"settled_until"`
	Billed       federation.Money `json:"billed"`
	Estimated    federation.Money `json:"estimated"`
}

// Bills are the bills of providers.
var Bills = Noun[Bill, None]{
	Key:  func(x *Bill) string { return key(x.Site, x.From, x.Until) },
	Path: "/fed/v1/books/bills", Who: ForOperators, Doc: "The bills of providers that were imported, beside what the ledger had estimated",
	Columns: []Column[Bill]{
		{"SITE", func(x *Bill) string { return string(x.Site) }},
		{"PERIOD", func(x *Bill) string { return x.From + " to " + x.Until }},
		{"FORMAT", func(x *Bill) string { return x.Format }},
		{"STATE", func(x *Bill) string { return x.state() }},
		{"ROWS", func(x *Bill) string { return strconv.Itoa(x.Rows) }},
		{"MACHINES", func(x *Bill) string { return x.Machines.USD() }},
		{"OTHERS", func(x *Bill) string { return x.Others.USD() }},
		{"SETTLED", func(x *Bill) string { return x.settled() }},
		{"BILLED", func(x *Bill) string { return x.Billed.USD() }},
		{"ESTIMATED", func(x *Bill) string { return x.Estimated.USD() }},
		{"DIFFERENCE", func(x *Bill) string { return (x.Billed - x.Estimated).USD() }},
	},
}

func (b *Bill) state() string {
	if b.Closed {
		return "closed"
	}
	return "open"
}

func (b *Bill) settled() string {
	if b.SettledUntil <= b.From {
		return ""
	}
	return "until " + b.SettledUntil
}

// Budgets are the budgets of the account tree.
var Budgets = Noun[Budget, None]{Key: func(x *Budget) string { return key(x.Kind, x.Account, x.Name, x.TRES, x.Period) }, Path: "/fed/v1/books/budgets", Who: ForAnybody, Doc: "How the budgets of the account tree stand. Users see their own and those of their accounts, coordinators those of theirs"}
