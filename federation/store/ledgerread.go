package store

import (
	"context"
	"fmt"
	"strings"

	"fsub/accounting"
	"fsub/accounting/ledger"
	"fsub/federation"
)

const (
	// The names of an entry are read with it.
	selectNamed = "SELECT s.word, l.kind, l.job, l.task, l.at, g.site, g.account, g.user_name, g.qos, g.part, g.gpu, g.name, g.job_group, l.source, l.read_at, l.number, t.word, st.word, " +
		"l.submit, l.start_time, l.end_time, l.wait, l.suspended, l.lim, l.cpu_used, l.gpu_used, l.per_hour, l.rented, l.amount, l.dearest, l.listed, l.first_fit, l.fate " +
		"FROM ledger l JOIN ledger_words s ON s.id = l.site JOIN ledger_words t ON t.id = l.tres JOIN ledger_words st ON st.id = l.state JOIN ledger_groups g ON g.id = l.grp "
	selectEntryNamed = selectNamed + "WHERE l.site = $1 AND l.kind = $2 AND l.job = $3 AND l.task = $4 AND l.at = $5"
	selectRuns       = selectNamed + "WHERE l.site = (SELECT id FROM ledger_words WHERE word = $1) AND l.end_time >= $2 AND l.start_time < $3 ORDER BY l.end_time"
)

func readEntry(r *row) (e ledger.Entry) {
	e.Site, e.Kind, e.Job, e.Task, e.At = r.word(), ledger.Kind(r.int()), r.int(), r.int(), r.int()
	g := &e.Group
	g.Site, g.Account, g.User, g.QOS, g.Partition, g.GPU, g.Name, g.JobGroup = r.word(), r.word(), r.word(), r.word(), r.word(), r.word(), r.word(), r.word()
	e.Source, e.ReadAt, e.Number, e.TRES, e.State = ledger.Source(r.int()), r.int(), r.int(), r.word(), r.word()
	e.Submit, e.Start, e.End, e.Wait, e.Suspended, e.Limit, e.CPUUsed, e.GPUUsed = r.int(), r.int(), r.int(), r.int(), r.int(), r.int(), r.int(), r.int()
	e.PerHour, e.Rented, e.Amount = accounting.Money(r.int()), r.int() != 0, accounting.Money(r.int())
	e.DearestPerHour, e.ListPerHour, e.FirstPerHour = accounting.Money(r.int()), accounting.Money(r.int()), accounting.Money(r.int())
	e.Fate = ledger.Fate(r.int())
	return e
}

// BookedRuns implements [ledger.Books].
func (s *books) BookedRuns(ctx context.Context, site string, from, until int64, take func(*ledger.Entry) error) error {
	var failed error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := queryInto(ctx, s.readers, func(r *row) {
		if failed != nil {
			return
		}
		e := readEntry(r)
		if r.err == nil {
			if failed = take(&e); failed != nil {
				cancel()
			}
		}
	}, selectRuns, site, from, until)
	if failed != nil {
		return failed
	}
	if err != nil {
		return fmt.Errorf("runs of site %s: %w", site, err)
	}
	return nil
}

var sumColumn = map[ledger.Dimension]string{
	ledger.BySite: "g.site", ledger.ByAccount: "g.account", ledger.ByUser: "g.user_name", ledger.ByQOS: "g.qos",
	ledger.ByPartition: "g.part", ledger.ByGPU: "g.gpu", ledger.ByName: "g.name", ledger.ByJobGroup: "g.job_group",
}

// BookedSums implements [ledger.Books].
func (s *books) BookedSums(ctx context.Context, q ledger.SumQuery) ([]ledger.SumRow, error) {
	var out gathered[ledger.SumRow]
	err := s.EachSum(ctx, q, func(r *ledger.SumRow) error {
		out.add(*r)
		return nil
	})
	return out.list(), err
}

// EachSum implements [ledger.Books]. Whole months are read from their own sums, unless days are to be told apart.
func (s *books) EachSum(ctx context.Context, q ledger.SumQuery, take func(*ledger.SumRow) error) error {
	var failed error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, p := range pieces(q.From, q.Until, q.Every) {
		text, args, err := selectSums(q, p)
		if err != nil {
			return err
		}
		err = queryInto(ctx, s.readers, func(r *row) {
			if failed != nil {
				return
			}
			one := ledger.SumRow{Period: r.int(), Fate: ledger.Fate(r.int()), Values: make([]string, 0, len(q.By))}
			for range q.By {
				one.Values = append(one.Values, r.word())
			}
			all := one.Fields()
			for _, i := range numbersOf(q) {
				*all[i] = r.int()
			}
			if r.err == nil {
				if failed = take(&one); failed != nil {
					cancel()
				}
			}
		}, text, args...)
		if failed != nil {
			return failed
		}
		if err != nil {
			return fmt.Errorf("sums of the ledger: %w", err)
		}
	}
	return nil
}

