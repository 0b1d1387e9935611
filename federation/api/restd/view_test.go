package restd

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/idle"
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

// What a waiting job has from its partition is told by a site that it asks for.
func TestLimitOfAWaitingJob(t *testing.T) {
	v := &View{Sites: []*federation.Site{{Name: "a"}, {Name: "b"}}, partitions: map[federation.SiteName]map[string]*federation.Partition{
		"a": {"main": {DefaultTime: time.Hour}}, "b": {"main": {}}}}
	for _, c := range []struct {
		spec sbatch.Spec
		want time.Duration
	}{
		{sbatch.Spec{}, time.Hour},
		{sbatch.Spec{Clusters: "b"}, sbatch.Unlimited},
		{sbatch.Spec{Fed: &sbatch.Fed{Sites: []string{"b"}}}, sbatch.Unlimited},
		{sbatch.Spec{Fed: &sbatch.Fed{NotSites: []string{"a"}}}, sbatch.Unlimited},
		{sbatch.Spec{Clusters: "nosuch"}, time.Hour},
		{sbatch.Spec{Clusters: "b", TimeLimit: time.Minute}, time.Minute},
	} {
		c.spec.Partition = "main"
		if got := v.limitOf(&federation.Job{Spec: &c.spec}); got != c.want {
			t.Errorf("%+v: %s, want %s", c.spec, got, c.want)
		}
	}
}

type someUsers struct{ identity.Users }

func (someUsers) GroupName(uint32) (string, error) { return "users", nil }

// What is remarked of a running job is its system_comment, and leaves its user's comment alone. It is over with the run.
func TestSystemComment(t *testing.T) {
	id := federation.FirstJobID
	l := Lister{Now: time.Now, All: func() []*federation.Site { return nil }, Users: identity.New(identity.Config{Users: someUsers{}, Now: time.Now}).Users, Idle: func() []idle.Held {
		return []idle.Held{{Job: id, Text: "its 8 GPUs were used below 5 %"}, {Job: id + 1, Now: true}}
	}}
	for i, c := range []struct {
		id    federation.JobID
		state federation.State
		want  string
	}{{id, federation.Running, "idle-held: its 8 GPUs were used below 5 %"}, {id, federation.Completed, ""}, {id + 1, federation.Running, ""}} {
		j := federation.Job{ID: c.id, State: c.state, User: "alice", Spec: &sbatch.Spec{Comment: "mine"}}
		if w := l.View().Record(&Parts(&j, nil)[0]); w.SystemComment != c.want || w.Comment != "mine" {
			t.Errorf("%d: system_comment %q, want %q; comment %q", i, w.SystemComment, c.want, w.Comment)
		}
	}
}
