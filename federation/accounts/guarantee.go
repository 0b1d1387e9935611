package accounts

import (
	"fmt"
	"maps"
	"slices"

	"fsub/accounting"
)

// checkGuarantees refuses guarantees of accounts that come to more than an account above them is guaranteed: they could not all be kept.
func (t *Tree) checkGuarantees() error {
	below := map[string]accounting.TRES{} // by account: what those below it are guaranteed, as the nearest of them say
	for a := range t.Accounts() {
		for name, n := range a.TRES("Guarantee") {
			for up := range t.Above(a.Parent) {
				if _, is := up.TRES("Guarantee")[name]; !is {
					continue
				}
				if below[up.Name] == nil {
					below[up.Name] = accounting.TRES{}
				}
				below[up.Name][name] += n
				break
			}
		}
	}
	for _, account := range slices.Sorted(maps.Keys(below)) {
		has := t.all[AccountKey(account)].TRES("Guarantee")
		for _, name := range slices.Sorted(maps.Keys(below[account])) {
			if sum := below[account][name]; sum > has[name] {
				return fmt.Errorf("account %s: Guarantee %s=%d is less than the accounts below it are guaranteed together, %d: raise it, or lower theirs first", account, name, has[name], sum)
			}
		}
	}
	return nil
}
