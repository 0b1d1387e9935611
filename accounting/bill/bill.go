// Package bill reads the bills of cloud providers: FOCUS, which Amazon, Google, Microsoft and others export, and the older exports of the first three. It is
// pure; package parquet reads files of that kind for it.
//
// [Read] adds the lines of a [Table] up by billing period, UTC day, service and machine.
package bill

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"time"

	"fsub/accounting"
)

// Table is a file of rows. Next returns io.EOF after the last; the row is valid until the next call.
type Table interface {
	Columns() []string
	Next() ([]string, error)
}

// Options say what to make of a file.
type Options struct {
	// Billed counts what is invoiced in a period, purchases of commitments whole. Otherwise what the usage of a day came to, with its share of them.
	Billed bool
	// Rate is what a unit of the bill's currency is in dollars; 0: the bill must be in dollars.
	Rate float64
	// Mine reports whether a line is about a machine of ours: by the name that the provider gives a resource, and its tags, as they are written.
	Mine func(resource, tags string) bool
}

// Bill is what one billing period comes to.
type Bill struct {
	Format string
	// From and Until are the period's first UTC day and the one after its last, since 1970. Told is the Unix time until which it tells of usage.
	From, Until int64
	Told        int64
	Rows        int
	Lines       []Line
}

// Line is what a service came to on a day.
type Line struct {
	Day     int64 // UTC days since 1970
	Mine    bool  // the lines of our machines; others by service
	Service string
	Amount  accounting.Money
}

// Total is the sum of the lines of our machines, and of the others.
func (b *Bill) Total() (mine, others accounting.Money) {
	for _, l := range b.Lines {
		if l.Mine {
			mine += l.Amount
		} else {
			others += l.Amount
		}
	}
	return mine, others
}

// ErrNoBill: the columns of a file are those of no bill that is known.
var ErrNoBill = errors.New("not a bill: its columns are neither those of FOCUS, nor of an AWS Cost and Usage Report, Google's or Azure's cost export")

type key struct {
	from, until, day int64
	mine             bool
	service          string
}

// Read reads a whole file. An error names the row.
func Read(t Table, o Options) ([]Bill, error) {
	f, at, err := formOf(t.Columns())
	if err != nil {
		return nil, err
	}
	r := &reader{Options: o, form: f, at: at, sums: map[key]*big.Rat{}, bills: map[[2]int64]*Bill{}}
	for n := 2; ; n++ { // the first is the head
		row, err := t.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = r.add(row)
		}
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", n, err)
		}
	}
	return r.periods(), nil
}

type reader struct {
	Options
	*form
	at    map[string]int // column by what it means
	sums  map[key]*big.Rat
	bills map[[2]int64]*Bill
}

func (r *reader) cell(row []string, name string) string {
	i, ok := r.at[name]
	if !ok || i >= len(row) {
		return ""
	}
	return strings.TrimSpace(row[i])
}

func (r *reader) add(row []string) error {
	cost := r.cell(row, effective)
	if r.Billed || cost == "" && !r.has(effective) {
		cost = r.cell(row, billed)
	}
	amount, err := parseCost(cost)
	if err != nil {
		return err
	}
	if currency := r.cell(row, currency); currency != "" && currency != "USD" {
		if r.Rate == 0 {
			return fmt.Errorf("it is billed in %s: say what one is in dollars with --rate", currency)
		}
		amount.Mul(amount, new(big.Rat).SetFloat64(r.Rate))
	}
	start, end, err := r.span(row, chargeStart, chargeEnd)
	if err != nil {
		return err
	}
	from, until, err := r.period(row, start)
	if err != nil {
		return err
	}
	b := r.bills[[2]int64{from, until}]
	if b == nil {
		b = &Bill{Format: r.name, From: from, Until: until}
		r.bills[[2]int64{from, until}] = b
	}
	b.Rows++
	k := key{from: from, until: until}
	if k.mine = r.Mine != nil && r.Mine(r.cell(row, resource), r.cell(row, tags)); !k.mine {
		k.service = cmp.Or(r.cell(row, service), r.cell(row, category), "other")
	}
	if isUsage(r.cell(row, category)) {
		b.Told = max(b.Told, end.Unix())
	}
	return r.spread(k, amount, start.Unix(), end.Unix())
}

