package store

import (
	"encoding/json"
	"slices"

	"fsub/accounting/ledger"
)

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
