package api

import (
	"context"

	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
)

// auditLog answers for the audit log.
type auditLog struct {
	Store audit.Log
}

// usualAudit is how many entries are listed where the query does not say; mostAudit how many at most.
const usualAudit, mostAudit = 1000, 100_000

// List lists the newest entries that q chooses, oldest first.
func (l *auditLog) List(ctx context.Context, _ identity.Caller, q v1.AuditQuery) (out []v1.AuditEntry, err error) {
	if q.Limit == 0 {
		q.Limit = usualAudit
	}
	all, err := l.Store.Audit(ctx, audit.Query{User: q.User, Verb: q.Verb, Kind: q.Kind, Object: q.Object, Since: q.Since, Until: q.Until, Limit: min(q.Limit, mostAudit)})
	for i := range all {
		out = append(out, v1.AuditEntryOf(&all[i]))
	}
	return out, answer.OfStore(err, answer.NoContact)
}
