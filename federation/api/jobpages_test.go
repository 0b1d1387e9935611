package api_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
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
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// reader asks for pages of a list.
type reader[T any] struct{ http.Client }

func newReader[T any](socket string) *reader[T] {
	return &reader[T]{http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) }}}}
}

// get asks for a page; have are the ETags that the caller has.
func (r *reader[T]) get(path string, q url.Values, have string) (p v1.Page[T], status int, body []byte, err error) {
	req, err := http.NewRequest("GET", "http://fsub"+path+"?"+q.Encode(), nil)
	if err != nil {
		return p, 0, nil, err
	}
	if have != "" {
		req.Header.Set("If-None-Match", have)
	}
	resp, err := r.Do(req)
	if err != nil {
		return p, 0, nil, err
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err == nil && resp.StatusCode == http.StatusOK {
		err = json.Unmarshal(body, &p.Items)
	}
	p.ReadHeaders(resp.Header)
	return p, resp.StatusCode, body, err
}

var jobOrders = map[string]func(a, b *federation.Job) int{
	"id":       func(a, b *federation.Job) int { return 0 },
	"submit":   func(a, b *federation.Job) int { return a.Submit.Compare(b.Submit) },
	"priority": func(a, b *federation.Job) int { return cmp.Compare(a.Priority, b.Priority) },
	"state":    func(a, b *federation.Job) int { return cmp.Compare(a.State, b.State) },
	"user":     func(a, b *federation.Job) int { return cmp.Compare(a.User, b.User) },
	"account":  func(a, b *federation.Job) int { return cmp.Compare(a.Spec.Account, b.Spec.Account) },
	"site":     func(a, b *federation.Job) int { return cmp.Compare(a.Site, b.Site) },
	"cost":     func(a, b *federation.Job) int { return cmp.Compare(a.Cost, b.Cost) },
}

// Pages in both directions, in any order and under any condition, show each job once that was there throughout and whose place in the order has not changed, in that
// order, while others come, change and end.
func TestPagesOfJobsWhileTheyChange(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		began := time.Now().Truncate(time.Second)
		store := apitest.NewStore()
		d := apitest.Start(outer, api.Config{Store: store, Users: queueUsers{}, Now: func() time.Time { return began }})
		defer d.Stop()
		r := newReader[v1.JobLine](d.Socket)
		defer r.CloseIdleConnections()
		all := map[federation.JobID]*federation.Job{}
		create := func() {
			j := &federation.Job{User: rapid.SampledFrom([]string{"alice", "bob", "carol"}).Draw(t, "user"), State: federation.Pending, Priority: 1,
				Submit: began.Add(-time.Duration(rapid.IntRange(0, 3).Draw(t, "age")) * time.Minute), Cost: federation.Money(rapid.IntRange(0, 2).Draw(t, "cost")),
				Spec: &sbatch.Spec{Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), Account: rapid.SampledFrom([]string{"", "x"}).Draw(t, "account")}}
			if err := store.CreateJob(context.Background(), j, &sbatch.Payload{}); err != nil {
				t.Fatal(err)
			}
			all[j.ID] = j
		}
		changed := map[federation.JobID]bool{}
		change := func() {
			if len(all) == 0 {
				return
			}
			id := rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(t, "changed")
			j := *all[id]
			j.State = rapid.SampledFrom([]federation.State{federation.Pending, federation.Running, federation.Failed}).Draw(t, "state")
			j.Site, j.Priority, j.End = "", rapid.Uint32Range(1, 3).Draw(t, "priority"), time.Time{}
			if j.State != federation.Pending {
				j.Site, j.Start = "alpha", began
			}
			if j.State.Ended() {
				j.End = began
			}
			if err := store.Commit(context.Background(), &journal.Batch{Jobs: []*federation.Job{&j}}); err != nil {
				t.Fatal(err)
			}
			all[id], changed[id] = &j, true
		}
		for range rapid.IntRange(0, 40).Draw(t, "jobs") {
			create()
		}
		for range rapid.IntRange(0, 10).Draw(t, "changes") {
			change()
		}
		order := rapid.SampledFrom(slices.Sorted(maps.Keys(jobOrders))).Draw(t, "sort")
		down := rapid.Bool().Draw(t, "down")
		where := rapid.SampledFrom([]string{"", "user=alice", "name=b", "state=R,PD", "site=none", "user!=bob", "age>90s", "id=[30000001-30000020]"}).Draw(t, "where")
		holds := func(j *federation.Job) bool {
			switch where {
			case "user=alice":
				return j.User == "alice"
			case "name=b":
				return j.Spec.Name == "b"
			case "site=none":
				return j.Site == ""
			case "user!=bob":
				return j.User != "bob"
			case "age>90s":
				return began.Sub(j.Submit) > 90*time.Second
			case "id=[30000001-30000020]":
				return j.ID >= 30000001 && j.ID <= 30000020
			}
			return true
		}
		compare := func(a, b *federation.Job) int {
			c := cmp.Or(jobOrders[order](a, b), cmp.Compare(a.ID, b.ID))
			if down {
				return -c
			}
			return c
		}
		before := maps.Clone(all)
		clear(changed)
		q := url.Values{"limit": {fmt.Sprint(rapid.IntRange(1, 7).Draw(t, "limit"))}, "sort": {map[bool]string{true: "-"}[down] + order}}
		if where != "" {
			q.Set("where", where)
		}
		var shown []federation.JobID
		walk := func(next func(v1.Page[v1.JobLine]) string, word string) {
			q.Del("after")
			q.Del("before")
			for {
				p, status, body, err := r.get("/fed/v1/jobs", q, "")
				if err != nil || status != http.StatusOK {
					t.Fatalf("%v: %d %s %v", q, status, body, err)
				}
				if n := len(p.Items); n > 0 {
					ids := make([]federation.JobID, n)
					for i := range p.Items {
						ids[i] = p.Items[i].ID
					}
					if word == "before" {
						shown = append(ids, shown...)
					} else {
						shown = append(shown, ids...)
					}
				}
				for range rapid.IntRange(0, 3).Draw(t, "meanwhile") {
					rapid.SampledFrom([]func(){create, change}).Draw(t, "what")()
				}
				if next(p) == "" {
					return
				}
				q = maps.Clone(q)
				q.Del("after")
				q.Del("before")
				q.Set(word, next(p))
			}
		}
		check := func() {
			var want []*federation.Job
			for id, j := range before {
				if !changed[id] && !j.State.Ended() && holds(j) {
					want = append(want, j)
				}
			}
			slices.SortFunc(want, compare)
			i := 0
			for _, id := range shown {
				switch {
				case i < len(want) && want[i].ID == id:
					i++
				case before[id] != nil && !changed[id]:
					t.Fatalf("%v: job %d is shown twice or out of order: %v", q, id, shown)
				}
			}
			if i != len(want) {
				t.Fatalf("%v: job %d is left out of %v", q, want[i].ID, shown)
			}
		}
		walk(func(p v1.Page[v1.JobLine]) string { return p.Next }, "after")
		check()
		if len(shown) > 0 && rapid.Bool().Draw(t, "and back") {
			// Back from behind the last job: every page before, to the first.
			before, shown = maps.Clone(all), nil
			clear(changed)
			back := maps.Clone(q)
			back.Set("sort", map[bool]string{false: "-"}[down]+order)
			down = !down
			q = back
			walk(func(p v1.Page[v1.JobLine]) string { return p.Next }, "after")
			check()
		}
	})
}

