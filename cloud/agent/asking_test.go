package agent

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"fsub/cloud/agentapi"
)

// TestAnswerBeforeOrder: a command of a job that asks for the job's end, or for a signal to it, exits with its answer before the job feels that, however early the
// order comes. One that keeps its connection, or is not answered, delays it a moment only.
func TestAnswerBeforeOrder(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("SKIPPED: there is no curl to call with")
	}
	stop := func(why agentapi.Why) func(*agentapi.Orders) {
		return func(o *agentapi.Orders) { o.Runs[0].Stop = &agentapi.Stop{Why: why, Grace: time.Minute} }
	}
	signal := func(o *agentapi.Orders) {
		o.Signals = append(o.Signals, agentapi.Signal{Seq: 1, Run: "r1", Name: "TERM", Batch: true})
	}
	const ask = "curl -s -X POST --unix-socket $FSUB_SOCKET http://x/y"
	const keep = `python3 -c 'import socket,os,time
s=socket.socket(socket.AF_UNIX); s.connect(os.environ["FSUB_SOCKET"]); s.sendall(b"POST /y HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"); s.recv(999); time.sleep(60)'`
	for name, c := range map[string]struct {
		order      func(*agentapi.Orders)
		ask        string
		answer     time.Duration // after the order
		says       bool          // the script hears that the command has succeeded
		least, max time.Duration // when the job ends, after the order
	}{
		"cancel":          {stop(agentapi.WhyCancel), ask, 300 * time.Millisecond, true, 350 * time.Millisecond, 10 * time.Second},
		"requeue":         {stop(agentapi.WhyRequeue), ask, 300 * time.Millisecond, true, 350 * time.Millisecond, 10 * time.Second},
		"signal":          {signal, ask, 300 * time.Millisecond, true, 350 * time.Millisecond, 10 * time.Second},
		"no answer":       {stop(agentapi.WhyCancel), ask, 5 * time.Second, false, 2900 * time.Millisecond, 10 * time.Second},
		"keeps on":        {stop(agentapi.WhyCancel), keep, 0, false, time.Second, 10 * time.Second},
		"the node's end":  {stop(agentapi.WhyNode), ask, 5 * time.Second, false, 0, 2 * time.Second},
		"only a question": {stop(agentapi.WhyCancel), strings.Replace(ask, "-X POST", "", 1), 5 * time.Second, false, 0, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFakeServer(t)
			var ordered time.Time
			d.answer = func() {
				ordered = time.Now()
				d.order(c.order)
				time.Sleep(c.answer)
			}
			startAgent(t, d, nil)
			dir := d.launch("r1", c.ask+" >/dev/null && echo answered; sleep 60", nil)
			d.awaitEnd("r1")
			took := time.Since(ordered)
			if got := output(t, dir); strings.Contains(got, "answered\n") != c.says || took < c.least || took > c.max {
				t.Errorf("the script wrote %q and ended after %s", got, took)
			}
		})
	}
}
