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
