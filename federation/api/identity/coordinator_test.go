package identity

import (
	"net/http/httptest"
	"testing"
	"time"
)

type leads struct{}

func (leads) CoordinatesAny(user string) bool       { return user == "carol" }
func (leads) Coordinates(user, account string) bool { return user == "carol" && account == "physics" }

// A coordinator may act on the jobs that were submitted under his accounts, and on no others.
func TestMayActFor(t *testing.T) {
	for _, c := range []struct {
		caller  Caller
		uid     uint32
		account string
		want    bool
	}{
		{Caller{Name: "alice", UID: 7, coords: leads{}}, 7, "physics", true},
		{Caller{Name: "bob", UID: 8, coords: leads{}}, 7, "physics", false},
		{Caller{Name: "carol", UID: 9, coords: leads{}}, 7, "physics", true},
		{Caller{Name: "carol", UID: 9, coords: leads{}}, 8, "", false}, // of which no account is known
		{Caller{Name: "carol", UID: 9, coords: leads{}}, 8, "vision", false},
		{Caller{Name: "carol", UID: 9}, 7, "physics", false}, // with a token
		{Caller{Name: "olga", UID: 10, Role: RoleOperator}, 7, "", true},
	} {
		if got := c.caller.MayActFor(c.uid, c.account); got != c.want {
			t.Errorf("%s for a job of uid %d under %q: %v", c.caller.Name, c.uid, c.account, got)
		}
	}
}

type carolOnly struct{ SystemUsers }

func (carolOnly) UserName(uint32) (string, error)             { return "carol", nil }
func (carolOnly) UserIDs(string) (uid, gid uint32, err error) { return 9, 9, nil }

// At a browser a coordinator sees what one sees, and acts on jobs; nothing else is changed there as a coordinator.
func TestCoordinatorAtABrowser(t *testing.T) {
	i := New(Config{Users: carolOnly{}, Coordinators: leads{}, Now: time.Now})
	for _, c := range []struct {
		method, path string
		want         bool
	}{{"GET", "/fed/v1/books/sums", true}, {"POST", "/fed/v1/operations", true}, {"POST", "/fed/v1/accounts", false}, {"DELETE", "/fed/v1/reports", false}} {
		r := httptest.NewRequest(c.method, c.path, nil)
		got, err := i.Caller(r.WithContext(ByBrowser(r.Context(), 9, false)))
		if err != nil || got.CoordinatesAny() != c.want || got.Role != RoleNone {
			t.Errorf("%s %s: %+v, %v", c.method, c.path, got, err)
		}
	}
}
