package identity

import "testing"

type books map[string]string // user -> account

func (b books) Coordinates(user, account string) bool { return user == "carol" && account == "physics" }
func (b books) AccountOf(user string) string          { return b[user] }

// A coordinator may act on the jobs of his accounts, also on those that name none; nobody else may.
func TestMayActFor(t *testing.T) {
	known := books{"alice": "physics", "bob": "vision"}
	for _, c := range []struct {
		caller        Caller
		uid           uint32
		user, account string
		want          bool
	}{
		{Caller{Name: "alice", UID: 7, coords: known}, 7, "alice", "physics", true},
		{Caller{Name: "bob", UID: 8, coords: known}, 7, "alice", "physics", false},
		{Caller{Name: "carol", UID: 9, coords: known}, 7, "alice", "physics", true},
		{Caller{Name: "carol", UID: 9, coords: known}, 7, "alice", "", true},
		{Caller{Name: "carol", UID: 9, coords: known}, 8, "bob", "", false},
		{Caller{Name: "carol", UID: 9, coords: known}, 8, "dave", "", false}, // of whom no account is known
		{Caller{Name: "carol", UID: 9, coords: known}, 8, "bob", "vision", false},
		{Caller{Name: "carol", UID: 9}, 7, "alice", "physics", false}, // with a token
		{Caller{Name: "olga", UID: 10, Role: RoleOperator}, 7, "alice", "", true},
	} {
		if got := c.caller.MayActFor(c.uid, c.user, c.account); got != c.want {
			t.Errorf("%s for %s's job on %q: %v", c.caller.Name, c.user, c.account, got)
		}
	}
}
