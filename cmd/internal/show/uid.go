package show

import (
	"os"

	"fsub/cmd/internal/conn"
	v1 "fsub/federation/api/v1"
)

var uid = os.Getuid

// UID is the caller's user ID on the daemon's machine: on another one it may be somebody else's.
func UID() int { return uid() }

// nobody is the user ID of no user.
const nobody = 1<<32 - 2

// AskUID has UID ask the daemon, once, if c leads to another machine. Where the daemon does not say who calls, UID is nobody's, and the request that needs it fails too.
func AskUID(c *conn.Conn) {
	if !c.Remote() {
		return
	}
	uid = func() int {
		var who v1.Caller
		known := nobody
		if Get(c, "/fed/v1/caller", &who) == nil && who.User != "" {
			known = int(who.UID)
		}
		uid = func() int { return known }
		return known
	}
}
