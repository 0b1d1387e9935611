package queue

import (
	"cmp"
	"fmt"
	"maps"
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

// What comes and goes while an index is made is in it, or is not, as in one that is made afterwards; so is what comes later.
func TestIndexesThatAreMadeMeanwhile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := New(Config{Now: time.Now}, nil)
		q.jobs = map[federation.JobID]*queuedJob{}
		next := federation.JobID(1)
		make1 := func(id federation.JobID, facts Facts) *queuedJob {
			x := &listing{id: id, tasks: 1, submit: int64(rapid.IntRange(1, 5).Draw(t, "submit")), class: q.lists.classes.of(classKey{Facts: facts})}
			return &queuedJob{rest: &queuedRest{list: x}}
		}
		change := func() {
			facts := Facts{User: rapid.SampledFrom([]string{"alice", "bob", "carol"}).Draw(t, "user"), State: federation.Pending}
			ids := slices.Sorted(maps.Keys(q.jobs))
			switch what := rapid.IntRange(0, 3).Draw(t, "what"); {
			case what < 2 || len(ids) == 0:
				k := make1(next, facts)
				q.jobs[next] = k
				q.lists.add(k)
				next++
			case what == 2:
				id := rapid.SampledFrom(ids).Draw(t, "gone")
				q.lists.remove(q.jobs[id])
				delete(q.jobs, id)
			default:
				id := rapid.SampledFrom(ids).Draw(t, "replaced")
				old := q.jobs[id]
				k := make1(id, q.lists.classes.all[old.class()].Facts)
				q.jobs[id] = k
				q.lists.replace(old, k)
			}
		}
		changes := func() {
			for range rapid.IntRange(0, 20).Draw(t, "changes") {
				change()
			}
		}
		changes()
		if rapid.Bool().Draw(t, "by id first") {
			Lists{q}.prepare(byID)
		}
		by := &listOrders[rapid.SampledFrom([]int{0, 1, 4}).Draw(t, "order")]
		if q.lists.has(by) {
			return
		}
		b := q.lists.begin(by, q.jobs)
		changes()
		all := b.sorted()
		x := q.lists.finish(b, all, time.Now())
		changes()
		var got []federation.JobID
		x.walk(&q.lists, nil, false, func(e entry) bool {
			if got = append(got, e.k.id()); e.k != q.jobs[e.k.id()] || e.class != e.k.class() {
				t.Fatalf("job %d is another one", e.k.id())
			}
			return true
		})
		want := slices.SortedFunc(maps.Keys(q.jobs), func(a, b federation.JobID) int {
			pa, pb := q.lists.placeOf(by, q.jobs[a]), q.lists.placeOf(by, q.jobs[b])
			return pa.compare(&pb)
		})
		if !slices.Equal(got, want) {
			t.Fatalf("by %s: %v, want %v", by.name, got, want)
		}
	})
}
