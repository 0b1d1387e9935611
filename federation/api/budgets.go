package api

import (
	"context"
	"time"

	"fsub/federation/accounts"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/quota"
	"fsub/federation/share"
)

// BudgetList is GET /fed/v1/books/budgets. A user sees his own and those of the accounts that he is in, a coordinator those of his accounts, both with those that bound
// them, operators all. Who is kept back by a budget is told how it stands anyway.
func (b *books) BudgetList(ctx context.Context, c identity.Caller, _ v1.None) ([]v1.Budget, error) {
	return b.budgets(ctx, c)
}

// standWithin bounds the wait for budgets that were set just now.
const standWithin = 2 * time.Second

// wait waits until the controller has looked at the budgets as they are in the tree now.
func (b *books) wait(ctx context.Context) {
	if b.Stand == nil || b.Stand() {
		return
	}
	defer share.Idle(ctx)()
	for end := time.Now().Add(standWithin); !b.Stand() && time.Now().Before(end) && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		b.Wake()
	}
}

func (b *books) budgets(ctx context.Context, c identity.Caller) ([]v1.Budget, error) {
	out := []v1.Budget{}
	if b.Budgets == nil {
		return out, nil
	}
	b.wait(ctx)
	closed, err := b.closed(ctx)
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	for _, s := range b.Budgets() {
		if b.seesBudget(c, &s) {
			out = append(out, v1.Budget{Kind: s.Kind, Account: s.Account, Name: s.Name, TRES: s.Of, Period: s.Period, Since: s.Since, Until: s.Until,
				Limit: s.Limit, Used: s.Used, Running: s.Running, Reserved: s.Reserved, Daily: s.Daily, Closed: closed[s.Key]})
		}
	}
	return out, nil
}

// closed are sentences about where accounts are closed.
func (b *books) closed(ctx context.Context) (map[accounts.Key][]string, error) {
	if b.Closed == nil {
		return nil, nil
	}
	all, err := b.Closed(ctx)
	of := map[accounts.Key][]string{}
	for i := range all {
		of[all[i].Key] = append(of[all[i].Key], all[i].Text())
	}
	return of, err
}

func (b *books) seesBudget(c identity.Caller, s *quota.Standing) bool {
	switch {
	case c.Role >= identity.RoleOperator:
		return true
	case s.Kind == accounts.User:
		return s.Name == c.Name || c.Coordinates(s.Account)
	}
	return s.Kind == accounts.Account && (c.Coordinates(s.Name) || b.Tree != nil && b.Tree().Below(s.Name, c.Name))
}
