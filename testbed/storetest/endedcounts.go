package storetest

import (
	"cmp"
	"errors"
	"slices"

	"fsub/federation"
	"fsub/federation/ended"
	"fsub/federation/journal"
	"fsub/sbatch"
)

func testCountEnded(e *env) {
	s := e.open()
	put := func(user, account, group string, state federation.State, site federation.SiteName, change func(*federation.Job)) {
		j := federation.Job{User: user, UID: 1001, Spec: &sbatch.Spec{Name: "a \"quoted\" ü", Account: account}}
		if group != "" {
			j.Spec.Fed = &sbatch.Fed{Group: group}
		}
		if change != nil {
			change(&j)
		}
		e.must(s.CreateJob(ctx, &j, &sbatch.Payload{Script: "x"}))
		j.State, j.Site = state, site
		e.must(s.Commit(ctx, &journal.Batch{Jobs: []*federation.Job{&j}}))
	}
	for range 3 {
		put("alice", "", "sweep/a", federation.Completed, "alpha", nil)
	}
	put("alice", "asked", "", federation.Failed, "alpha", nil)
	put("alice", "asked", "", federation.Failed, "alpha", func(j *federation.Job) { j.Account = "ran" })
	put("alice", "", "", federation.Running, "alpha", nil)
	put("bob", "", "sweep", federation.Cancelled, "", nil)
	put("bob", "", "", federation.Cancelled, "", func(j *federation.Job) {
		j.Spec.Array, j.Whole = "0-9", &federation.ArrayWhole{Count: 10, Max: 9, Step: 1}
	})
	count := func(user string) (all []ended.Count) {
		e.must(s.CountEnded(ctx, user, func(some []ended.Count) error {
			all = append(all, some...)
			return nil
		}))
		slices.SortFunc(all, func(a, b ended.Count) int {
			return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(b.Group, a.Group), cmp.Compare(a.Account, b.Account))
		})
		return all
	}
	alice := []ended.Count{{User: "alice", Group: "sweep/a", State: federation.Completed, Site: "alpha", Jobs: 3}, {User: "alice", Account: "asked", State: federation.Failed, Site: "alpha", Jobs: 1},
		{User: "alice", Account: "ran", State: federation.Failed, Site: "alpha", Jobs: 1}}
	e.same("counts of alice", count("alice"), alice)
	e.same("counts of all", count(""), append(alice, ended.Count{User: "bob", Group: "sweep", State: federation.Cancelled, Jobs: 1}))
	e.same("counts of nobody", len(count("carol")), 0)
	enough := errors.New("enough")
	e.wants(s.CountEnded(ctx, "", func([]ended.Count) error { return enough }), enough)
	arrays, err := s.Jobs(ctx, federation.JobQuery{Arrays: true, States: federation.EndStates})
	e.must(err)
	e.same("arrays", len(arrays), 1)
}
