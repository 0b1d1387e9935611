package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fsub/accounting"
	"fsub/accounting/ledger"
	"fsub/federation"
)

var _ federation.Books = (*Store)(nil)

const (
	ledgerKey     = "site, kind, job, task, at"
	ledgerValues  = "grp, source, read_at, number, tres, state, submit, start_time, end_time, wait, suspended, lim, cpu_used, gpu_used, per_hour, rented, amount, dearest, listed, first_fit, fate"
	ledgerColumns = ledgerKey + ", " + ledgerValues
	ledgerWidth   = 26

	sumColumns = "runs, cpu, mem, node, gpu, billing, wall, amount, dearest, listed, first_fit, waited, cpu_used, cpu_of, gpu_used, gpu_of, limit_of, limit_by, " +
		"wait0, wait1, wait2, wait3, wait4, wait5, wait6"
	sumWidth = 25

	insertPast = "INSERT INTO ledger_past (booked_at, entry) VALUES ($1, $2)"
	setMark    = "INSERT INTO ledger_marks (name, mark) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET mark = excluded.mark"
)

// What is written with one statement of several rows takes half the time of as many statements. SQLite takes 32,766 parameters.
const rowsAtOnce = 50

var (
	insertEntry   = insertEntries(1)
	insertMany    = insertEntries(rowsAtOnce)
	replaceEntry  = "INSERT OR REPLACE" + strings.TrimPrefix(strings.TrimSuffix(insertEntry, " ON CONFLICT DO NOTHING"), "INSERT")
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

// names are the numbers of words and groups that the ledger has. Only what is committed is in there.
type names struct {
	mu     sync.Mutex
	words  map[string]int64
	groups map[ledger.Group]int64
	tres   map[string]accounting.TRES
}

// maxNames bounds each of them: 20 MB.
const maxNames = 100_000

// add takes over what a transaction that is committed has numbered.
func (n *names) add(b *booking) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.words == nil || len(n.words)+len(b.words) > maxNames {
		n.words = map[string]int64{}
	}
	if n.groups == nil || len(n.groups)+len(b.groups) > maxNames {
		n.groups = map[ledger.Group]int64{}
	}
	for w, id := range b.words {
		n.words[w] = id
	}
	for g, id := range b.groups {
		n.groups[g] = id
	}
}

func (n *names) word(w string) (int64, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id, ok := n.words[w]
	return id, ok
}

func (n *names) group(g *ledger.Group) (int64, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id, ok := n.groups[*g]
	return id, ok
}

