package quota

import (
	"cmp"
	"maps"
	"slices"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/fairshare"
)

// guaranteed is what the Book keeps for [Book.Guarantees].
type guaranteed struct {
	of    *accounts.Tree
	rules *federation.GuaranteeRules                 // nil: the tree guarantees nothing
	holds map[accounts.Key]map[federation.JobID]bool // by account with a guarantee
	last  *federation.Guarantees                     // nil: something has changed since
}

// Guarantees are what the tree guarantees, and what is held of it; nil if it guarantees nothing. It is the same value as long as nothing changes.
func (b *Book) Guarantees() *federation.Guarantees {
	g := &b.guaranteed
	if t := b.books.Tree(); g.of != t {
		g.of, g.last, g.holds = t, nil, nil
		if g.rules = guaranteesOf(t); g.rules != nil {
			g.holds = map[accounts.Key]map[federation.JobID]bool{}
			for _, a := range g.rules.Accounts {
				g.holds[accounts.AccountKey(a.Account)] = map[federation.JobID]bool{}
			}
			for id, h := range b.holds {
				g.note(id, &h, true)
			}
		}
	}
	if g.rules == nil {
		return nil
	}
	if g.last != nil {
		return g.last
	}
	n := len(g.rules.Accounts)
	g.last = &federation.Guarantees{GuaranteeRules: g.rules, Held: make([]accounting.TRES, n), Lent: make([]map[string]map[federation.JobID]bool, n)}
	for i, a := range g.rules.Accounts {
		key := accounts.AccountKey(a.Account)
		g.last.Held[i] = maps.Clone(b.heldBy(key).tres)
		var ids []federation.JobID
		for name, most := range a.TRES {
			left := g.last.Held[i][name]
			if left <= most {
				continue
			}
			if ids == nil { // the newest first
				ids = slices.SortedFunc(maps.Keys(g.holds[key]), func(x, y federation.JobID) int {
					return cmp.Or(b.holds[y].want.Since.Compare(b.holds[x].want.Since), cmp.Compare(y, x))
				})
				g.last.Lent[i] = map[string]map[federation.JobID]bool{}
			}
			lent := map[federation.JobID]bool{}
			for _, id := range ids {
				if left <= most {
					break
				}
				if takes := b.holds[id].want.TRES[name]; takes > 0 {
					lent[id] = true
					left -= takes
				}
			}
			g.last.Lent[i][name] = lent
		}
	}
	return g.last
}

// note remembers that a job holds something, or does not any more.
func (g *guaranteed) note(id federation.JobID, h *hold, holds bool) {
	g.last = nil
	for _, k := range h.keys {
		switch of := g.holds[k]; {
		case of == nil:
		case holds:
			of[id] = true
		default:
			delete(of, id)
		}
	}
}

// guaranteesOf are the guarantees of a tree; nil if there are none.
func guaranteesOf(t *accounts.Tree) *federation.GuaranteeRules {
	r := &federation.GuaranteeRules{}
	index := map[string]int{}
	nearest := func(account string) int {
		for a := range t.Above(account) {
			if i, ok := index[a.Name]; ok {
				return i
			}
		}
		return -1
	}
	for a := range t.Accounts() {
		if most := a.TRES("Guarantee"); most != nil {
			above := nearest(a.Name)
			index[a.Name] = len(r.Accounts)
			r.Accounts = append(r.Accounts, federation.Guarantee{Account: a.Name, Above: above, TRES: most})
		}
	}
	if len(r.Accounts) == 0 {
		return nil
	}
	r.Of = func(j *federation.Job) int { return nearest(fairshare.KeyOf(t, j).Account) }
	return r
}
