package listing

import (
	"testing"

	"fsub/federation"
	"fsub/sbatch"
)

// A job that waits has its user's default account where it names none, if all sites agree about that.
func TestAccountOfAWaitingJob(t *testing.T) {
	site := func(name, user, account string) *federation.Site {
		s := &federation.Site{Users: map[string]federation.SiteUser{"carol": {Name: "c"}}, Seen: &federation.Observation{Associations: map[string][]federation.Association{
			user: {{Account: "other"}, {Account: account, Default: true}}}}}
		s.Name = federation.SiteName(name)
		return s
	}
	v := &View{Sites: []*federation.Site{site("a", "alice", "physics"), site("b", "alice", "physics"), site("c", "bob", "vision"), site("d", "bob", "biology"), site("e", "c", "chemistry")}}
	for _, c := range []struct {
		job  federation.Job
		want string
	}{
		{federation.Job{User: "alice", Spec: &sbatch.Spec{}}, "physics"},
		{federation.Job{User: "alice", Spec: &sbatch.Spec{Account: "other"}}, "other"},
		{federation.Job{User: "alice", Account: "found", Spec: &sbatch.Spec{}}, "found"},
		{federation.Job{User: "alice", Site: "a", Spec: &sbatch.Spec{}}, ""},
		{federation.Job{User: "bob", Spec: &sbatch.Spec{}}, ""},
		{federation.Job{User: "carol", Spec: &sbatch.Spec{}}, "chemistry"},
		{federation.Job{User: "nobody", Spec: &sbatch.Spec{}}, ""},
	} {
		for range 2 { // also the second time
			if got := v.accountOf(&c.job); got != c.want {
				t.Errorf("%+v: %q, want %q", c.job, got, c.want)
			}
		}
	}
}
