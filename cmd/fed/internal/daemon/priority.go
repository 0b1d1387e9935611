package daemon

import (
	"context"
	"log/slog"
	"time"

	"fsub/cmd/fed/internal/config"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/controller"
	"fsub/federation/fairshare"
)

// openShares reads what has been used lately: what is older than twelve half-lives counts for nothing.
func openShares(ctx context.Context, p *config.Priority, books *accounts.Books, st federation.ChargeSummer) (*fairshare.Shares, error) {
	s := fairshare.New(p.FairShare(), books)
	since, step := time.Unix(0, 0), 24*time.Hour
	if p.HalfLife > 0 {
		since, step = time.Now().Add(-12*p.HalfLife), max(p.HalfLife/168, time.Minute)
	}
	sums, err := st.ChargeSums(ctx, since, step)
	if err != nil {
		return nil, err
	}
	for i := range sums {
		s.AddSum(&sums[i])
	}
	s.Pass(time.Now(), nil)
	return s, nil
}

// directUse tells fair-share what jobs have used that were submitted at the sites themselves, as far as the ledger knows of them. What is older than a day is
// read anew seldom.
func directUse(ctx context.Context, p *config.Priority, sites func() []controller.Site, st federation.DirectSummer, shares *fairshare.Shares, log *slog.Logger) error {
	const recent = 24 * time.Hour
	since, step := time.Unix(0, 0), 24*time.Hour
	var old []federation.ChargeSum
	var cut, next time.Time
	read := func(from, until time.Time) (all []federation.ChargeSum, err error) {
		for _, s := range sites() {
			some, err := st.DirectSums(ctx, s.Name, from, until, step)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return all, nil
	}
	once := func(now time.Time) error {
		if p.HalfLife > 0 {
			since, step = now.Add(-12*p.HalfLife), max(p.HalfLife/168, time.Minute)
		}
		if !now.Before(next) {
			all, err := read(since, now.Add(-recent))
			if err != nil {
				return err
			}
			old, cut, next = all, now.Add(-recent), now.Add(recent/4)
		}
		all, err := read(cut, now.Add(recent))
		if err == nil {
			shares.Direct(append(all, old...), now)
		}
		return err
	}
	t := time.NewTicker(max(p.Period, time.Second))
	defer t.Stop()
	for {
		if err := once(time.Now()); err != nil && ctx.Err() == nil {
			log.Warn("usage of jobs submitted at sites not read", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}
