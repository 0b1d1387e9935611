package show

import (
	"os"
	"strconv"

	"fsub/cmd/internal/conn"
	v1 "fsub/federation/api/v1"
)

var uid = os.Getuid

// UID is the caller's user ID on the daemon's machine: on another one it may be somebody else's.
func UID() int { return uid() }

// me is the caller in a query, as the daemon knows it.
var me = func() string { return strconv.Itoa(uid()) }

// Me is the caller as a value of the word users of a query: no request is needed to know it.
func Me() string { return me() }

// nobody is the user ID of no user.
const nobody = 1<<32 - 2

// AskUID has UID ask the daemon, once, if c leads to another machine. Where the daemon does not say who calls, UID is nobody's, and the request that needs it fails too.
func AskUID(c *conn.Conn) {
	if !c.Remote() {
		return
	}
	me = func() string { return v1.OfCaller }
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
