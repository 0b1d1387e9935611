package federation

import "fsub/accounting"

// Guarantees are what accounts of the tree are guaranteed, and how much of it is held. It is not changed after it was made.
type Guarantees struct {
	*GuaranteeRules
	// Held is what jobs that are bound hold, or will: by account, with those below it.
	Held []accounting.TRES
	// Lent are the jobs that hold more than their account is guaranteed, by account and TRES: those that were bound last.
	Lent []map[string]map[JobID]bool
}

// GuaranteeRules are what the tree says of guarantees.
type GuaranteeRules struct {
	Accounts []Guarantee // each behind the one above it
	// Of is the index of the nearest account with a guarantee, at or above a job's own; -1: there is none.
	Of func(*Job) int
}

// Guarantee is what one account may always have, together with the accounts below it. What it leaves idle others may borrow.
type Guarantee struct {
	Account string
	Above   int             // index of the nearest account above it with a guarantee; -1: there is none
	TRES    accounting.TRES // cpu, mem (MiB), node, gres/gpu, gres/gpu:h100 ...
}

// Below reports whether account i is account of, or stands below it; -1 stands below none but -1.
func (r *GuaranteeRules) Below(i, of int) bool {
	for ; i >= 0 && i != of; i = r.Accounts[i].Above {
	}
	return i == of
}

// Up is the account so many above another one with guarantees; -1: there is none.
func (r *GuaranteeRules) Up(i, above int) int {
	for ; i >= 0 && above > 0; above-- {
		i = r.Accounts[i].Above
	}
	return i
}
