package rented

import (
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/ec2"
)

// TestLostReplies loses the cloud's answers to each kind of call that changes something, after it has acted: no machine is there twice, and none is left.
func TestLostReplies(t *testing.T) {
	for _, action := range []string{"RunInstances", "TerminateInstances"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config{pool: "max: 4, idle: 1s"})
			w.start()
			w.cloud.Inject(ec2.Fault{Action: action, Kind: ec2.LoseReply, Times: 2})
			most := 0
			id := w.fsub(gangJob)
			if state := w.awaitSeeing(id, func() { most = max(most, w.cloud.Live()) }); state != federation.Completed {
				t.Errorf("the job is %s", state)
			}
			if began := strings.Count(w.read("began-"+id.String()), "began"); began != 1 {
				t.Errorf("it began %d times", began)
			}
			w.noMachines(time.Minute)
			if most > 2 {
				t.Errorf("%d machines were live at one time for a job of two", most)
			}
			if w.cloud.Count(action) == 0 {
				t.Error("nothing called it: this shows nothing")
			}
		})
	}
}

// awaitSeeing waits for a job to end, and looks at something meanwhile.
func (w *world) awaitSeeing(id federation.JobID, look func()) (state federation.State) {
	w.t.Helper()
	w.eventually("the job ends", 2*time.Minute, func() string {
		look()
		rec, err := w.job(id)
		if err != nil {
			return err.Error()
		}
		if state = rec.Job.State; !state.Ended() {
			return string(state) + " " + string(rec.Job.Reason)
		}
		return ""
	})
	return state
}
