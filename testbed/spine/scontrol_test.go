package spine

import (
	"strings"
	"testing"

	"fsub/federation"
	"fsub/federation/reasons"
)

// What a user changes of a job that waits at a site is changed in the site's own record; what nobody could run is refused, and so is
// what cannot be changed any more.
func TestUpdateReachesTheSite(t *testing.T) {
	world.Need(t)
	for _, site := range []string{"alpha", "gamma"} {
		t.Run(site, func(t *testing.T) {
			id := fsub(t, "alice", "--gres=gpu:"+gpuOf[site]+":1", "-t60", "--wrap", "sleep 300")
			awaitRunning(t, id)
			defer login(t, "alice", "scancel", id.String())
			text := id.String()
			for _, c := range []struct{ user, change, want string }{
				{"alice", "timelimit=7", ""},
				{"alice", "comment=a b", ""},
				{"alice", "timelimit=60", "Access/permission denied for job " + text + "\n"},
				{"alice", "numtasks=4", "Job is no longer pending execution for job " + text + "\n"},
				{"alice", "bogus=4", "Update of this parameter is not supported: bogus=4\nRequest aborted\n"},
				{"bob", "timelimit=5", "Invalid user id for job " + text + "\n"},
			} {
				out := login(t, c.user, "scontrol", "update", "jobid="+text, c.change)
				if out.stderr != c.want || out.stdout != "" || (out.code != 0) != (c.want != "") {
					t.Errorf("%s by %s: exit %d, %q, want %q", c.change, c.user, out.code, out.stderr+out.stdout, c.want)
				}
			}
			for where, shown := range map[string]string{
				"the site": at(t, site, "alice", "scontrol", "show", "job", text).stdout, "the federation": login(t, "alice", "scontrol", "show", "job", text).stdout,
			} {
				if !strings.Contains(shown, "TimeLimit=00:07:00 ") || !strings.Contains(shown, " Comment=a b") {
					t.Errorf("%s shows\n%s", where, shown)
				}
			}
		})
	}
}

// A requeued job keeps its ID and is one restart on: at once where the site can do it, else by the federation, which stops the run first.
func TestRequeue(t *testing.T) {
	world.Need(t)
	for name, site := range map[string]string{"by the site": "gamma", "by the federation": "alpha"} {
		t.Run(name, func(t *testing.T) {
			id := fsub(t, "alice", "--gres=gpu:"+gpuOf[site]+":1", "-t5", "--wrap", "sleep 300")
			defer login(t, "alice", "scancel", id.String())
			awaitRunning(t, id)
			if out := login(t, "bob", "scontrol", "requeue", id.String()); out.stderr != "Access/permission denied for job "+id.String()+"\n" || out.code != 1 {
				t.Errorf("by another user: exit %d, %q", out.code, out.stderr)
			}
			if out := login(t, "alice", "scontrol", "requeue", id.String()); out.code != 0 || out.stdout+out.stderr != "" {
				t.Fatalf("requeue: %+v", out)
			}
			await(t, id, "pending again", func(j *federation.Job) bool {
				return j.State == federation.Pending && j.Restarts == 1 && j.Reason == reasons.BeginTime
			})
			if out := login(t, "alice", "scontrol", "requeue", id.String()); out.stderr != "Job is pending execution for job "+id.String()+"\n" || out.code != 1 {
				t.Errorf("requeue of a job that waits: exit %d, %q", out.code, out.stderr)
			}
		})
	}
}
