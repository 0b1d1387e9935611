package answer

import (
	"fsub/federation"
	"fsub/federation/api/identity"
)

// By is a caller as the audit log names them.
func By(c identity.Caller) federation.Actor {
	return federation.Actor{User: c.Name, UID: c.UID, Role: c.Role.String(), From: c.From}
}
