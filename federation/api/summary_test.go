package api_test

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/queue"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// Whatever comes, changes, ends or is forgotten, and whichever server answers, the summary is what a count of all jobs gives: 100 runs of 100 steps.
func TestSummaryIsACount(t *testing.T) {
	outer := t
	bys := []string{"state", "state,user", "user,account,site,reason,state", "site", "group,user"}
	rapid.Check(t, func(t *rapid.T) {
		var clock atomic.Int64
		began := time.Now().Truncate(time.Second)
		now := func() time.Time { return began.Add(time.Duration(clock.Load())) }
		store := apitest.NewStore()
		controller := apitest.NewController(store)
		c := api.Config{Store: store, Controller: controller, Users: queueUsers{}, Now: now, MinJobAge: time.Minute, Database: "one", Queue: queue.New(queue.Config{}, nil)}
		d := apitest.Start(outer, c)
		defer func() { d.Stop() }()
		w := queueWriter{store: store, controller: controller, now: now}
		w.sites(0)
		check := func() {
			by := rapid.SampledFrom(bys).Draw(t, "by")
			where := rapid.SampledFrom([]string{"", "user=alice", "site!=none", "state=R", "group=sweep"}).Draw(t, "where")
			q := url.Values{"by": {by}}
			if where != "" {
				q.Set("where", where)
			}
			r := newReader[v1.JobCount](d.Socket)
			defer r.CloseIdleConnections()
			p, status, body, err := r.get("/fed/v1/summary", q, "")
			if err != nil || status != http.StatusOK {
				t.Fatalf("%d %s %v", status, body, err)
			}
			jobs, err := store.Jobs(context.Background(), federation.JobQuery{Live: true})
			if err != nil {
				t.Fatal(err)
			}
			want := map[v1.JobCount][2]int64{}
			for i := range jobs {
				j := &jobs[i]
				l, listed := queue.ListedOf(j)
				if !listed || where == "user=alice" && l.User != "alice" || where == "site!=none" && l.Site == "" || where == "state=R" && l.State != federation.Running ||
					where == "group=sweep" && l.Group != "sweep" && l.Group != "sweep/lr" {
					continue
				}
				tasks := int64(1)
				if a, err := federation.ReadArray(j.Spec.Array); err == nil && j.Part == nil && a.Len() > 0 {
					tasks = int64(a.Len())
				}
				var key v1.JobCount
				for word := range strings.SplitSeq(by, ",") {
					switch word {
					case "state":
						key.State = l.State
					case "user":
						key.User = l.User
					case "account":
						key.Account = l.Account
					case "site":
						key.Site = l.Site
					case "reason":
						key.Reason = l.Reason
					case "group":
						key.Group = l.Group
					}
				}
				n := want[key]
				want[key] = [2]int64{n[0] + 1, n[1] + tasks}
			}
			for _, n := range p.Items {
				key := n
				key.Jobs, key.Tasks = 0, 0
				if want[key] != [2]int64{n.Jobs, n.Tasks} {
					t.Fatalf("by %s where %q: %+v, want %v of %v", by, where, n, want[key], want)
				}
				delete(want, key)
			}
			if len(want) > 0 || !slices.IsSortedFunc(p.Items, func(a, b v1.JobCount) int { return int(b.Tasks - a.Tasks) }) {
				t.Fatalf("by %s where %q: %+v lacks %v, or is not in order", by, where, p.Items, want)
			}
		}
		for i := range 100 {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1, 2:
				w.create(t)
			case 3, 4, 5, 6:
				w.change(t)
			case 7:
				w.task(t)
			case 8:
				clock.Add(int64(rapid.SampledFrom([]time.Duration{time.Second, 40 * time.Second, time.Hour}).Draw(t, "later")))
			case 9:
				w.sites(rapid.IntRange(0, 2).Draw(t, "world"))
			}
			if i%10 == 9 {
				check()
			}
			if i%50 == 49 { // another server takes over the queue
				d.Stop()
				d = apitest.Start(outer, c)
			}
		}
	})
}

func TestSummaryIsAskedFor(t *testing.T) {
	d := apitest.Start(t, api.Config{Users: queueUsers{}})
	ended := job(0, bob, federation.Failed)
	ended.End = time.Now()
	d.Put(t, job(0, alice, federation.Pending), job(0, alice, federation.Pending), job(0, bob, federation.Pending), ended)
	r := newReader[v1.JobCount](d.Socket)
	for query, want := range map[string]string{
		"":                          `[{"state":"PENDING","jobs":3,"tasks":3}]`,
		"by=user":                   `[{"user":"alice","jobs":2,"tasks":2},{"user":"bob","jobs":1,"tasks":1}]`,
		"by=user&limit=1":           `[{"user":"alice","jobs":2,"tasks":2}]`,
		"by=user&where=state=ENDED": `[{"user":"bob","jobs":1,"tasks":1}]`,
		"by=name":                   `invalid by \"name\": want some of state, site, reason, user, account, group, with commas`,
		"where=age>2h":              `invalid condition on age: jobs are counted by state, site, reason, user, account, group only`,
		"where=name=x":              `invalid condition on name`,
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, body, _ := r.get("/fed/v1/summary", values, ""); !strings.Contains(string(body), want) {
			t.Errorf("%s: %s", query, body)
		}
	}
}

// TestSummaryOfAll: with all=1 jobs that ended long ago are counted too, and of arrays the tasks that never became jobs.
func TestSummaryOfAll(t *testing.T) {
	d := apitest.Start(t, api.Config{MinJobAge: time.Minute})
	long := time.Now().Add(-24 * time.Hour)
	put := func(state federation.State, change func(*federation.Job)) {
		j := job(0, alice, state)
		spec := *j.Spec
		spec.Fed = &sbatch.Fed{Group: "sweep/a"}
		if j.Spec = &spec; state.Ended() {
			j.End = long
		}
		if change != nil {
			change(&j)
		}
		d.Put(t, j)
	}
	for range 3 {
		put(federation.Completed, nil)
	}
	put(federation.Failed, nil)
	put(federation.Running, nil)
	put(federation.Completed, func(j *federation.Job) { j.Spec.Fed = nil })
	put(federation.Cancelled, func(j *federation.Job) { // 10 tasks, of which 3 were cancelled by name and 7 with the array, before any was a job
		j.Spec.Array, j.Cancel = "0-6", true
		j.Whole = (&federation.ArrayWhole{Count: 10, Max: 9, Step: 1}).WithCancelled(federation.CancelledTasks{Tasks: federation.Tasks(7, 8, 9), End: long})
	})
	r := newReader[v1.JobCount](d.Socket)
	defer r.CloseIdleConnections()
	for where, want := range map[string]map[federation.State]int64{
		"state=ended":         {federation.Completed: 3, federation.Failed: 1, federation.Cancelled: 10},
		"state=running,ended": {federation.Completed: 3, federation.Failed: 1, federation.Cancelled: 10, federation.Running: 1},
		"state=failed":        {federation.Failed: 1},
		"user=alice":          {federation.Running: 1},
		"user=bob":            {},
	} {
		q := url.Values{"all": {"1"}, "where": {where, "group=sweep"}}
		if strings.HasPrefix(where, "user=b") {
			q["where"] = append(q["where"], "state=ended")
		}
		p, status, body, err := r.get("/fed/v1/summary", q, "")
		if err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %s %v", where, status, body, err)
		}
		got := map[federation.State]int64{}
		for _, n := range p.Items {
			got[n.State] += n.Tasks
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", where, got, want)
		}
	}
}
