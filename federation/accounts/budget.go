package accounts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/accounting"
)

// BudgetCounts is the option that says what counts for budgets: all that is in the books, jobs that were submitted at a site itself and idle time of rented machines
// too, or only what the federation's own runs cost.
const (
	BudgetCounts = "BudgetCounts"
	CountsAll    = "all"
	CountsOwn    = "own"
)

// BudgetClose is the option that names the sites at which an account, or a user's association, is closed while its budget is used up: "all" for all sites.
const (
	BudgetClose = "BudgetClose"
	CloseAll    = "all"
)

// BudgetPeriod is what a budget is for, in UTC; a week begins on Monday.
type BudgetPeriod string

// BudgetPeriods are all there are.
var BudgetPeriods = []BudgetPeriod{"day", "week", "month", "quarter", "year"}

// cutPeriod splits "1000/month".
func cutPeriod(value string) (amount string, period BudgetPeriod, ok bool) {
	i := strings.LastIndexByte(value, '/')
	if i <= 0 || !slices.Contains(BudgetPeriods, BudgetPeriod(value[i+1:])) {
		return "", "", false
	}
	return value[:i], BudgetPeriod(value[i+1:]), true
}

// readBudget checks a new value.
func readBudget(o *Option, value string) (string, error) {
	amount, period, ok := cutPeriod(value)
	if ok && o.form == money {
		if m, err := accounting.ParseMoney(strings.TrimPrefix(amount, "$")); err == nil && m >= 0 {
			return m.String() + "/" + string(period), nil
		}
	} else if ok {
		if t, err := mergeTRES(o.Name, "", amount); err == nil {
			return t + "/" + string(period), nil
		}
	}
	example := map[form]string{money: "1000/month, in dollars", tresOver: "gres/gpu=60000/month, in minutes"}[o.form]
	return "", fmt.Errorf("invalid value %q of %s: want an amount for a day, week, month, quarter or year, as in %s", value, o.Name, example)
}

// Start is when the period that now is in has begun.
func (p BudgetPeriod) Start(now time.Time) time.Time {
	y, m, d := now.UTC().Date()
	switch p {
	case "week":
		d -= (int(now.UTC().Weekday()) + 6) % 7
	case "month":
		d = 1
	case "quarter":
		m, d = m-(m-1)%3, 1
	case "year":
		m, d = 1, 1
	}
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// End is when the period that now is in will end.
func (p BudgetPeriod) End(now time.Time) time.Time {
	from := p.Start(now)
	switch p {
	case "day":
		return from.AddDate(0, 0, 1)
	case "week":
		return from.AddDate(0, 0, 7)
	case "month":
		return from.AddDate(0, 1, 0)
	case "quarter":
		return from.AddDate(0, 3, 0)
	}
	return from.AddDate(1, 0, 0)
}
