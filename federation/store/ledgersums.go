package store

import (
	"cmp"
	"slices"

	"fsub/accounting/ledger"
)

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
