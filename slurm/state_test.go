package slurm

import (
	"encoding/json"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// TestState: 22.05 says one word, in which a flag stands before the state; newer ones list all.
func TestState(t *testing.T) {
	for _, c := range []struct {
		said wire.Strings
		want federation.State
	}{
		{wire.Strings{"PENDING"}, federation.Pending},
		{wire.Strings{"RUNNING"}, federation.Running},
		{wire.Strings{"RUNNING", "CONFIGURING"}, federation.Configuring},
		{wire.Strings{"COMPLETED", "COMPLETING"}, federation.Completing},
		{wire.Strings{"PENDING", "COMPLETING"}, federation.Pending},
		{wire.Strings{"COMPLETING"}, federation.Completing},
		{wire.Strings{"CONFIGURING"}, federation.Configuring},
		{wire.Strings{"STOPPED"}, federation.Suspended},
		{wire.Strings{"SPECIAL_EXIT"}, federation.Pending},
	} {
		if got := state(c.said); got != c.want {
			t.Errorf("%v: %s, want %s", c.said, got, c.want)
		}
	}
}

// TestRequeuedAt2205: 22.05 has one word for a job that ends and for one that was requeued and whose nodes are not free. As measured: the latter says that
// it starts now, and ends when its limit has passed.
func TestRequeuedAt2205(t *testing.T) {
	now := time.Unix(1795403685, 0)
	for _, c := range []struct {
		name string
		said string
		want federation.State
	}{
		{"requeued", `{"job_state":"COMPLETING","restart_cnt":1,"start_time":1795403685,"end_time":1795404885,"time_limit":20}`, federation.Pending},
		{"cancelled", `{"job_state":"COMPLETING","restart_cnt":0,"start_time":1795403681,"end_time":1795403684,"time_limit":20}`, federation.Completing},
		{"cancelled after a requeue", `{"job_state":"COMPLETING","restart_cnt":1,"start_time":1795403681,"end_time":1795403684,"time_limit":20}`, federation.Completing},
		{"running", `{"job_state":"RUNNING","restart_cnt":1,"start_time":1795403681,"end_time":1795404881,"time_limit":20}`, federation.Running},
	} {
		var j job38
		if err := json.Unmarshal([]byte(c.said), &j); err != nil {
			t.Fatal(err)
		}
		if got := state(j.wire(now).State); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestSignalAt2205: 22.05 has one reason for a script that dies by a signal and for a node that could not start it.
func TestSignalAt2205(t *testing.T) {
	for said, want := range map[string]string{
		`{"job_state":"FAILED","state_reason":"JobLaunchFailure","exit_code":9}`:   "RaisedSignal:9",
		`{"job_state":"FAILED","state_reason":"JobLaunchFailure","exit_code":256}`: "JobLaunchFailure",
		`{"job_state":"FAILED","state_reason":"NonZeroExitCode","exit_code":256}`:  "NonZeroExitCode",
	} {
		var j job38
		if err := json.Unmarshal([]byte(said), &j); err != nil {
			t.Fatal(err)
		}
		if got := j.wire(time.Now()).StateReason; got != want {
			t.Errorf("%s: %s, want %s", said, got, want)
		}
	}
}

// TestNiceAt2205: 22.05 tells a nice below zero as a number without a sign.
func TestNiceAt2205(t *testing.T) {
	for said, want := range map[string]int64{`{"nice":4294883969}`: -83327, `{"nice":83334}`: 83334, `{"nice":null}`: 0} {
		var j job38
		if err := json.Unmarshal([]byte(said), &j); err != nil {
			t.Fatal(err)
		}
		if got := j.wire(time.Now()).Nice; got != want {
			t.Errorf("%s: %d, want %d", said, got, want)
		}
	}
}
