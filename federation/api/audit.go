package api

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
)

// auditLog answers for the audit log.
type auditLog struct {
	Store federation.AuditLog
}

// usualAudit is how many entries are listed where the query does not say; mostAudit how many at most.
const usualAudit, mostAudit = 1000, 100_000

// List is GET /fed/v1/audit.
func (l *auditLog) List(w http.ResponseWriter, r *http.Request, _ identity.Caller) error {
	q, err := auditQuery(r.URL.Query())
	if err != nil {
		return err
	}
	out := []v1.AuditEntry{}
	if l.Store != nil {
		all, err := l.Store.Audit(r.Context(), q)
		if err != nil {
			return answer.OfStore(err, answer.NoContact)
		}
		for i := range all {
			out = append(out, v1.AuditEntryOf(&all[i]))
		}
	}
	return answer.JSON(w, out)
}

func auditQuery(v url.Values) (q federation.AuditQuery, err error) {
	q = federation.AuditQuery{User: v.Get("user"), Verb: v.Get("verb"), Kind: federation.AuditObject(v.Get("kind")), Object: v.Get("object"), Limit: usualAudit}
	number := func(name string, take func(n int64)) {
		text := v.Get(name)
		if text == "" || err != nil {
			return
		}
		n, bad := strconv.ParseInt(text, 10, 64)
		if bad != nil || n < 0 {
			err = answer.BadBody("invalid " + name + " " + strconv.Quote(text) + ": want a number")
			return
		}
		take(n)
	}
	number("since", func(n int64) { q.Since = time.Unix(n, 0) })
	number("until", func(n int64) { q.Until = time.Unix(n, 0) })
	number("limit", func(n int64) { q.Limit = int(min(max(n, 1), mostAudit)) })
	return q, err
}