// spread adds what was charged for a span of time to the days of it, by the time in each.
func (r *reader) spread(k key, amount *big.Rat, start, end int64) error {
	const longest = 6 * 366 * day // commitments are for at most five years
	whole := end - start
	if whole > longest {
		return fmt.Errorf("a charge for %d days", whole/day)
	}
	for t := start; t < end || t == start; {
		next := min(end, (t/day+1)*day)
		part := amount
		if next-t < whole {
			part = new(big.Rat).Mul(amount, big.NewRat(next-t, whole))
		}
		k.day = t / day
		sum := r.sums[k]
		if sum == nil {
			sum = new(big.Rat)
			r.sums[k] = sum
		}
		sum.Add(sum, part)
		if t = next; t >= end {
			break
		}
	}
	return nil
}

func (r *reader) periods() (out []Bill) {
	million := big.NewRat(accounting.Dollar, 1)
	for k, sum := range r.sums {
		micro, _ := new(big.Rat).Mul(sum, million).Float64()
		b := r.bills[[2]int64{k.from, k.until}]
		if m := accounting.MoneyOf(micro / accounting.Dollar); m != 0 {
			b.Lines = append(b.Lines, Line{k.day, k.mine, k.service, m})
		}
	}
	for _, b := range r.bills {
		slices.SortFunc(b.Lines, func(x, y Line) int {
			return cmp.Or(cmp.Compare(x.Day, y.Day), cmp.Compare(x.Service, y.Service))
		})
		out = append(out, *b)
	}
	slices.SortFunc(out, func(x, y Bill) int { return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.Until, y.Until)) })
	return out
}

// parseCost reads a decimal number exactly; "" is 0.
func parseCost(text string) (*big.Rat, error) {
	if text == "" {
		return new(big.Rat), nil
	}
	_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	sum, ok := new(big.Rat), len(text) <= 64 && len(exponent) <= 3 && !strings.Contains(text, "/")
	if ok {
		sum, ok = sum.SetString(text)
	}
	if !ok {
		return nil, fmt.Errorf("invalid amount %q", text)
	}
	return sum, nil
}

const day = 24 * 3600

var layouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05.999999-07:00", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02", "01/02/2006"}

func parseTime(text string) (time.Time, error) {
	for _, l := range layouts {
		if t, err := time.Parse(l, text); err == nil && t.Year() > 1990 && t.Year() < 2200 {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("invalid time %q", text)
}

// span are the two times of a row. Where a form has one column for both, the span is that day.
func (r *reader) span(row []string, first, second string) (start, end time.Time, err error) {
	if start, err = parseTime(r.cell(row, first)); err != nil {
		return start, end, err
	}
	if !r.has(second) {
		return start, start.AddDate(0, 0, 1), nil
	}
	end, err = parseTime(r.cell(row, second))
	if err == nil && end.Before(start) {
		err = fmt.Errorf("it ends at %s, before it begins at %s", end.Format(time.RFC3339), start.Format(time.RFC3339))
	}
	return start, end, err
}

// period is the billing period of a row, in days.
func (r *reader) period(row []string, charged time.Time) (from, until int64, err error) {
	if r.has(invoiceMonth) { // Google: 202611
		t, err := time.Parse("200601", r.cell(row, invoiceMonth))
		if err != nil {
			return 0, 0, fmt.Errorf("invalid month %q", r.cell(row, invoiceMonth))
		}
		return t.Unix() / day, t.AddDate(0, 1, 0).Unix() / day, nil
	}
	if !r.has(periodStart) {
		first := time.Date(charged.Year(), charged.Month(), 1, 0, 0, 0, 0, time.UTC)
		return first.Unix() / day, first.AddDate(0, 1, 0).Unix() / day, nil
	}
	start, end, err := r.span(row, periodStart, periodEnd)
	if err != nil {
		return 0, 0, fmt.Errorf("billing period: %w", err)
	}
	until = end.Unix() / day
	if end.Unix()%day != 0 || r.lastDay { // the last day is told, or its last second
		until++
	}
	return start.Unix() / day, until, nil
}

func isUsage(category string) bool { return category == "" || strings.EqualFold(category, "Usage") }

// Together adds up what several files say of one period.
func Together(all []Bill) (out []Bill) {
	for _, b := range all {
		i := slices.IndexFunc(out, func(o Bill) bool { return o.From == b.From && o.Until == b.Until })
		if i < 0 {
			out = append(out, b)
			continue
		}
		o := &out[i]
		o.Rows, o.Told = o.Rows+b.Rows, max(o.Told, b.Told)
		o.Lines = append(slices.Clone(o.Lines), b.Lines...)
	}
	return out
}
