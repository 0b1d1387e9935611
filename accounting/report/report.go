// Package report makes reports of the ledger's sums: [Make] gives a [Table], which is printed as text, CSV, JSON or a page. It is pure.
package report

import (
	"math"
	"strings"
	"time"

	"fsub/accounting/ledger"
)

// Line is a sum of the ledger.
type Line struct {
	Period string   // "2026-11-22", "2026-11", or ""
	Values []string // of the dimensions of the report
	Fate   string
	ledger.Sums
}

// Form is how a number is written.
type Form string

const (
	Text    Form = "text"
	Count   Form = "count"
	Hours   Form = "hours"
	Money   Form = "dollars"
	Percent Form = "percent"
	Span    Form = "seconds"
	Amount  Form = "amount" // in a unit that a key of its row names
)

// Column is one of a table. Its numbers are in the unit that its form names.
type Column struct {
	Name string `json:"name"`
	Form Form   `json:"form"`
}

// Value is a number of a table; NaN is none.
type Value = float64

// Row is one line: what it is about, and its numbers.
type Row struct {
	Keys    []string `json:"keys"`
	Numbers []Value  `json:"numbers"`
}

// Table is a report. Keys are the names of the rows' keys. Total is of all rows.
type Table struct {
	Title string
	Span  string
	// Federation is whose report it is; "": not said. From and Until are the first day and the one after the last; zero: the table is not of days.
	Federation  string
	From, Until time.Time
	Keys        []string
	Columns     []Column
	Rows        []Row
	Total       Row
	Notes       []string
	Open        string // says how much of it runs are that have not ended; "": there are none, or they do not count
	// Stacked: the columns from the second on are parts of a whole, for a chart.
	Stacked bool
	// Drawn are the columns of a chart, side by side; none: the first that says anything. Named is how many keys name a row there; 0: all.
	Drawn []int
	Named int
}

// Query says what a report is to be of.
type Query struct {
	Kind        string
	By          []string
	Every       string // "", day, week or month
	From, Until time.Time
	Now         time.Time
	Running     bool // runs that go on are among the lines
}

// kind is a report: its columns, and their numbers for what one row sums up.
type kind struct {
	title   string
	columns []Column
	numbers func(s *sums, all *sums) []Value
	notes   []string
	stacked bool
	running bool // it may tell of runs that go on
	drawn   []int
	needs   []string // which sums its numbers are made of: see [ledger.SumNames]
}

// Nothing is what a report of no rows says.
const Nothing = "No run that ended in this time is in it."

// Kinds are the names of all reports.
var Kinds = []string{"usage", "cost", "efficiency", "wait", "fairness", "goodput", "forecast", "savings"}

func hours(seconds int64) Value { return float64(seconds) / 3600 }

func part(a, b float64) Value {
	if b == 0 {
		return math.NaN()
	}
	return 100 * a / b
}

