package client

import (
	"context"
	"fmt"
	"net/url"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
)

// Audit reads the audit log; operators only. After is of no use here.
func (c *Client) Audit(ctx context.Context, q federation.AuditQuery) ([]v1.AuditEntry, error) {
	v := url.Values{"user": {q.User}, "verb": {q.Verb}, "kind": {string(q.Kind)}, "object": {q.Object}}
	if !q.Since.IsZero() {
		v.Set("since", fmt.Sprint(q.Since.Unix()))
	}
	if !q.Until.IsZero() {
		v.Set("until", fmt.Sprint(q.Until.Unix()))
	}
	if q.Limit > 0 {
		v.Set("limit", fmt.Sprint(q.Limit))
	}
	out, err := get[[]v1.AuditEntry](ctx, c, "/fed/v1/audit?"+v.Encode())
	return *out, err
}
