package accounts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/accounting"
)

// BudgetPeriods are those that a budget may be for, in UTC; a week begins on Monday.
var BudgetPeriods = []string{"day", "week", "month", "quarter", "year"}

// Budget is what an account, a user or a QOS may use or spend in a period. What was used counts on the day on which its run has ended.
type Budget struct {
	Period   string
	Money    accounting.Money // -1: no bound
	TRESMins accounting.TRES  // minutes
}

// Budgets are what is set as Budget and BudgetTRESMins.
func (r *Record) Budgets() (out []Budget) {
	if amount, period, ok := cutPeriod(r.Set["Budget"]); ok {
		if m, err := accounting.ParseMoney(amount); err == nil {
			out = append(out, Budget{Period: period, Money: m})
		}
	}
	if amount, period, ok := cutPeriod(r.Set["BudgetTRESMins"]); ok {
		if t, err := accounting.ParseTRES(amount); err == nil {
			out = append(out, Budget{Period: period, Money: -1, TRESMins: t})
		}
	}
	return out
}

// cutPeriod splits "1000/month".
func cutPeriod(value string) (amount, period string, ok bool) {
	i := strings.LastIndexByte(value, '/')
	if i <= 0 || !slices.Contains(BudgetPeriods, value[i+1:]) {
		return "", "", false
	}
	return value[:i], value[i+1:], true
}

// readBudget checks a new value.
func readBudget(o *Option, value string) (string, error) {
	amount, period, ok := cutPeriod(value)
	if ok && o.form == money {
		if m, err := accounting.ParseMoney(strings.TrimPrefix(amount, "$")); err == nil && m >= 0 {
			return m.String() + "/" + period, nil
		}
	} else if ok {
		if t, err := mergeTRES(o.Name, "", amount); err == nil {
			return t + "/" + period, nil
		}
	}
	example := map[form]string{money: "1000/month, in dollars", tresOver: "gres/gpu=60000/month, in minutes"}[o.form]
	return "", fmt.Errorf("invalid value %q of %s: want an amount for a day, week, month, quarter or year, as in %s", value, o.Name, example)
}

// Start is when the period that now is in has begun.
func (b *Budget) Start(now time.Time) time.Time {
	y, m, d := now.UTC().Date()
	switch b.Period {
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
func (b *Budget) End(now time.Time) time.Time {
	from := b.Start(now)
	switch b.Period {
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
