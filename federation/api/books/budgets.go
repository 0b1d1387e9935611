package books

import (
	"net/http"

	"fsub/federation/accounts"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/quota"
)

// BudgetList is GET /fed/v1/books/budgets. A user sees his own, a coordinator those of his accounts and of those below them, operators all.
func (b *Books) BudgetList(w http.ResponseWriter, _ *http.Request, c identity.Caller) error {
	return answer.JSON(w, b.budgets(c))
}

func (b *Books) budgets(c identity.Caller) []v1.Budget {
	out := []v1.Budget{}
	if b.Budgets == nil {
		return out
	}
	for _, s := range b.Budgets() {
		if seesBudget(c, &s) {
			out = append(out, v1.Budget{Kind: s.Kind, Account: s.Account, Name: s.Name, TRES: s.Of, Period: s.Period, Since: s.Since, Until: s.Until,
				Limit: s.Limit, Used: s.Used, Running: s.Running, Reserved: s.Reserved, Daily: s.Daily})
		}
	}
	return out
}

func seesBudget(c identity.Caller, s *quota.Standing) bool {
	switch {
	case c.Role >= identity.RoleOperator:
		return true
	case s.Kind == accounts.User:
		return s.Name == c.Name || c.Coordinates(s.Account)
	}
	return s.Kind == accounts.Account && c.Coordinates(s.Name)
}
