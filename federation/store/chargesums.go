package store

import (
	"context"
	"fmt"
	"time"

	"fsub/accounting/ledger"
	"fsub/federation"
)

const selectChargeSums = "SELECT user_name, account, qos, tres, end_time / $1, CAST(SUM((end_time - start_time) / 1000000) AS BIGINT), CAST(SUM(amount) AS BIGINT), COUNT(*) FROM charges " +
	"WHERE end_time >= $2 AND price_from <> '' GROUP BY user_name, account, qos, tres, end_time / $1, (end_time - start_time) / $1"

// ChargeSums implements [federation.ChargeSummer].
func (s *books) ChargeSums(ctx context.Context, since time.Time, step time.Duration) ([]federation.ChargeSum, error) {
	all, err := query(ctx, s.readers, func(r *row) (k federation.ChargeSum) {
		k.User, k.Account, k.QOS, k.TRES = r.word(), r.word(), r.word(), r.word()
		k.End = time.Unix(0, r.int()*int64(step)+int64(step)/2).UTC()
		k.Elapsed, k.Amount, k.Runs = time.Duration(r.int())*time.Millisecond, federation.Money(r.int()), int(r.int())
		return k
	}, selectChargeSums, int64(step), nanos(since))
	if err != nil {
		return nil, fmt.Errorf("sums of charges: %w", err)
	}
	return all, nil
}

const selectDirectSums = "SELECT g.user_name, g.account, g.qos, t.word, l.end_time / $1, CAST(SUM(l.end_time - l.start_time - l.suspended) AS BIGINT), CAST(SUM(l.amount) AS BIGINT), COUNT(*) FROM ledger l " +
	"JOIN ledger_words t ON t.id = l.tres JOIN ledger_groups g ON g.id = l.grp " +
	"WHERE l.site = (SELECT id FROM ledger_words WHERE word = $2) AND l.end_time >= $3 AND l.end_time < $4 AND l.kind = $5 GROUP BY g.user_name, g.account, g.qos, t.word, l.end_time / $1, (l.end_time - l.start_time - l.suspended) / $1"

// DirectSums implements [federation.DirectSummer].
func (s *books) DirectSums(ctx context.Context, site federation.SiteName, from, until time.Time, step time.Duration) ([]federation.ChargeSum, error) {
	seconds := max(int64(step/time.Second), 1)
	all, err := query(ctx, s.readers, func(r *row) (k federation.ChargeSum) {
		k.User, k.Account, k.QOS, k.TRES = r.word(), r.word(), r.word(), r.word()
		k.End = time.Unix(r.int()*seconds+seconds/2, 0).UTC()
		k.Elapsed, k.Amount, k.Runs = time.Duration(r.int())*time.Second, federation.Money(r.int()), int(r.int())
		return k
	}, selectDirectSums, seconds, string(site), from.Unix(), until.Unix(), int64(ledger.SiteJob))
	if err != nil {
		return nil, fmt.Errorf("sums of jobs submitted at site %s: %w", site, err)
	}
	return all, nil
}
