package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fsub/accounting/ledger"
)

// Maker makes a report of lines that come one after the other, in any order. A report of three years by day and user has half a million rows. So words are kept
// once, and rows hold numbers only, without pointers that the garbage collector would follow.
type Maker struct {
	q     Query
	kind  *kind
	keys  []string
	needs []int // places among the fields of sums

	words map[string]uint32
	texts []string
	rows  map[rowKey]int32
	held  [][]int64 // the numbers of rows, some thousand rows in each
	days  map[int32]map[string]float64
	all   sums
	open  ledger.Sums // of runs that go on
}

// rowKey is what a row is about: words by their numbers. There are eight dimensions, and the period.
type rowKey [9]uint32

// sums is what a row sums up.
type sums struct {
	ledger.Sums
	gpus, cpus [ledger.Running + 1]float64 // hours by what became of them, of reports of that
	days       map[string]float64          // dollars, of forecasts
}

// NewMaker begins a report.
func NewMaker(q Query) (*Maker, error) {
	k := kinds[q.Kind]
	if k == nil {
		return nil, fmt.Errorf("unknown report %q: want %s", q.Kind, strings.Join(Kinds, ", "))
	}
	m := &Maker{q: q, kind: k, words: map[string]uint32{}, rows: map[rowKey]int32{}, days: map[int32]map[string]float64{}, all: sums{days: map[string]float64{}}}
	for _, name := range k.needs {
		m.needs = append(m.needs, slices.Index(ledger.SumNames, name))
	}
	if m.timed() {
		m.keys = append(m.keys, q.Every)
	}
	if m.keys = append(m.keys, q.By...); len(m.keys) > len(rowKey{}) {
		return nil, fmt.Errorf("a report by %d things at once is none", len(m.keys))
	}
	return m, nil
}

// timed reports whether rows are of periods.
func (m *Maker) timed() bool { return m.q.Every != "" && m.q.Kind != "forecast" }

// width is how many numbers a row holds: those that are needed, then seconds of GPUs and of CPUs for each fate where that is told apart.
func (m *Maker) width() int {
	if m.kind.stacked {
		return len(m.needs) + 2*len(ledger.Fates)
	}
	return len(m.needs)
}

const rowsHeld = 4096 // in one piece

func (m *Maker) numbers(row int32) []int64 {
	w, at := m.width(), int(row)%rowsHeld
	return m.held[row/rowsHeld][at*w : (at+1)*w]
}

func (m *Maker) word(text string) uint32 {
	n, ok := m.words[text]
	if !ok {
		n = uint32(len(m.texts))
		text = strings.Clone(text)
		m.words[text], m.texts = n, append(m.texts, text)
	}
	return n
}

// Add adds a line.
func (m *Maker) Add(l *Line) {
	var key rowKey
	words := key[:0]
	if m.timed() {
		words = append(words, m.word(period(m.q.Every, l.Period)))
	}
	for _, v := range l.Values {
		words = append(words, m.word(v))
	}
	row, ok := m.rows[key]
	if !ok {
		if row = int32(len(m.rows)); row%rowsHeld == 0 {
			m.held = append(m.held, make([]int64, rowsHeld*m.width()))
		}
		m.rows[key] = row
	}
	numbers, fields := m.numbers(row), l.Fields()
	for i, place := range m.needs {
		numbers[i] += *fields[place]
	}
	m.all.Sums.Add(&l.Sums, 1)
	if l.Fate == ledger.Running.String() {
		m.open.Add(&l.Sums, 1)
	}
	switch {
	case m.kind.stacked:
		fate := max(0, slices.Index(ledger.Fates, l.Fate))
		byFate := numbers[len(m.needs):]
		byFate[fate] += l.GPU
		byFate[len(ledger.Fates)+fate] += l.CPU
		m.all.gpus[fate] += hours(l.GPU)
		m.all.cpus[fate] += hours(l.CPU)
	case m.kind.numbers == nil:
		if m.days[row] == nil {
			m.days[row] = map[string]float64{}
		}
		m.days[row][l.Period] += l.Amount.Dollars()
		m.all.days[l.Period] += l.Amount.Dollars()
	}
}

// sums are those of a row.
func (m *Maker) sums(row int32) (s sums) {
	numbers, fields := m.numbers(row), s.Fields()
	for i, place := range m.needs {
		*fields[place] = numbers[i]
	}
	if m.kind.stacked {
		for i := range ledger.Fates {
			s.gpus[i], s.cpus[i] = hours(numbers[len(m.needs)+i]), hours(numbers[len(m.needs)+len(ledger.Fates)+i])
		}
	}
	s.days = m.days[row]
	return s
}

// Table is the report of what was added.
func (m *Maker) Table() *Table {
	q, k := &m.q, m.kind
	t := &Table{Title: k.title, Keys: m.keys, Columns: k.columns, Notes: slices.Clone(k.notes), Stacked: k.stacked, Drawn: k.drawn}
	t.From, t.Until = q.From, q.Until
	t.Span = q.From.Format(time.DateOnly) + " to " + q.Until.AddDate(0, 0, -1).Format(time.DateOnly) + ", UTC days"
	if len(t.Keys) > 0 {
		t.Title += " by " + strings.Join(t.Keys, ", ")
	}
	if m.open.Runs > 0 {
		runs := "1 run that has not ended"
		if m.open.Runs > 1 {
			runs = fmt.Sprintf("%d runs that have not ended", m.open.Runs)
		}
		t.Open = fmt.Sprintf("Of this, %s: %s until %s UTC.", runs, m.open.Amount.USD(), q.Now.UTC().Format("15:04"))
		t.Notes = append(t.Notes, t.Open)
	}
	numbers := k.numbers
	if q.Kind == "forecast" {
		known := daysKnown(m.all.days, q.Now)
		numbers = func(s, _ *sums) []Value { return forecast(s, known, q.Now) }
		if known < lookBack {
			t.Notes = append(t.Notes, fmt.Sprintf("Whole days before today that are in the books: %d.", known))
		}
	}
	t.Rows = make([]Row, 0, len(m.rows))
	for key, row := range m.rows {
		s := m.sums(row)
		keys := make([]string, len(m.keys))
		for i := range keys {
			keys[i] = m.texts[key[i]]
		}
		t.Rows = append(t.Rows, Row{keys, numbers(&s, &m.all)})
	}
	slices.SortFunc(t.Rows, func(a, b Row) int {
		if m.timed() {
			if c := cmp.Compare(a.Keys[0], b.Keys[0]); c != 0 {
				return c
			}
		}
		return cmp.Or(-cmp.Compare(zero(a.Numbers[0]), zero(b.Numbers[0])), slices.Compare(a.Keys, b.Keys))
	})
	t.Total = Row{Numbers: numbers(&m.all, &m.all)}
	if q.Kind == "fairness" && len(t.Rows) > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("Jain's index of the cost shares is %.2f: 1 is equal shares, %.2f all for one.", jain(t.Rows, 2), 1/float64(len(t.Rows))))
	}
	return t
}

func zero(v Value) Value {
	if math.IsNaN(v) {
		return 0
	}
	return v
}
