package store

import (
	"context"
	"fmt"
	"time"

	"fsub/federation"
)

const chargeColumns = "attempt_key, job_id, run, task_index, attempt, array_id, site, cluster, user_name, account, qos, part, tres, per_hour, nodes, " +
	"state, start_time, end_time, suspended, price_from, amount, site_account"

// insertCharge changes nothing of what is there: a run is charged once.
var insertCharge = "INSERT INTO charges (" + chargeColumns + ") VALUES " + list(1, 22) + " ON CONFLICT (attempt_key, job_id, run, task_index) DO NOTHING"

func chargeValues(k *federation.Charge) []any {
	return []any{
		k.Key, int64(k.Job), int64(k.Run), int64(k.Task), int64(k.Attempt), int64(k.Array), string(k.Site), k.Cluster, k.User,
		k.Account, k.QOS, k.Partition, k.TRES, int64(k.PricePerHour), k.Nodes,
		string(k.State), nanos(k.Start), nanos(k.End), int64(k.Suspended), string(k.From), int64(k.Amount), k.SiteAccount,
	}
}

func readCharge(r *row) (k federation.Charge) {
	k.Key = r.text()
	k.Job = federation.JobID(r.int())
	k.Run, k.Task, k.Attempt = int(r.int()), int(r.int()), int(r.int())
	k.Array = federation.JobID(r.int())
	k.Site = federation.SiteName(r.word())
	k.Cluster, k.User = r.word(), r.word()
	k.Account, k.QOS, k.Partition, k.TRES = r.word(), r.word(), r.word(), r.word()
	k.PricePerHour = federation.Money(r.int())
	k.Nodes = r.word()
	k.State = federation.State(r.word())
	k.Start, k.End = r.time(), r.time()
	k.Suspended = time.Duration(r.int())
	k.From = federation.PriceSource(r.word())
	k.Amount = federation.Money(r.int())
	k.SiteAccount = r.word()
	return k
}

// Charges implements [federation.ChargeStore].
func (s *books) Charges(ctx context.Context, q federation.ChargeQuery) ([]federation.Charge, error) {
	var w where
	if q.Job != 0 {
		w.and("(job_id = %s OR array_id <> 0 AND array_id = %s)", int64(q.Job), int64(q.Job))
	}
	if !q.Since.IsZero() {
		w.and("end_time >= %s", nanos(q.Since))
	}
	if !q.Until.IsZero() {
		w.and("end_time < %s", nanos(q.Until))
	}
	for _, is := range [...]struct{ column, value string }{{"site", string(q.Site)}, {"account", q.Account}, {"user_name", q.User}} {
		if is.value != "" {
			w.and(is.column+" = %s", is.value)
		}
	}
	text := "SELECT " + chargeColumns + " FROM charges" + w.text() + " ORDER BY end_time, job_id, attempt, run, task_index"
	if q.Limit > 0 {
		w.args = append(w.args, q.Limit)
		text += fmt.Sprintf(" LIMIT $%d", len(w.args))
	}
	all, err := query(ctx, s.readers, readCharge, text, w.args...)
	if err != nil {
		return nil, fmt.Errorf("charges: %w", err)
	}
	return all, nil
}