// numbersOf are the places among the fields of sums of those that q asks for.
func numbersOf(q ledger.SumQuery) []int {
	if len(q.Sums) > 0 {
		return q.Sums
	}
	return allNumbers
}

var allNumbers = func() (all []int) {
	for i := range sumWidth {
		all = append(all, i)
	}
	return all
}()

// piece is a part of a span of time, and the table that has it.
type piece struct {
	table    string
	from, to int64  // periods of the table
	label    string // what its rows are counted as: SQL
}

// pieces are whole months, and the days before and after them.
func pieces(from, until int64, every ledger.Period) []piece {
	if from >= until {
		return nil
	}
	if every == ledger.Daily { // a month at a time: sorting years at once takes twice as long, and a lot of memory
		var out []piece
		for m := ledger.MonthOf(from); m <= ledger.MonthOf(until-1); m++ {
			out = append(out, piece{"ledger_days", max(from, ledger.FirstDay(m)), min(until, ledger.FirstDay(m+1)), "t.period"})
		}
		return out
	}
	label := func(month int64) string {
		if every == ledger.Monthly {
			return fmt.Sprint(month)
		}
		return "0"
	}
	months := label
	first, last := ledger.MonthOf(from), ledger.MonthOf(until)
	if from > ledger.FirstDay(first) {
		first++
	}
	if first > last || first == last && ledger.FirstDay(first) != from && ledger.FirstDay(first) != until { // no whole month
		var out []piece
		for m := ledger.MonthOf(from); m <= ledger.MonthOf(until-1); m++ {
			out = append(out, piece{"ledger_days", max(from, ledger.FirstDay(m)), min(until, ledger.FirstDay(m+1)), months(m)})
		}
		return out
	}
	var out []piece
	if begin := ledger.FirstDay(first); from < begin {
		out = append(out, piece{"ledger_days", from, begin, months(first - 1)})
	}
	if first < last {
		whole := piece{"ledger_months", first, last, "0"}
		if every == ledger.Monthly {
			whole.label = "t.period"
		}
		out = append(out, whole)
	}
	if begin := ledger.FirstDay(last); begin < until {
		out = append(out, piece{"ledger_days", begin, until, months(last)})
	}
	return out
}

func selectSums(q ledger.SumQuery, p piece) (string, []any, error) {
	var columns, sums []string
	for _, d := range q.By {
		c, ok := sumColumn[d]
		if !ok {
			return "", nil, fmt.Errorf("%w: the ledger knows no %q", federation.ErrInvalid, d)
		}
		columns = append(columns, c)
	}
	names := strings.Split(sumColumns, ", ")
	for _, i := range numbersOf(q) {
		if i < 0 || i >= len(names) {
			return "", nil, fmt.Errorf("%w: sums have no number %d", federation.ErrInvalid, i)
		}
		sums = append(sums, "CAST(SUM(t."+names[i]+") AS BIGINT)")
	}
	w := where{}
	w.and("t.period >= %s", p.from)
	w.and("t.period < %s", p.to)
	for _, d := range ledger.Dimensions {
		values, ok := q.Where[d]
		if !ok {
			continue
		}
		w.oneOf(sumColumn[d], values)
	}
	if s := q.Within; s != nil {
		w.args = append(w.args, s.User)
		term := fmt.Sprintf("(g.user_name = $%d AND g.user_name <> ''", len(w.args))
		if len(s.Accounts) > 0 {
			term += " OR g.account IN " + list(len(w.args)+1, len(s.Accounts))
			for _, a := range s.Accounts {
				w.args = append(w.args, a)
			}
		}
		w.terms = append(w.terms, term+")")
	}
	label := p.label
	text := "SELECT " + strings.Join(append([]string{"CAST(" + label + " AS BIGINT)", "t.fate"}, append(columns, sums...)...), ", ") + " FROM " + p.table + " t JOIN ledger_groups g ON g.id = t.grp" + w.text() +
		" GROUP BY " + strings.Join(append([]string{"1", "2"}, columns...), ", ")
	return text, w.args, nil
}

// oneOf adds the condition that a column is one of values.
func (w *where) oneOf(column string, values []string) {
	if len(values) == 0 {
		w.terms = append(w.terms, "1 = 0")
		return
	}
	w.in(column, len(values))
	for _, v := range values {
		w.args = append(w.args, v)
	}
}
