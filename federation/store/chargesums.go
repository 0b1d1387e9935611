package store

import (
	"context"
	"fmt"
	"time"

	"fsub/federation"
)

const selectChargeSums = "SELECT user_name, account, qos, tres, end_time / $1, SUM((end_time - start_time) / 1000000), SUM(amount) FROM charges " +
	"WHERE end_time >= $2 AND price_from <> '' GROUP BY user_name, account, qos, tres, end_time / $1"

// ChargeSums implements [federation.ChargeSummer].
func (s *Store) ChargeSums(ctx context.Context, since time.Time, step time.Duration) ([]federation.ChargeSum, error) {
	all, err := query(ctx, s.readers, func(r *row) (k federation.ChargeSum) {
		k.User, k.Account, k.QOS, k.TRES = r.word(), r.word(), r.word(), r.word()
		k.End = time.Unix(0, r.int()*int64(step)+int64(step)/2).UTC()
		k.Elapsed, k.Amount = time.Duration(r.int())*time.Millisecond, federation.Money(r.int())
		return k
	}, selectChargeSums, int64(step), nanos(since))
	if err != nil {
		return nil, fmt.Errorf("sums of charges: %w", err)
	}
	return all, nil
}