// parsed is a TRES text as numbers, which nobody changes.
func (n *names) parsed(text string) (accounting.TRES, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if t, ok := n.tres[text]; ok {
		return t, nil
	}
	t, err := accounting.ParseTRES(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", federation.ErrInvalid, err)
	}
	if n.tres == nil || len(n.tres) > maxNames {
		n.tres = map[string]accounting.TRES{}
	}
	n.tres[text] = t
	return t, nil
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

// Book implements [federation.Books].
func (s *Store) Book(ctx context.Context, entries []ledger.Entry, marks map[string]string) (int, error) {
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

// asideEntry is an entry that cannot be booked, as it is kept among what was booked before.
type asideEntry struct {
	ledger.Entry
	Aside string // why
}

// fit tells entries that can be booked from those that cannot.
func fit(entries []ledger.Entry) (good []ledger.Entry, aside []asideEntry) {
	good = entries
	for i := range entries {
		why := entries[i].Unfit()
		switch {
		case why != "":
			if len(aside) == 0 {
				good = slices.Clone(entries[:i])
			}
			aside = append(aside, asideEntry{entries[i], why})
		case len(aside) > 0:
			good = append(good, entries[i])
		}
	}
	return good, aside
}

func (b *booking) setAside(entries []asideEntry) error {
	for i := range entries {
		text, err := json.Marshal(&entries[i])
		if err != nil {
			return err
		}
		if _, err := b.t.exec(insertPast, nanos(b.now), string(text)); err != nil {
			return err
		}
	}
	return nil
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
func (b *booking) read(key []any) (ledger.Entry, error) {
	stmt, err := b.t.prepared(selectEntryNamed)
	if err != nil {
		return ledger.Entry{}, err
	}
	rows, err := stmt.QueryContext(context.Background(), key...)
	if err != nil {
		return ledger.Entry{}, databaseError(err)
	}
	defer rows.Close()
	r := newRow(entryWidth)
	if !rows.Next() {
		return ledger.Entry{}, databaseError(cmp.Or(rows.Err(), errClosed))
	}
	if err := rows.Scan(r.into...); err != nil {
		return ledger.Entry{}, databaseError(err)
	}
	e := readEntry(r)
	return e, r.err
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

func (b *booking) word(w string) (int64, error) {
	if id, ok := b.words[w]; ok {
		return id, nil
	}
	if id, ok := b.known.word(w); ok {
		b.words[w] = id
		return id, nil
	}
	id, err := b.number("SELECT id FROM ledger_words WHERE word = $1", "INSERT INTO ledger_words (word) VALUES ($1) RETURNING id", w)
	b.words[w] = id
	return id, err
}

func (b *booking) group(g *ledger.Group) (int64, error) {
	if id, ok := b.groups[*g]; ok {
		return id, nil
	}
	if id, ok := b.known.group(g); ok {
		b.groups[*g] = id
		return id, nil
	}
	id, err := b.number("SELECT id FROM ledger_groups WHERE (site, account, user_name, qos, part, gpu, name) = ($1, $2, $3, $4, $5, $6, $7)",
		"INSERT INTO ledger_groups (site, account, user_name, qos, part, gpu, name) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id",
		g.Site, g.Account, g.User, g.QOS, g.Partition, g.GPU, g.Name)
	b.groups[*g] = id
	return id, err
}

// number is the number of something, which it gets if it has none.
func (b *booking) number(find, insert string, args ...any) (int64, error) {
	id, found, err := b.t.number(find, args...)
	if err == nil && !found {
		id, _, err = b.t.number(insert, args...)
	}
	return id, err
}

// sum adds an entry to the sums, or takes it away.
func (b *booking) sum(e *ledger.Entry, sign int64) error {
	tres, err := b.known.parsed(e.TRES)
	if err != nil {
		return err
	}
	group, err := b.group(&e.Group)
	if err != nil {
		return err
	}
	e.Days(tres, func(day int64, part ledger.Sums) {
		k := sumKey{day, group, e.Fate}
		if b.days[k] == nil {
			b.days[k] = &ledger.Sums{}
		}
		b.days[k].Add(&part, sign)
	})
	return nil
}

// writeSums adds what was booked to the sums of days and of months.
func (b *booking) writeSums() error {
	months := make(map[sumKey]*ledger.Sums, len(b.days))
	for k, s := range b.days {
		k.period = ledger.MonthOf(k.period)
		if months[k] == nil {
			months[k] = &ledger.Sums{}
		}
		months[k].Add(s, 1)
	}
	if err := b.addSums(b.days, addDay, addManyDays); err != nil {
		return err
	}
	return b.addSums(months, addMonth, addManyMonths)
}

func (b *booking) addSums(sums map[sumKey]*ledger.Sums, one, many string) error {
	keys := make([]sumKey, 0, len(sums))
	for k, s := range sums {
		if !s.Zero() {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b sumKey) int {
		return cmp.Or(cmp.Compare(a.period, b.period), cmp.Compare(a.group, b.group), cmp.Compare(a.fate, b.fate))
	})
	args := make([]any, 0, rowsAtOnce*(3+sumWidth))
	write := func(keys []sumKey, text string) error {
		args = args[:0]
		for _, k := range keys {
			args = append(args, k.period, k.group, int64(k.fate))
			for _, v := range sums[k].Fields() {
				args = append(args, *v)
			}
		}
		_, err := b.t.exec(text, args...)
		return err
	}
	for some := range slices.Chunk(keys, rowsAtOnce) {
		if len(some) == rowsAtOnce {
			if err := write(some, many); err != nil {
				return err
			}
			continue
		}
		for i := range some {
			if err := write(some[i:i+1], one); err != nil {
				return err
			}
		}
	}
	return nil
}

// BooksMark implements [federation.Books].
func (s *Store) BooksMark(ctx context.Context, name string) (string, error) {
	all, err := query(ctx, s.readers, func(r *row) string { return r.text() }, "SELECT mark FROM ledger_marks WHERE name = $1", name)
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[0], nil
}
