package answer

import (
	"fsub/federation/api/identity"
	"fsub/federation/audit"
)

// By is a caller as the audit log names them.
func By(c identity.Caller) audit.Actor {
	return audit.Actor{User: c.Name, UID: c.UID, Role: c.Role.String(), From: c.From}
}
