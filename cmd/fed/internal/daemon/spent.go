package daemon

import (
	"context"
	"log/slog"
	"time"

	"fsub/cmd/fed/internal/config"
	"fsub/federation/closing"
	"fsub/federation/quota"
)

// spentEvery is how often budgets hear of what was booked of others than the federation's own runs: a site's accounting is read every half minute.
const spentEvery = 10 * time.Second

// newSpent returns what tells budgets what is in the books, and reads it once: before anything is planned.
func newSpent(ctx context.Context, c *config.Config, p *parts) *quota.Reader {
	p.quota.Booked.All = c.Books.Sites
	r := quota.NewReader(p.quota, p.ledger)
	if err := r.Read(ctx, time.Now()); err != nil && ctx.Err() == nil {
		p.logOf("ledger").Warn("what was spent is not read from the books yet: budgets count what the federation's own runs cost", "err", err)
	}
	return r
}

// followBooks tells budgets what is booked until ctx ends.
func followBooks(ctx context.Context, r *quota.Reader, log *slog.Logger) error {
	t := time.NewTicker(spentEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-t.C:
			if err := r.Read(ctx, now); err != nil && ctx.Err() == nil {
				log.Warn("what was spent is not read from the books: budgets count what they knew", "err", err)
			}
		}
	}
}

// closer closes the accounts of used budgets at sites, as the account tree says.
func (p *parts) closer() *closing.Keeper {
	return closing.New(closing.Config{Tree: p.books.Tree, Budgets: p.quota.Standings, Stand: func() bool { return p.spent.HasRead() && p.quota.Stands() }, Sites: p.members.keepers,
		Closed: closing.In(p.store), Commit: p.store.Commit, Notify: p.notices.tell, Logger: p.logOf("accounts")})
}
