package stored

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/codes"
)

// TestFormsStay: what was written by earlier versions is read, and written again as it was.
func TestFormsStay(t *testing.T) {
	at := time.Unix(1_800_000_000, 0).UTC()
	for want, v := range map[string]any{
		`{}`: Held{}, `{"name":""}`: Signal{}, `{"at":"0001-01-01T00:00:00Z"}`: Holder{},
		`{"at":"2027-01-15T08:00:00Z","ran":5}`:                                                                                               Suspension{at, 5},
		`{"by":"ann","at":"2027-01-15T08:00:00Z","why":{"code":"no-slurm"}}`:                                                                  Holder{"ann", at, &codes.Why{Code: "no-slurm"}},
		`{"account":"a","site_account":"b","qos":"c","partition":"d","tres":"cpu=1","price":0.5}`:                                             Held{"a", "b", "c", "d", "cpu=1", federation.Dollar / 2},
		`{"name":"USR1","batch":true,"full":true}`:                                                                                            Signal{"USR1", true, true},
		`{"state":"REQUEUED","started":"2027-01-15T08:00:00Z","ended":"2027-01-15T08:00:00Z","nodes":"n1"}`:                                   Run{State: "REQUEUED", Started: at, Ended: at, Nodes: "n1"},
		`{"state":"","started":"0001-01-01T00:00:00Z","ended":"0001-01-01T00:00:00Z","nodes":"","exit":1,"cost":0.25,"suspension":{"ran":7}}`: Run{ExitStatus: 1, Cost: federation.Dollar / 4, Suspension: Suspension{Ran: 7}},
	} {
		text, err := json.Marshal(v)
		if err != nil || string(text) != want {
			t.Errorf("%T is written as %s, %v; want %s", v, text, err, want)
		}
	}
}

// TestRuns: runs are the same there and back, and none at all stays none.
func TestRuns(t *testing.T) {
	for _, runs := range [][]federation.AttemptRun{nil, {}, {{State: federation.Requeued, Nodes: "n1", ExitStatus: 9, Suspension: federation.Suspension{Ran: 3}}}} {
		if got := Runs(RunsOf(runs)); !reflect.DeepEqual(got, runs) {
			t.Errorf("%+v came back as %+v", runs, got)
		}
	}
}
