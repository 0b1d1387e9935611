package queue

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
)

// chosen chooses the jobs of a user, or of those who are to be asked of each job those with an even ID.
type chosen struct{ user, ask string }

func (c chosen) Class(f *Facts, _ *string) (chosen, sure bool) {
	return f.User == c.user || f.User == c.ask, f.User != c.ask
}

func (c chosen) Job(l *Listed) bool { return l.ID%2 == 0 }

// A search that finds little stops before its end, and the next page goes on from there: all jobs are found, in order, in both directions, and no page passes more than it may.
func TestSearchesAreBounded(t *testing.T) {
	usual := searchBound
	defer func() { searchBound = usual }()
	rapid.Check(t, func(t *rapid.T) {
		searchBound = rapid.SampledFrom([]int{1, 7, 60, 1000}).Draw(t, "bound")
		q := New(Config{Now: time.Now}, nil)
		q.jobs = map[federation.JobID]*queuedJob{}
		users := []string{"alice", "bob", "carol"}
		var want []*queuedJob
		c := chosen{rapid.SampledFrom(append(users, "nobody")).Draw(t, "user"), rapid.SampledFrom(append(users, "nobody")).Draw(t, "ask")}
		for i := range rapid.IntRange(0, 300).Draw(t, "jobs") {
			user := rapid.SampledFrom(users).Draw(t, "owner")
			x := &listing{id: federation.JobID(1 + i), submit: int64(rapid.IntRange(1, 20).Draw(t, "submit")), tasks: 1,
				class: q.lists.classes.of(classKey{Facts: Facts{User: user, State: federation.Pending}})}
			k := &queuedJob{rest: &queuedRest{list: x}}
			q.jobs[x.id] = k
			q.lists.add(k)
			if user == c.user && user != c.ask || user == c.ask && x.id%2 == 0 {
				want = append(want, k)
			}
		}
		order := rapid.SampledFrom([]string{"id", "submit", "user"}).Draw(t, "order")
		slices.SortStableFunc(want, func(a, b *queuedJob) int {
			switch order {
			case "submit":
				return cmp.Compare(a.submitted(), b.submitted())
			case "user":
				return cmp.Compare(q.lists.listed(a).User, q.lists.listed(b).User)
			}
			return 0
		})
		var ids, got []federation.JobID
		for _, k := range want {
			ids = append(ids, k.id())
		}
		ask := PageQuery{Sort: order, Limit: rapid.IntRange(1, 30).Draw(t, "limit"), Choice: c}
		if rapid.Bool().Draw(t, "down") {
			ask.Sort = "-" + order
			slices.Reverse(ids)
		}
		pages := []*Page{}
		for {
			p, err := Lists{q}.Page(&ask)
			if err != nil || len(p.IDs) > ask.Limit {
				t.Fatalf("%d jobs in a page of %d, %v", len(p.IDs), ask.Limit, err)
			}
			pages, got = append(pages, p), append(got, p.IDs...)
			if ask.After = p.Next; p.Next == "" {
				break
			}
			if len(pages) > len(q.jobs)+1 {
				t.Fatal("the pages do not end")
			}
		}
		if !slices.Equal(got, ids) {
			t.Fatalf("by %s: found %v, want %v", ask.Sort, got, ids)
		}
		if last := pages[len(pages)-1]; len(last.IDs) > 0 && last.Prev != "" { // and back
			got = slices.Clone(last.IDs)
			for ask.After, ask.Before = "", last.Prev; ask.Before != ""; {
				p, err := Lists{q}.Page(&ask)
				if err != nil {
					t.Fatal(err)
				}
				got, ask.Before = append(slices.Clone(p.IDs), got...), p.Prev
			}
			if !slices.Equal(got, ids) {
				t.Fatalf("by %s, back: found %v, want %v", ask.Sort, got, ids)
			}
		}
	})
}

// Where no job can be chosen none is looked at.
func TestNothingIsSearchedForNothing(t *testing.T) {
	q := New(Config{Now: time.Now}, nil)
	q.jobs = map[federation.JobID]*queuedJob{}
	for i := range 100 {
		x := &listing{id: federation.JobID(1 + i), tasks: 1, class: q.lists.classes.of(classKey{Facts: Facts{User: fmt.Sprint(i % 3), State: federation.Pending}})}
		k := &queuedJob{rest: &queuedRest{list: x}}
		q.jobs[x.id] = k
		q.lists.add(k)
	}
	p, err := Lists{q}.Page(&PageQuery{Limit: 10, Choice: chosen{"nobody", "nobody"}})
	if err != nil || len(p.IDs) > 0 || p.Next != "" || len(q.lists.indexes) > 0 {
		t.Errorf("%+v, %v; %d indexes were made", p, err, len(q.lists.indexes))
	}
}
