package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/accounting/ledger"
	"fsub/federation"
)

var _ ledger.Books = (*Store)(nil)

const (
	ledgerKey     = "site, kind, job, task, at"
	ledgerValues  = "grp, source, read_at, number, tres, state, submit, start_time, end_time, wait, suspended, lim, cpu_used, gpu_used, per_hour, rented, amount, dearest, listed, first_fit, fate"
	ledgerColumns = ledgerKey + ", " + ledgerValues
	ledgerWidth   = 26

	sumColumns = "runs, cpu, mem, node, gpu, billing, wall, amount, dearest, listed, first_fit, waited, cpu_used, cpu_of, gpu_used, gpu_of, limit_of, limit_by, " +
		"wait0, wait1, wait2, wait3, wait4, wait5, wait6"
	sumWidth = ledger.Width

	insertPast = "INSERT INTO ledger_past (booked_at, entry) VALUES ($1, $2)"
	setMark    = "INSERT INTO ledger_marks (name, mark) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET mark = excluded.mark"
)

// What is written with one statement of several rows takes half the time of as many statements. SQLite takes 32,766 parameters.
const rowsAtOnce = 50

var (
	insertEntry   = insertEntries(1)
	insertMany    = insertEntries(rowsAtOnce)
	replaceEntry  = strings.TrimSuffix(insertEntry, "DO NOTHING") + "(" + ledgerKey + ") DO UPDATE SET (" + ledgerValues + ") = " + list(6, ledgerWidth-5)
	addDay        = addSums("ledger_days", 1)
	addManyDays   = addSums("ledger_days", rowsAtOnce)
	addMonth      = addSums("ledger_months", 1)
	addManyMonths = addSums("ledger_months", rowsAtOnce)
)

func insertEntries(n int) string {
	return "INSERT INTO ledger (" + ledgerColumns + ") VALUES " + lists(ledgerWidth, n) + " ON CONFLICT DO NOTHING"
}

func addSums(table string, n int) string {
	var set []string
	for c := range strings.SplitSeq(sumColumns, ", ") {
		set = append(set, c+" = "+table+"."+c+" + excluded."+c)
	}
	return "INSERT INTO " + table + " (period, grp, fate, " + sumColumns + ") VALUES " + lists(3+sumWidth, n) +
		" ON CONFLICT (period, grp, fate) DO UPDATE SET " + strings.Join(set, ", ")
}

// lists are n rows of parameters.
func lists(width, n int) string {
	var rows []string
	for i := range n {
		rows = append(rows, list(1+i*width, width))
	}
	return strings.Join(rows, ", ")
}

// booking is one call of Book in its transaction.
type booking struct {
	t       *tx
	known   *names
	words   map[string]int64 // numbered in this transaction
	groups  map[ledger.Group]int64
	days    map[sumKey]*ledger.Sums
	now     time.Time
	changed int
}

type sumKey struct {
	period, group int64
	fate          ledger.Fate
}

// Book implements [ledger.Books].
func (s *books) Book(ctx context.Context, entries []ledger.Entry, marks map[string]string) (int, error) {
	entries, aside := fit(entries)
	entries = together(entries)
	var b *booking
	err := s.writer.submit(ctx, func(t *tx) error {
		b = &booking{t: t, known: &s.names, words: map[string]int64{}, groups: map[ledger.Group]int64{}, days: map[sumKey]*ledger.Sums{}, now: time.Now()}
		if err := b.setAside(aside); err != nil {
			return err
		}
		return b.run(entries, marks)
	})
	if err != nil {
		return 0, fmt.Errorf("book %d runs: %w", len(entries), err)
	}
	s.names.add(b)
	return b.changed, nil
}

// together merges what entries say of one run, and puts them in the ledger's order.
func together(entries []ledger.Entry) []ledger.Entry {
	order := func(a, b ledger.Entry) int { return a.ID.Compare(b.ID) }
	if !slices.IsSortedFunc(entries, order) {
		entries = slices.Clone(entries)
		slices.SortStableFunc(entries, order)
	}
	out := make([]ledger.Entry, 0, len(entries))
	for _, e := range entries {
		if n := len(out); n > 0 && out[n-1].ID == e.ID {
			out[n-1], _ = ledger.Merge(out[n-1], e)
			continue
		}
		first, _ := ledger.Merge(ledger.Entry{}, e)
		out = append(out, first)
	}
	return out
}

