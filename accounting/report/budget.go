package report

import (
	"math"
	"slices"
	"time"
)

// Budget is how a budget stands in its present period. Amounts are dollars, or minutes of a TRES.
type Budget struct {
	Of, Unit     string // whose it is, "account physics"; dollars, or "gres/gpu minutes"
	Period       string // "month"
	Since, Until time.Time

	Limit, Used, Running, Reserved, Daily float64

	Closed []string // sentences: where the account is closed
}

var budgetColumns = []Column{{"used_percent", Percent}, {"used", Amount}, {"running", Amount}, {"reserved", Amount}, {"left", Amount}, {"limit", Amount}, {"at_end", Amount}, {"lasts_days", Amount}}

// NoBudgets is what is to be known of a report without any.
const NoBudgets = "No budget is set, or none that you may see. Operators set one with: fed account modify NAME Budget=1000/month"

// Budgets is a report of budgets, in their order.
func Budgets(now time.Time, all []Budget) *Table {
	now = now.UTC()
	t := &Table{Title: "Budgets", Span: now.Format("2006-01-02 15:04 UTC"), Named: 2, Keys: []string{"budget", "unit", "period", "since"}, Columns: budgetColumns,
		Notes: []string{"Used is what the books have of the period, running the cost of the runs that go on so far. Reserved is the most that live jobs may cost: a job starts only if it fits into what is left.",
			"At end adds the average day of the last four weeks for each day that is left of the period; lasts says how many days the rest is good for at that pace. " +
				"Jobs that were submitted at a site itself count, and what rented machines cost without a job; not with BudgetCounts=own: then the federation's own runs count, on the day of their end."}}
	for _, b := range all {
		sum := b.Used + b.Running
		percent, lasts := 100.0, math.NaN()
		if b.Limit > 0 {
			percent = 100 * sum / b.Limit
		}
		if b.Daily > 0 {
			lasts = max(0, b.Limit-sum) / b.Daily
		}
		t.Rows = append(t.Rows, Row{Keys: []string{b.Of, b.Unit, b.Period, b.Since.Format(time.DateOnly)},
			Numbers: []Value{percent, b.Used, b.Running, b.Reserved, max(0, b.Limit-b.Used-b.Reserved), b.Limit, sum + b.Daily*max(0, b.Until.Sub(now).Hours()/24), lasts}})
	}
	for _, b := range all {
		for _, text := range b.Closed {
			if !slices.Contains(t.Notes, text) {
				t.Notes = append(t.Notes, text)
			}
		}
	}
	if len(all) == 0 {
		t.Notes = []string{NoBudgets}
	}
	return t
}