func mean(a, b float64) Value {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

func words(text string) []string { return strings.Fields(text) }

const withoutJobs = "Rented machines count without a job too, on the account of the job that they had last, or waited for: goodput tells how much that is."

var kinds = map[string]*kind{
	"usage": {running: true, needs: words("gpu cpu node mem runs amount"), title: "Usage", columns: []Column{{"gpu_hours", Hours}, {"cpu_hours", Hours}, {"node_hours", Hours}, {"mem_gib_hours", Hours}, {"runs", Count}},
		numbers: func(s, _ *sums) []Value {
			return []Value{hours(s.GPU), hours(s.CPU), hours(s.Node), hours(s.Mem) / 1024, float64(s.Runs)}
		},
		notes: []string{withoutJobs}},
	"cost": {running: true, needs: words("amount gpu runs"), title: "Cost", columns: []Column{{"cost", Money}, {"share", Percent}, {"gpu_hours", Hours}, {"per_gpu_hour", Money}, {"runs", Count}},
		numbers: func(s, all *sums) []Value {
			return []Value{s.Amount.Dollars(), part(s.Amount.Dollars(), all.Amount.Dollars()), hours(s.GPU), mean(s.Amount.Dollars(), hours(s.GPU)), float64(s.Runs)}
		},
		notes: []string{withoutJobs}},
	"efficiency": {needs: words("gpu_used gpu_of cpu_used cpu_of limit_by limit_of cpu gpu"), title: "Efficiency", columns: []Column{{"gpu_used", Percent}, {"cpu_used", Percent}, {"time_limit_used", Percent}, {"cpu_measured", Percent}, {"gpu_measured", Percent}, {"gpu_hours", Hours}, {"cpu_hours", Hours}},
		numbers: func(s, _ *sums) []Value {
			return []Value{part(float64(s.GPUUsed), float64(s.GPUOf)), part(float64(s.CPUUsed), float64(s.CPUOf)), part(float64(s.LimitBy), float64(s.LimitOf)),
				part(float64(s.CPUOf), float64(s.CPU)), part(float64(s.GPUOf), float64(s.GPU)), hours(s.GPU), hours(s.CPU)}
		},
		notes: []string{"Used is of the runs of which it was measured; measured says how much of the allocated time those are."}},
	"wait": {needs: words("waited runs wait0 wait1 wait2 wait3 wait4 wait5 wait6"), title: "Waiting", columns: []Column{{"mean_wait", Span}, {"half_within", Span}, {"nine_tenths_within", Span}, {"runs", Count}},
		numbers: func(s, _ *sums) []Value {
			m := mean(float64(s.Waited), float64(s.Runs))
			return []Value{m, within(&s.Sums, m, 0.5), within(&s.Sums, m, 0.9), float64(s.Runs)}
		},
		notes: []string{"Waiting is from when a job could have started until it did. Within is an upper bound: that of a class (1 and 10 minutes, 1, 6 and 24 hours, 7 days), or less where the mean says so: " +
			"half of all waits are no longer than twice the mean, nine tenths no longer than ten times."}},
	"fairness": {needs: words("gpu cpu amount runs waited"), title: "Fairness", columns: []Column{{"gpu_share", Percent}, {"cpu_share", Percent}, {"cost_share", Percent}, {"run_share", Percent}, {"mean_wait", Span}},
		numbers: func(s, all *sums) []Value {
			return []Value{part(float64(s.GPU), float64(all.GPU)), part(float64(s.CPU), float64(all.CPU)), part(float64(s.Amount), float64(all.Amount)), part(float64(s.Runs), float64(all.Runs)),
				mean(float64(s.Waited), float64(s.Runs))}
		}},
	"goodput": {running: true, needs: words("gpu cpu runs amount"), title: "Goodput", stacked: true, columns: goodputColumns(),
		numbers: func(s, all *sums) []Value {
			paid, total := s.gpus, 0.0
			if all.GPU == 0 {
				paid = s.cpus
			}
			for _, p := range paid {
				total += p
			}
			out := []Value{total}
			for i := range ledger.Fates {
				out = append(out, part(paid[i], total))
			}
			return out
		},
		notes: []string{"Of 100 GPU hours that were paid: productive are those of runs that completed. Stopped runs hit their limit or were cancelled: what they had saved counts, and nobody tells how much that is. " +
			"Lost work is to be done again from the last checkpoint on; all of the run counts as lost here.",
			"Where nobody held GPUs the hours are those of CPUs."}},
	"forecast": {needs: words("amount"), title: "Forecast", drawn: []int{0, 2}, columns: []Column{{"so_far", Money}, {"a_day", Money}, {"at_end_of_month", Money}, {"at_least", Money}, {"at_most", Money}},
		notes: []string{"The average cost of a whole day in the last four weeks is added for each day that is left of the month. At least and at most leave room for twice the standard deviation of days."}},
	"savings": {needs: words("amount dearest list first"), title: "Savings", drawn: []int{0, 1, 2, 3}, columns: []Column{{"as_run", Money}, {"dearest_pool", Money}, {"list_price", Money}, {"first_fit", Money}, {"saved_to_dearest", Money}, {"saved_to_first_fit", Money}},
		numbers: func(s, _ *sums) []Value {
			a, d, l, f := s.Amount.Dollars(), s.Dearest.Dollars(), s.List.Dollars(), s.First.Dollars()
			return []Value{a, d, l, f, d - a, f - a}
		},
		notes: []string{"The same runs at the dearest pool that could run them, at the list price of the pool that ran them, and at the first pool in order of names that would have started them at once. " +
			"It is calculated from the offers that placement weighed, with the run's own time, longer where the pool is slower. Where offers are not known (jobs that were submitted at a site itself, jobs that were " +
			"deleted before they were booked) it is what was paid."}},
}

func goodputColumns() []Column {
	out := []Column{{"hours", Hours}}
	for _, f := range ledger.Fates {
		out = append(out, Column{f, Percent})
	}
	return out
}

// within is a time within which a part of the runs had started: the bound of a class, which is infinite for the last one, or what their mean bounds (Markov's inequality), whichever is less.
func within(s *ledger.Sums, mean, of float64) Value {
	sum, runs := int64(0), int64(0)
	for _, n := range s.Waits {
		runs += n
	}
	if runs == 0 {
		return math.NaN()
	}
	for i, n := range s.Waits[:ledger.Buckets-1] {
		if sum += n; float64(sum) >= of*float64(runs) {
			return min(float64(ledger.WaitBounds[i]), mean/(1-of))
		}
	}
	return mean / (1 - of)
}

// Make makes a report of lines.
func Make(q Query, lines []Line) (*Table, error) {
	m, err := NewMaker(q)
	if err != nil {
		return nil, err
	}
	for i := range lines {
		m.Add(&lines[i])
	}
	return m.Table(), nil
}

// PeriodOf is the period that a day is in: the day, the Monday of its week, or its month.
func PeriodOf(every string, d time.Time) string {
	switch every {
	case "week":
		d = d.AddDate(0, 0, -(int(d.Weekday())+6)%7)
	case "month":
		return d.Format("2006-01")
	}
	return d.Format(time.DateOnly)
}

// period is the period of a line.
func period(every, text string) string {
	d, err := time.Parse(time.DateOnly, text)
	if every != "week" || err != nil {
		return text
	}
	return PeriodOf(every, d)
}

// lookBack is how many days a forecast stands on at most.
const lookBack = 28

// daysKnown is how many whole days before now there are books of, up to lookBack.
func daysKnown(days map[string]float64, now time.Time) int {
	for d := lookBack; d > 0; d-- {
		until := now.UTC().AddDate(0, 0, -d).Format(time.DateOnly)
		for day := range days {
			if day <= until {
				return d
			}
		}
	}
	return 0
}

// forecast is what this month will have come to, where so many days before it are known. The lines are of days. What nothing is known of is NaN: of no day the average, of one how far
// days differ.
func forecast(s *sums, known int, now time.Time) []Value {
	now = now.UTC()
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	soFar, sum, squares := 0.0, 0.0, 0.0
	for d := range known { // whole days
		v := s.days[now.AddDate(0, 0, -1-d).Format(time.DateOnly)]
		sum, squares = sum+v, squares+v*v
	}
	for text, v := range s.days {
		if text >= first.Format(time.DateOnly) {
			soFar += v
		}
	}
	if known == 0 {
		return []Value{soFar, math.NaN(), math.NaN(), soFar, math.NaN()}
	}
	n := float64(known)
	daily := sum / n
	left := first.AddDate(0, 1, 0).Sub(now).Hours() / 24
	at := soFar + daily*left
	if known == 1 {
		return []Value{soFar, daily, at, soFar, math.NaN()}
	}
	spread := 2 * math.Sqrt(max(0, squares/n-daily*daily)) * math.Sqrt(left)
	return []Value{soFar, daily, at, max(soFar, at-spread), at + spread}
}

// jain is Jain's index of fairness of a column.
func jain(rows []Row, column int) float64 {
	sum, squares := 0.0, 0.0
	for _, r := range rows {
		v := zero(r.Numbers[column])
		sum, squares = sum+v, squares+v*v
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(rows)) * squares)
}
