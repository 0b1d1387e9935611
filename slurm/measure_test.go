package slurm

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/usage"
	"fsub/slurm/wire"
)

// TestMeasured asks a stand-in for slurmdbd: one call, each job by itself; what has not ended, is of another attempt, or was left behind
// by one is not taken.
func TestMeasured(t *testing.T) {
	a := wire.DBJobsResponse{Reply: wire.Reply{Meta: wire.NewMeta("24.11.5", "alpha", "slurm")}}
	add := func(id int64, state, key string, array int64, task int64, steps ...string) *wire.DBJob {
		j := wire.DBJob{JobID: id, State: wire.DBState{Current: wire.Strings{state}}, Flags: wire.Strings{"START_RECEIVED"}}
		j.Comment.Administrator, j.Time.Start, j.Time.Submission = key, 100, 90
		if array != 0 {
			j.Array.JobID, j.Array.TaskID = array, wire.Num(task)
		}
		for _, name := range steps {
			var st wire.DBStep
			st.Step.ID, st.State, st.Time.Total = wire.Text("1."+name), wire.Strings{"COMPLETED"}, wire.Duration{Seconds: 1, Microseconds: 500}
			st.TRES.Requested.Max = wire.List[wire.TaskTRES]{{TRES: wire.TRES{Type: "mem", Count: 4096}, Task: 1, Node: "a1"}}
			j.Steps = append(j.Steps, st)
		}
		a.Jobs = append(a.Jobs, j)
		return &a.Jobs[len(a.Jobs)-1]
	}
	const key = keyPrefix + "fed:1.1.x"
	add(61, "COMPLETED", key, 0, 0, "batch", "0")
	add(62, "RUNNING", "", 0, 0)
	add(63, "FAILED", keyPrefix+"fed:63.1.other", 0, 0)
	add(101, "COMPLETED", "", 64, 0, "batch")
	add(102, "COMPLETED", "", 64, 1)
	add(65, "COMPLETED", "", 0, 0).Time.Submission = 10
	var asked []string
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if filepath.Base(filepath.Clean(r.URL.Path)) == "jobs" && r.URL.Query().Has("step") {
			asked = append(asked, r.URL.Query()["step"]...)
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(a)
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	d, err := Open(Config{Name: "alpha", Federation: "fed", URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	d.c.api.Store(versions[0])
	refs := []federation.JobRef{{ID: 61, Key: key}, {ID: 62}, {ID: 63, Key: key}, {ID: 64}, {ID: 3065, SiteJobID: 65, Submitted: time.Unix(1000, 0)}}
	got, err := d.books.Measured(context.Background(), refs)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"61", "62", "63", "64", "65"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
	if len(got) != 2 || len(got[61]) != 1 || len(got[64]) != 2 {
		t.Fatalf("got %+v", got)
	}
	if frequency(2600000) != 2600000 || frequency(4657935875538160000) != 0 {
		t.Error("a frequency that cannot be")
	}
	u := got[61][0]
	if u.Index != -1 || u.Total != 2*time.Second+time.Millisecond || len(u.Steps) != 2 || u.Steps[1].ID != "0" ||
		!reflect.DeepEqual(u.Steps[0].In.Max, []usage.TaskAmount{{Amount: usage.Amount{Type: "mem", Count: 4096}, Task: 1, Node: "a1"}}) {
		t.Errorf("%+v", u)
	}
	srv.Close()
	if _, err := d.books.Measured(context.Background(), refs); err == nil {
		t.Error("a site that does not answer is no error")
	}
}
