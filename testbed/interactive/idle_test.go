package interactive

import (
	"strings"
	"testing"
)

// TestIdleSession: a shell in which nothing happens ends, and says why; the job goes on, and so does a session that has something to do.
func TestIdleSession(t *testing.T) {
	w := newWorld(t, "limits: {idle_session: 3s}\n")
	id := w.job(t)
	x := w.open(t, "fed", "attach", id, "bash", "--norc", "-i")
	x.Expect("READY> ")
	x.Expect("fsub: nothing was typed, printed or sent for 3s: the daemon ends this connection (limits: idle_session); the job goes on")
	x.Expect("the connection to job " + id + " is lost, and its step ends")
	if code := x.Wait(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	out := w.run(t, "srun", "--jobid="+id, "--overlap", "-N1", "-n1", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 1; done")
	if out.code != 0 || out.stderr != "" {
		t.Errorf("a step that prints each second: %+v", out)
	}
	f := w.forward(t, id, "0:"+freePort(t))
	f.cmd.Wait()
	if said := f.said.String(); !strings.Contains(said, "nothing was typed, printed or sent for 3s") {
		t.Errorf("fed forward: %s", said)
	}
}
