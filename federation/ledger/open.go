package ledger

import (
	"slices"
	"strings"

	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/spending"
)

// OpenSums adds up runs that go on, as the ledger adds up those that have ended: each as it would be booked if it ended now, with the fate [ledger.Running]. sees says which of them are
// seen; nil: all.
func OpenSums(runs []spending.Run, q *ledger.SumQuery, sees func(user, account string) bool) []ledger.SumRow {
	type key struct {
		period int64
		values string
	}
	at := map[key]int{}
	var out []ledger.SumRow
	for i := range runs {
		r := &runs[i]
		if r.Start.IsZero() {
			continue
		}
		e, tres, _ := entry(&r.Charge, &federation.Job{Spec: r.Spec, Submit: r.Submit})
		if sees != nil && !sees(e.Group.User, e.Group.Account) || !chosen(&e.Group, q) {
			continue
		}
		e.Fate = ledger.Running
		values := make([]string, 0, len(q.By))
		for _, d := range q.By {
			values = append(values, valueOf(&e.Group, d))
		}
		e.Days(tres, func(day int64, s ledger.Sums) {
			if day < q.From || day >= q.Until {
				return
			}
			k := key{values: strings.Join(values, "\x00")}
			switch q.Every {
			case ledger.Daily:
				k.period = day
			case ledger.Monthly:
				k.period = ledger.MonthOf(day)
			}
			n, is := at[k]
			if !is {
				n = len(out)
				at[k] = n
				out = append(out, ledger.SumRow{Period: k.period, Values: values, Fate: ledger.Running})
			}
			out[n].Add(&s, 1)
		})
	}
	return out
}

// chosen reports whether a query is about a group.
func chosen(g *ledger.Group, q *ledger.SumQuery) bool {
	for d, values := range q.Where {
		if !slices.Contains(values, valueOf(g, d)) {
			return false
		}
	}
	return true
}

func valueOf(g *ledger.Group, d ledger.Dimension) string {
	switch d {
	case ledger.BySite:
		return g.Site
	case ledger.ByAccount:
		return g.Account
	case ledger.ByUser:
		return g.User
	case ledger.ByQOS:
		return g.QOS
	case ledger.ByPartition:
		return g.Partition
	case ledger.ByGPU:
		return g.GPU
	case ledger.ByName:
		return g.Name
	}
	return g.JobGroup
}