// A page and the pages before and behind it are each other's neighbours.
func TestPagesGoBothWays(t *testing.T) {
	d := apitest.Start(t, api.Config{Users: queueUsers{}})
	for i := range 10 {
		j := job(0, alice, federation.Pending)
		if i >= 7 {
			j.State, j.End = federation.Failed, time.Now()
		}
		d.Put(t, j)
	}
	r := newReader[v1.JobLine](d.Socket)
	numbers := func(p v1.Page[v1.JobLine]) (s string) {
		for _, l := range p.Items {
			s += fmt.Sprint(l.ID%federation.FirstJobID, " ")
		}
		return strings.TrimSpace(s)
	}
	for where, want := range map[string][]string{"": {"0 1 2", "3 4 5", "6"}, "state=PD,ENDED": {"0 1 2", "3 4 5", "6 7 8", "9"}} {
		for _, down := range []string{"", "-"} {
			q := url.Values{"limit": {"3"}, "sort": {down + "id"}}
			if where != "" {
				q.Set("where", where)
			}
			all := strings.Fields(strings.Join(want, " "))
			if down != "" {
				slices.Reverse(all)
			}
			var pages []v1.Page[v1.JobLine]
			for i, some := range slices.Collect(slices.Chunk(all, 3)) {
				p, status, body, err := r.get("/fed/v1/jobs", q, "")
				if got := numbers(p); err != nil || status != http.StatusOK || got != strings.Join(some, " ") || (p.Prev != "") != (i > 0) {
					t.Fatalf("%v: %q, %d %s %v, want %v", q, got, status, body, err, some)
				}
				pages = append(pages, p)
				q.Set("after", p.Next)
			}
			q.Del("after")
			if last := pages[len(pages)-1]; last.Next != "" {
				t.Errorf("the last page has a next: %+v", last)
			}
			for i := len(pages) - 1; i > 0; i-- {
				q.Set("before", pages[i].Prev)
				p, status, body, err := r.get("/fed/v1/jobs", q, "")
				if err != nil || status != http.StatusOK || numbers(p) != numbers(pages[i-1]) || (p.Prev != "") != (i > 1) || p.Next == "" {
					t.Fatalf("%v: %q, %d %s %v, want %q", q, numbers(p), status, body, err, numbers(pages[i-1]))
				}
			}
		}
	}
}

