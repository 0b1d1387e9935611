package identity

import (
	"errors"
	"testing"
	"time"
)

// manyUsers counts what it is asked for. It knows those of even uids.
type manyUsers struct {
	Users
	asked int
}

func (u *manyUsers) UserName(uid uint32) (string, error) {
	if u.asked++; uid%2 == 1 {
		return "", errors.New("no such user")
	}
	return "somebody", nil
}

// TestNamesAreBounded: who asks for the names of all uids there can be does not fill the daemon's memory, and names are remembered all the same.
func TestNamesAreBounded(t *testing.T) {
	users := &manyUsers{}
	n := newNames(users, time.Now)
	for uid := range uint32(3 * mostNames) {
		n.UserName(uid)
		if len(n.names) > mostNames {
			t.Fatalf("%d names are remembered", len(n.names))
		}
	}
	before := users.asked
	for range 10 {
		if name, err := n.UserName(4); name != "somebody" || err != nil {
			t.Fatal(name, err)
		}
	}
	if more := users.asked - before; more > 1 {
		t.Errorf("asked %d times for the same", more)
	}
}

// inGroups has users in groups.
type inGroups struct {
	Users
	asked int
}

func (u *inGroups) Groups(user string) ([]string, error) {
	u.asked++
	return map[string][]string{"alice": {"users", "wheel"}, "bob": {"users"}}[user], nil
}

// TestOperatorsByGroup: all users of a group that the configuration names are operators, and a group is no user's name. Groups are asked for once a minute.
func TestOperatorsByGroup(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	users := &inGroups{}
	r := newRoles([]string{"%wheel", "carol"}, 77, newNames(users, func() time.Time { return now }).inGroup)
	for range 3 {
		for name, want := range map[string]Role{"alice": RoleOperator, "bob": RoleNone, "carol": RoleOperator, "%wheel": RoleNone, "wheel": RoleNone} {
			if got := r.of(Caller{Name: name, UID: 1000}); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
	}
	if users.asked != 4 {
		t.Errorf("asked %d times for the groups of four users", users.asked)
	}
	if now = now.Add(2 * nameLife); r.of(Caller{Name: "bob", UID: 1000}) != RoleNone || users.asked != 5 {
		t.Errorf("after two minutes asked %d times", users.asked)
	}
	if nobody := newRoles([]string{"%wheel"}, 77, newNames(&manyUsers{}, time.Now).inGroup); nobody.of(Caller{Name: "alice", UID: 1}) != RoleNone {
		t.Error("an operator, though nobody knows of groups")
	}
}
