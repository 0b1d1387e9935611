package place

import (
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// A site whose token acts for one user is none for the others, under whatever name it knows them.
func TestTokenOfOneUser(t *testing.T) {
	site := &federation.Site{Name: "delta", Seen: &federation.Observation{OnlyUser: "al"}, Users: map[string]federation.SiteUser{"alice": {Name: "al"}}}
	if a := accessOf(site, &federation.Job{User: "alice", Spec: new(sbatch.Spec)}); a.refusal != nil {
		t.Errorf("alice, who is al there: %+v", a.refusal)
	}
	for _, user := range []string{"bob", "al2"} {
		a := accessOf(site, &federation.Job{User: user, Spec: new(sbatch.Spec)})
		if a.refusal == nil || !a.refusal.never || !strings.Contains(a.refusal.why.Text(), "acts for al only") {
			t.Errorf("%s: %+v", user, a.refusal)
		}
	}
}

// Which QOS a job gets that names none is a right like others: where it changes, jobs are judged anew.
func TestDefaultQOSIsARight(t *testing.T) {
	seen := func(own, root string) *federation.Observation {
		return &federation.Observation{StrictQOS: map[string]time.Duration{"capped": 0}, Accounts: []federation.Account{{Name: "root", DefaultQOS: root}},
			Associations: federation.Associations{"alice": {{Account: "physics", DefaultQOS: own}}}}
	}
	for _, c := range []struct{ own, root, now string }{{"", "", "normal"}, {"", "capped", "capped"}, {"normal", "capped", "normal"}, {"capped", "", "capped"}} {
		o := seen(c.own, c.root)
		if got := defaultQOS(&federation.Site{Seen: o}, &o.Associations["alice"][0]); got != c.now {
			t.Errorf("%+v: %s", c, got)
		}
		if same := c.own == "" && c.root == ""; sameRightsSeen(seen("", ""), o) != same {
			t.Errorf("%+v: the same rights: %t", c, !same)
		}
	}
}
