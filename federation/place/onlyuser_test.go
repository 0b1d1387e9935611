package place

import (
	"strings"
	"testing"

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
