package wire

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shape gives the type that an answer of testdata is read into.
func shape(name string) any {
	switch _, kind, _ := strings.Cut(strings.TrimSuffix(name, ".json"), "v0.0."); kind[3:] {
	case "job_running", "job_array":
		return new(JobsResponse)
	case "jobs_state":
		return new(JobsStateResponse)
	case "nodes":
		return new(NodesResponse)
	case "partitions":
		return new(PartitionsResponse)
	case "reservations":
		return new(ReservationsResponse)
	case "ping":
		return new(PingResponse)
	case "diag":
		return new(DiagResponse)
	case "dbjob_array":
		return new(DBJobsResponse)
	case "associations":
		return new(AssociationsResponse)
	case "kill":
		return new(KillJobsResponse)
	}
	return nil
}

// TestRoundTrip reads what real daemons answered and writes it again: in the base version every key must come back as it
// was, but for the parts that the shapes leave out on purpose.
func TestRoundTrip(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			v := shape(name)
			if v == nil {
				t.Fatalf("%s: no shape for it", name)
			}
			if err := json.Unmarshal(raw, v); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(name, Base) {
				return // other versions need only be readable
			}
			out, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			var want, got any
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			prune("", want, got)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("written differs from read (-slurmrestd +ours):\n%s", d)
			}
		})
	}
}

// leftOut are the paths below which the shapes keep only a part.
var leftOut = []string{"statistics", "associations", "jobs.steps"}

func partial(path string) bool {
	return slices.ContainsFunc(leftOut, func(p string) bool { return path == p || strings.HasPrefix(path, p+".") })
}

// prune removes from want what the shapes leave out.
func prune(path string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return
		}
		for k, v := range w {
			if _, ok := g[k]; !ok && partial(path) {
				delete(w, k)
				continue
			}
			p := k
			if path != "" {
				p = path + "." + k
			}
			prune(p, v, g[k])
		}
	case []any:
		g, ok := got.([]any)
		for i := range w {
			if ok && i < len(g) {
				prune(path, w[i], g[i])
			}
		}
	}
}

func TestNumberForms(t *testing.T) {
	for in, want := range map[string]Number{
		`5`:           Num(5),
		`"5"`:         Num(5),
		`5.9`:         Num(5),
		`null`:        {},
		`""`:          {},
		`{}`:          {},
		`"UNLIMITED"`: Inf(),
		`{"set":true,"infinite":false,"number":7}`:   Num(7),
		`{"set":false,"infinite":true,"number":0}`:   Inf(),
		`{"set":true,"number":18446744073709551614}`: Num(1<<63 - 1),
		`{"set":true,"infinite":false,"number":0.5}`: Num(0),
		`{"number":5}`: {Number: 5},
	} {
		var n Number
		if err := json.Unmarshal([]byte(in), &n); err != nil || n != want {
			t.Errorf("%s: got %+v, %v; want %+v", in, n, err, want)
		}
	}
	for _, in := range []string{`"soon"`, `true`, `[1]`} {
		var n Number
		if err := json.Unmarshal([]byte(in), &n); err == nil {
			t.Errorf("%s was read as %+v", in, n)
		}
	}
	if (Number{Number: 5}).Or(3) != 3 || Inf().Or(3) != 3 || Num(5).Or(3) != 5 {
		t.Error("Or does not tell set numbers from others")
	}
}

func TestListForms(t *testing.T) {
	for in, want := range map[string]Strings{`"a,b"`: {"a", "b"}, `""`: nil, `null`: nil, `["a"]`: {"a"}} {
		var l Strings
		if err := json.Unmarshal([]byte(in), &l); err != nil || !reflect.DeepEqual(l, want) {
			t.Errorf("%s: got %v, %v", in, l, err)
		}
	}
	if b, _ := json.Marshal(struct {
		A Strings
		B List[Job]
	}{}); string(b) != `{"A":[],"B":[]}` {
		t.Errorf("empty lists are written as %s", b)
	}
	var e Environment
	if err := json.Unmarshal([]byte(`{"A":"b"}`), &e); err != nil || len(e) != 1 || e[0] != "A=b" {
		t.Errorf("environment as object: %v, %v", e, err)
	}
}

// TestDescLeavesOutUnset: what is not asked for must not be in the request, zero included.
func TestDescLeavesOutUnset(t *testing.T) {
	b, err := json.Marshal(JobSubmitRequest{Job: &JobDesc{Name: "x", TimeLimit: Num(0)}})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"job":{"name":"x","time_limit":{"set":true,"infinite":false,"number":0}}}`; string(b) != want {
		t.Errorf("got %s, want %s", b, want)
	}
}

func TestBaseState(t *testing.T) {
	if s := BaseState(Strings{"COMPLETING", "CANCELLED"}); s != StateCancelled {
		t.Errorf("got %q", s)
	}
}
