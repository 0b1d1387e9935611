package cloud

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fsub/federation"
	"fsub/sbatch"
)

// TestStoredJob: a record is read as it was written, and nothing of the domain's names is in it.
func TestStoredJob(t *testing.T) {
	want := jobRecord{Key: "k", Partition: "main", State: federation.Running, Restarts: 2, Job: federation.Job{
		ID: 30000001, User: "alice", UID: 7, GID: 8, Spec: &sbatch.Spec{Name: "train"}, Held: federation.HeldAdmin, SubmitHost: "login",
		Part: &federation.ArrayPart{Array: 1, Index: 2, Count: 3, Min: 4, Max: 5, Step: 6, Limit: 7, Last: true},
	}}
	text, err := json.Marshal(&want)
	if err != nil {
		t.Fatal(err)
	}
	var got jobRecord
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want.Job.SetSpec(*want.Job.Spec)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s := string(text); !strings.Contains(s, `"version":2,"job":{"job_id":30000001,`) || strings.Contains(s, `"SubmitHost"`) {
		t.Error(s)
	}
}

// TestJobsOfEarlierRecords: what older versions have written is read, as far as a record keeps it.
func TestJobsOfEarlierRecords(t *testing.T) {
	text, err := os.ReadFile("../federation/store/testdata/earlier/v5.json")
	if err != nil {
		t.Fatal(err)
	}
	var stored struct {
		Runs []struct{ Data json.RawMessage }
	}
	if err := json.Unmarshal(text, &stored); err != nil || len(stored.Runs) == 0 {
		t.Fatal(len(stored.Runs), err)
	}
	for _, r := range stored.Runs {
		var got jobRecord
		var old struct{ Job federation.Job }
		if err := json.Unmarshal(r.Data, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(r.Data, &old); err != nil {
			t.Fatal(err)
		}
		kept := storedOf(&old.Job)
		if diff := cmp.Diff(kept.job(), got.Job); diff != "" || got.Key == "" {
			t.Errorf("%s: %s", got.Key, diff)
		}
	}
	var whole jobRecord
	const earlier = `{"job":{"ID":5,"UID":6,"GID":7,"SubmitHost":"login","Part":{"Array":1,"Index":2,"Count":3,"Min":4,"Max":5,"Step":6,"Limit":7}},"key":"k"}`
	want := jobRecord{Key: "k", Job: federation.Job{ID: 5, UID: 6, GID: 7, SubmitHost: "login",
		Part: &federation.ArrayPart{Array: 1, Index: 2, Count: 3, Min: 4, Max: 5, Step: 6, Limit: 7}, Spec: &sbatch.Spec{}}}
	if err := json.Unmarshal([]byte(earlier), &whole); err != nil {
		t.Fatal(err)
	}
	want.Job.SetSpec(*want.Job.Spec)
	if diff := cmp.Diff(want, whole); diff != "" {
		t.Error(diff)
	}
}
