package api

import (
	"context"

	"fsub/federation/api/answer"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
)

// auditLog answers for the audit log.
type auditLog struct {
	Store audit.Log
}

// List is GET /fed/v1/audit.
func (l *auditLog) List(ctx context.Context, q v1.AuditQuery, part past) (out []v1.AuditEntry, err error) {
	all, err := l.Store.Audit(ctx, audit.Query{User: q.User, Verb: q.Verb, Kind: q.Kind, Object: q.Object, Since: q.Since, Until: q.Until,
		After: part.After, Before: part.Before, Limit: part.Limit, Oldest: part.Oldest})
	for i := range all {
		out = append(out, v1.AuditEntryOf(&all[i]))
	}
	return out, answer.OfStore(err, answer.NoContact)
}