// A poll without a change is a 304; what is asked for wrongly is said in one sentence; fields are those that were asked for.
func TestPagesAreAskedFor(t *testing.T) {
	d := apitest.Start(t, api.Config{Users: queueUsers{}})
	d.Put(t, job(0, alice, federation.Pending), job(0, bob, federation.Pending))
	r := newReader[v1.JobLine](d.Socket)
	q := url.Values{"limit": {"5"}, "fields": {"job_id,user"}}
	p, status, body, err := r.get("/fed/v1/jobs", q, "")
	if err != nil || status != http.StatusOK || string(body) != `[{"job_id":30000000,"user":"alice"},{"job_id":30000001,"user":"bob"}]`+"\n" || p.ETag == "" || p.AsOf == 0 {
		t.Fatalf("%d %s %v %+v", status, body, err, p)
	}
	if again, status, body, err := r.get("/fed/v1/jobs", q, p.ETag); err != nil || status != http.StatusNotModified || len(body) != 0 || again.ETag != p.ETag || again.AsOf != p.AsOf {
		t.Errorf("a poll without a change: %d %q %v %+v", status, body, err, again)
	}
	other := maps.Clone(q)
	other.Set("where", "user=bob")
	if _, status, _, err := r.get("/fed/v1/jobs", other, p.ETag); err != nil || status != http.StatusOK {
		t.Errorf("another list by the same ETag: %d %v", status, err)
	}
	d.Put(t, job(0, alice, federation.Pending))
	if now, status, _, err := r.get("/fed/v1/jobs", q, p.ETag); err != nil || status != http.StatusOK || len(now.Items) != 3 || now.AsOf <= p.AsOf {
		t.Errorf("a poll after a change: %d %v %+v", status, err, now)
	}
	for query, want := range map[string]string{
		"limit=0":                               `invalid limit "0": want a number from 1`,
		"limit=1001":                            `invalid limit "1001": want a number to 1000`,
		"sort=name":                             `invalid sort "name": want one of id, submit, `,
		"sort=submit&where=state=ENDED":         `invalid sort "submit": jobs that have ended are in order of id only`,
		"after=x":                               "invalid cursor: want one that a page of the same list and the same sort has given",
		"sort=user&after=" + p.Next + "aWQAAgI": "invalid cursor",
		"after=aWQAAgI&before=aWQAAgI":          "after and before go in two directions",
		"fields=job":                            `unknown field "job": want some of job_id, array_job_id, `,
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if _, status, body, err := r.get("/fed/v1/jobs", values, ""); err != nil || status != http.StatusBadRequest || !strings.Contains(string(body), strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("%s: %d %s %v", query, status, body, err)
		}
	}
}

// readsCounted is a store that counts how often jobs are read of it.
type readsCounted struct {
	*apitest.Store
	reads atomic.Int64
}

func (s *readsCounted) Jobs(ctx context.Context, q federation.JobQuery) ([]federation.Job, error) {
	s.reads.Add(1)
	return s.Store.Jobs(ctx, q)
}

// A first page of jobs with long names is below 60 kB, and a poll without a change reads no job.
func TestFirstPageAndPoll(t *testing.T) {
	store := &readsCounted{Store: apitest.NewStore()}
	d := apitest.Start(t, api.Config{Store: store, Controller: apitest.NewController(store), Users: queueUsers{}})
	for i := range 150 {
		j := job(0, alice, federation.Pending)
		spec := *j.Spec
		spec.Name, spec.Account, spec.Fed = strings.Repeat("name-", 20), "account-of-some-length", &sbatch.Fed{Group: fmt.Sprintf("sweep-of-2026-11-29/part-%d", i)}
		j.Spec = &spec
		if err := store.CreateJob(t.Context(), &j, &sbatch.Payload{}); err != nil {
			t.Fatal(err)
		}
	}
	r := newReader[v1.JobLine](d.Socket)
	defer r.CloseIdleConnections()
	for _, q := range []url.Values{{"limit": {"100"}}, {"limit": {"100"}, "sort": {"-submit"}, "where": {"group=sweep-of-2026-11-29"}}} {
		p, status, body, err := r.get("/fed/v1/jobs", q, "")
		if err != nil || status != http.StatusOK || len(p.Items) != 100 || len(body) >= 60_000 {
			t.Fatalf("%v: status %d, %d jobs in %d bytes, %v", q, status, len(p.Items), len(body), err)
		}
		before := store.reads.Load()
		for range 3 {
			if _, status, body, err := r.get("/fed/v1/jobs", q, p.ETag); err != nil || status != http.StatusNotModified || len(body) > 0 {
				t.Fatalf("%v again: status %d, %d bytes, %v", q, status, len(body), err)
			}
		}
		if n := store.reads.Load() - before; n > 0 {
			t.Errorf("%v: jobs were read %d times for polls without a change", q, n)
		}
	}
}
