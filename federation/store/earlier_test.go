package store_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"fsub/accounting/ledger"
	"fsub/accounting/report"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/journal"
	"fsub/federation/reports"
	"fsub/federation/store"
	"fsub/federation/usage"
	"fsub/sbatch"
)

// books are all that a store tells of itself. Beside each dump in testdata/earlier is what the fed that wrote it has read back, in these words.
type books struct {
	Jobs                  []federation.Job
	Payloads              map[federation.JobID]sbatch.Payload
	Tasks                 map[federation.JobID][]federation.Task
	Attempts              map[federation.JobID][]federation.Attempt
	Events                map[federation.JobID][]federation.Event
	Requests              []action.Request
	Sites                 map[federation.SiteName]federation.SiteRecord
	Usage                 map[federation.JobID][]usage.Usage
	Runs, Gangs, Machines []poolRecord
	PoolPayloads          map[string]string
}

type poolRecord struct {
	ID     string
	Job    federation.JobID
	Closed time.Time
	Data   json.RawMessage
}

// TestEarlierVersions opens stores that older versions have written: everything is there as they told it themselves, can be written, and is there again.
func TestEarlierVersions(t *testing.T) {
	for name, live := range map[string]int{"v3": 4, "v5": 4, "v7": 6, "v25": 6, "v33": 1} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "fed.db")
			execute(t, path, string(read(t, filepath.Join("testdata/earlier", name+".sql"))))
			var old any
			if err := json.Unmarshal(read(t, filepath.Join("testdata/earlier", name+".json")), &old); err != nil {
				t.Fatal(err)
			}
			s := open(t, store.Config{Path: path})
			b := readBooks(s)
			holds(t, name, old, b)
			if got, err := s.LiveAttempts(ctx); err != nil || len(got) != live {
				t.Errorf("%d live attempts, %v; want %d", len(got), err, live)
			}
			for site, runs := range map[string]map[string]int64{"v25": {"aws": 5, "alpha": 1}}[name] {
				rows := sure(s.BookedSums(ctx, ledger.SumQuery{Until: 1 << 20, By: []ledger.Dimension{ledger.ByJobGroup}, Where: map[ledger.Dimension][]string{ledger.BySite: {site}}}))
				got := int64(0)
				for i := range rows {
					if got += rows[i].Runs; rows[i].Values[0] != "" {
						t.Errorf("site %s: runs of the group %q", site, rows[i].Values[0])
					}
				}
				if got != runs {
					t.Errorf("site %s: %d runs are booked, want %d", site, got, runs)
				}
			}
			after := rewrite(t, s, b)
			s.Close()
			s = open(t, store.Config{Path: path})
			holds(t, name+" written again", generic(t, after), readBooks(s))
			goesOn(t, s, b)
		})
	}
}

func readBooks(s *store.Store) *books {
	var b books
	var ids []federation.JobID
	b.Jobs = sure(s.Jobs(ctx, federation.JobQuery{}))
	b.Payloads, b.Tasks, b.Attempts, b.Events = map[federation.JobID]sbatch.Payload{}, map[federation.JobID][]federation.Task{},
		map[federation.JobID][]federation.Attempt{}, map[federation.JobID][]federation.Event{}
	for _, j := range b.Jobs {
		ids = append(ids, j.ID)
		if j.Part == nil && j.Component == nil {
			b.Payloads[j.ID] = sure(s.Payload(ctx, j.ID))
		}
		b.Tasks[j.ID] = sure(s.Tasks(ctx, j.ID))
		b.Attempts[j.ID] = sure(s.Attempts(ctx, j.ID))
		b.Events[j.ID] = sure(s.Events(ctx, j.ID))
	}
	b.Requests = sure(s.Requests(ctx, 0))
	b.Sites = sure(s.SiteState(ctx))
	b.Usage = sure(s.UsageOf(ctx, ids))
	b.PoolPayloads = map[string]string{}
	for kind, into := range b.pools() {
		for _, r := range sure(s.PoolHistory(ctx, "sky", kind, time.Time{}, 1000)) {
			*into = append(*into, poolRecord{r.ID, r.Job, r.Closed, r.Data})
			if p, err := s.PoolPayload(ctx, "sky", kind, r.ID); err == nil {
				b.PoolPayloads[r.ID] = string(p)
			}
		}
	}
	return &b
}

func (b *books) pools() map[records.PoolKind]*[]poolRecord {
	return map[records.PoolKind]*[]poolRecord{records.PoolJob: &b.Runs, records.PoolGang: &b.Gangs, records.PoolMachine: &b.Machines}
}

