package queue

import (
	"reflect"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/api/restd"
	v1 "fsub/federation/api/v1"
	"fsub/federation/decision"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

type rowUsers struct{ identity.Users }

func (rowUsers) GroupName(uint32) (string, error) { return "users", nil }

// TestRowsOfJobsAlike: what a job that waits shares with those that were like it when they came, and its own, are its record, whatever it asks for and
// however it is ordered among them.
func TestRowsOfJobsAlike(t *testing.T) {
	names := identity.New(identity.Config{Users: rowUsers{}, Now: time.Now}).Users
	site := &federation.Site{Name: "alpha", Seen: &federation.Observation{Partitions: []federation.Partition{{Name: "main", Default: true, MaxTime: time.Hour, DefMemPerCPU: 7}}}}
	lister := restd.Lister{Users: names, All: func() []*federation.Site { return []*federation.Site{site} }, Now: time.Now, Cluster: "fed"}
	v := lister.View()
	rapid.Check(t, func(t *rapid.T) {
		q := New(Config{}, nil)
		q.clear(v)
		specs := []*sbatch.Spec{{Name: "a", WorkDir: "/tmp", MinNodes: 2}, {Name: "b", GRES: "gpu:2", Output: "%j.out", Nice: 4}, {Name: "c", Array: "1-3"}, {Begin: v.Now.Add(time.Hour)}}
		for id := range rapid.IntRange(1, 20).Draw(t, "jobs") {
			j := federation.Job{
				ID: federation.FirstJobID + federation.JobID(id), Spec: rapid.SampledFrom(specs).Draw(t, "spec"), User: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"),
				State: federation.Pending, Reason: rapid.SampledFrom([]reasons.Reason{"", reasons.Priority, "FedBacklog"}).Draw(t, "reason"),
				Held:     rapid.SampledFrom([]federation.Hold{federation.NotHeld, federation.NotHeld, federation.HeldUser}).Draw(t, "held"),
				Priority: rapid.Uint32Range(0, 3).Draw(t, "priority"), Top: rapid.Uint32Range(0, 1).Draw(t, "top"), Submit: time.Unix(rapid.Int64Range(1, 1e9).Draw(t, "submit"), 5), Rev: int64(id),
				Restarts: rapid.IntRange(0, 1).Draw(t, "restarts"), Account: rapid.SampledFrom([]string{"", "x"}).Draw(t, "account"),
				TreeAccount: rapid.SampledFrom([]string{"", "physics"}).Draw(t, "tree account"),
			}
			if rapid.IntRange(0, 5).Draw(t, "tried") == 0 {
				j.Attempt, j.Site, j.Partition = 1, "alpha", "main"
			}
			q.take(v, &j, nil)
			k := q.jobs[j.ID]
			parts := restd.Parts(&j, nil)
			w := v.Record(&parts[0])
			shared, own := v1.AppendRow(nil, nil, &w)
			var got, want wire.Job
			text := k.row.bytes(nil)
			if err := v1.ReadRow(text, &got); err != nil || v1.ReadRow(append(shared, own...), &want) != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%v\n got %+v\nwant %+v", err, got, want)
			}
			starts := decision.Starts{j.ID: {Site: "alpha", At: time.Unix(2e9, 0)}}
			for _, text := range [][]byte{text, must(k.row.foretold(nil, starts, nil))} {
				if is := v1.ReadForetold(text).Shown; is != v1.ShownOf(&j) {
					t.Fatalf("the row shows %+v of %+v", is, j)
				}
			}
			if len(text) != k.row.size() || k.row.priority != w.Priority.Value() || k.row.id != uint32(masterID(&w)) || k.row.raw() != uint32(w.JobID) || k.row.task() != taskIndex(&w) ||
				k.row.kind.facts.Value() != factsOf(&w) {
				t.Fatalf("%d bytes, size %d; %+v", len(text), k.row.size(), k.row)
			}
			if plain := j.Attempt == 0 && j.Held == federation.NotHeld && j.Spec.Array == "" && j.Spec.Begin.IsZero(); plain != (k.rest == nil) {
				t.Fatalf("%+v is one of many alike: %v", j, k.rest == nil)
			}
		}
		for id := range q.jobs {
			q.drop(id)
		}
		if len(q.kinds) > 0 {
			t.Fatalf("%d kinds are left of no jobs", len(q.kinds))
		}
	})
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

// TestWaitingRowIsSmall: there may be a million of them.
func TestWaitingRowIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(queuedJob{}); size > 48 {
		t.Errorf("a job that waits takes %d bytes: the next larger size that Go allocates is 64", size)
	}
}