func (b *booking) run(entries []ledger.Entry, marks map[string]string) error {
	for some := range slices.Chunk(entries, rowsAtOnce) {
		if err := b.some(some); err != nil {
			return err
		}
	}
	if err := b.writeSums(); err != nil {
		return err
	}
	for name, mark := range marks {
		if _, err := b.t.exec(setMark, name, mark); err != nil {
			return err
		}
	}
	return nil
}

// some books a few entries: all with one statement if all are new.
func (b *booking) some(entries []ledger.Entry) error {
	if len(entries) == rowsAtOnce {
		args := make([]any, 0, rowsAtOnce*ledgerWidth)
		for i := range entries {
			var err error
			if args, err = b.values(args, &entries[i]); err != nil {
				return err
			}
		}
		if _, err := b.t.exec("SAVEPOINT booking"); err != nil {
			return err
		}
		rows, err := b.t.exec(insertMany, args...)
		if err != nil {
			return err
		}
		if rows == rowsAtOnce {
			if _, err := b.t.exec("RELEASE booking"); err != nil {
				return err
			}
			for i := range entries {
				if err := b.sum(&entries[i], 1); err != nil {
					return err
				}
			}
			b.changed += len(entries)
			return nil
		}
		if _, err := b.t.exec("ROLLBACK TO booking"); err != nil {
			return err
		}
		if _, err := b.t.exec("RELEASE booking"); err != nil {
			return err
		}
	}
	for i := range entries {
		if err := b.one(&entries[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *booking) one(e *ledger.Entry) error {
	args, err := b.values(nil, e)
	if err != nil {
		return err
	}
	rows, err := b.t.exec(insertEntry, args...)
	if err != nil {
		return err
	}
	if rows == 1 {
		b.changed++
		return b.sum(e, 1)
	}
	old, err := b.read(args[:5])
	if err != nil {
		return err
	}
	now, changed := ledger.Merge(old, *e)
	if !changed {
		return nil
	}
	if args, err = b.values(args[:0], &now); err != nil {
		return err
	}
	if _, err := b.t.exec(replaceEntry, args...); err != nil {
		return err
	}
	same := old
	if same.ReadAt, same.Source = now.ReadAt, now.Source; same == now {
		return nil // it was confirmed, and says what it said
	}
	past, err := json.Marshal(&old)
	if err != nil {
		return err
	}
	if _, err := b.t.exec(insertPast, nanos(b.now), string(past)); err != nil {
		return err
	}
	b.changed++
	if err := b.sum(&old, -1); err != nil {
		return err
	}
	return b.sum(&now, 1)
}

// read is what the ledger says of a run now.
func (b *booking) read(key []any) (e ledger.Entry, err error) {
	found := false
	err = b.t.each(func(r *row) { e, found = readEntry(r), true }, selectEntryNamed, key...)
	if err == nil && !found { // it was there when it was not inserted
		err = fmt.Errorf("%w: a row of the ledger is gone", federation.ErrUnavailable)
	}
	return e, err
}

func (b *booking) values(args []any, e *ledger.Entry) ([]any, error) {
	site, err := b.word(e.Site)
	if err != nil {
		return nil, err
	}
	tres, err := b.word(e.TRES)
	if err != nil {
		return nil, err
	}
	state, err := b.word(e.State)
	if err != nil {
		return nil, err
	}
	group, err := b.group(&e.Group)
	if err != nil {
		return nil, err
	}
	return append(args, site, int64(e.Kind), e.Job, e.Task, e.At, group, int64(e.Source), e.ReadAt, e.Number, tres, state, e.Submit, e.Start, e.End, e.Wait, e.Suspended,
		e.Limit, e.CPUUsed, e.GPUUsed, int64(e.PerHour), number(e.Rented), int64(e.Amount), int64(e.DearestPerHour), int64(e.ListPerHour), int64(e.FirstPerHour), int64(e.Fate)), nil
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// BooksMark implements [ledger.Books].
func (s *books) BooksMark(ctx context.Context, name string) (string, error) {
	all, err := query(ctx, s.readers, func(r *row) string { return r.text() }, "SELECT mark FROM ledger_marks WHERE name = $1", name)
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[0], nil
}