// sure takes a result that cannot but be there.
func sure[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// rewrite changes something of every record, and returns what is to be read then.
func rewrite(t *testing.T, s *store.Store, b *books) *books {
	t.Helper()
	batch := &journal.Batch{}
	for i := range b.Jobs {
		j := &b.Jobs[i]
		j.Priority++
		j.Spec.Comment += "!"
		batch.Jobs, batch.Specs = append(batch.Jobs, j), append(batch.Specs, j)
		for n := range b.Attempts[j.ID] {
			a := &b.Attempts[j.ID][n]
			a.Cost += 0.5 * federation.Dollar
			a.Runs = []federation.AttemptRun{{State: federation.Requeued, Started: a.Created, Ended: a.Created.Add(time.Minute), Nodes: "n1", Cost: 0.25 * federation.Dollar}}
			batch.Attempts = append(batch.Attempts, a)
		}
		for n := range b.Tasks[j.ID] {
			b.Tasks[j.ID][n].Restarts++
			batch.Tasks = append(batch.Tasks, &b.Tasks[j.ID][n])
		}
	}
	for kind, list := range b.pools() {
		for i := range *list {
			r := &(*list)[i]
			r.Job++
			if err := s.CommitPool(ctx, "sky", []records.PoolRecord{{Kind: kind, ID: r.ID, Job: r.Job, Closed: r.Closed, Data: r.Data}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Commit(ctx, batch); err != nil { // sets Rev
		t.Fatal(err)
	}
	return b
}

// goesOn: new jobs and requests get numbers that no old one has.
func goesOn(t *testing.T, s *store.Store, b *books) {
	t.Helper()
	last := b.Jobs[len(b.Jobs)-1].ID
	j := &federation.Job{User: "alice"}
	if err := s.CreateJob(ctx, j, &sbatch.Payload{}); err != nil || j.ID != last+1 {
		t.Errorf("the next job has the ID %d, %v; the last one had %d", j.ID, err, last)
	}
	seq := sure(s.AddRequest(ctx, action.Request{Job: last, Kind: action.Hold}))
	if n := len(b.Requests); n > 0 && seq != b.Requests[n-1].Seq+1 {
		t.Errorf("the next request has the number %d, the last one %d", seq, b.Requests[n-1].Seq)
	}
	if n := sure(s.NextPoolNumber(ctx, "sky", records.PoolGang)); n <= int64(len(b.Gangs)) {
		t.Errorf("the next gang has the number %d, and there are %d", n, len(b.Gangs))
	}
}

func generic(t *testing.T, v any) (g any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// holds fails if something of old, which came from JSON, is not in b. There may be more: fields that the older version did not have.
func holds(t *testing.T, name string, old any, b *books) {
	t.Helper()
	fields := old.(map[string]any)
	now := generic(t, b).(map[string]any)
	for field := range now {
		if fields[field] == nil { // it had no such records
			continue
		}
		for _, d := range lacks(field, fields[field], now[field]) {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// field is a field by the name that it was written under: the domain's own types have no names for JSON any more.
func field(now map[string]any, name string) any {
	if v, ok := now[name]; ok {
		return v
	}
	name = cmp.Or(map[string]string{"price": "PricePerHour", "exit": "ExitStatus", "Suspension": "Pause"}[name], strings.ReplaceAll(name, "_", ""))
	for k, v := range now {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	return nil
}

func lacks(path string, old, now any) (list []string) {
	switch o := old.(type) {
	case map[string]any:
		n, _ := now.(map[string]any)
		for k := range o {
			list = append(list, lacks(path+"."+k, o[k], field(n, k))...)
		}
		return list
	case []any:
		n, _ := now.([]any)
		if len(n) != len(o) {
			return []string{fmt.Sprintf("%s has %d entries, and had %d", path, len(n), len(o))}
		}
		for i := range o {
			list = append(list, lacks(fmt.Sprint(path, "[", i, "]"), o[i], n[i])...)
		}
		return list
	}
	if dollars, ok := old.(float64); ok && strings.HasSuffix(path, ".Cost") { // it may have been kept with more digits than money has
		old = math.Round(dollars*1e6) / 1e6
	}
	if strings.HasSuffix(path, ".Decision.spread") { // arrays were placed whole then, or spread; each of their tasks is placed by itself now
		return nil
	}
	if now == nil && (old == nil || reflect.ValueOf(old).IsZero()) { // left out
		return nil
	}
	if !reflect.DeepEqual(old, now) {
		return []string{fmt.Sprintf("%s is %v, and was %v", path, now, old)}
	}
	return nil
}

// TestReportsBecomeRecords: reports that an earlier fed has saved are there, with what became of them.
func TestReportsBecomeRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fed.db")
	execute(t, path, string(read(t, "testdata/earlier/v25.sql"))+`
INSERT INTO reports VALUES ('ann', 'cost', '{"Owner":"ann","UID":7001,"Name":"cost","kind":"cost","by":["user"],"where":["site=alpha"],"Format":"csv","Send":"week","At":"06:00","To":["ann@example.org"],"Made":"2026-11-20T10:00:00.000000005Z"}',
	1795168800000000005, 1795413600000000000, 1795413601000000000, 'ann@example.org', 0, 2, 'mail "server" is away');`)
	s := open(t, store.Config{Path: path})
	all, err := reports.In(s).List(ctx, "ann")
	want := reports.Saved{
		Definition: reports.Definition{Owner: "ann", UID: 7001, Name: "cost", Spec: report.Spec{Kind: "cost", By: []string{"user"}, Where: []string{"site=alpha"}}, Format: "csv",
			Send: "week", At: "06:00", To: []string{"ann@example.org"}, Made: time.Date(2026, 11, 20, 10, 0, 0, 5, time.UTC)},
		State: reports.State{For: time.Unix(1795413600, 0).UTC(), Sent: time.Unix(1795413601, 0).UTC(), Where: "ann@example.org", Tries: 2, Error: `mail "server" is away`},
	}
	if err != nil || len(all) != 1 || !reflect.DeepEqual(all[0], want) {
		t.Fatalf("%v\n got %+v\nwant %+v", err, all, want)
	}
	if err := reports.In(s).Update(ctx, "ann", "cost", func(s *reports.Saved) bool { s.Tries = 0; return true }); err != nil {
		t.Error(err)
	}
}
