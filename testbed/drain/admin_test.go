package drain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"fsub/federation"
	"fsub/testbed/bed"
)

// said is what a command wrote, and its exit code.
type said struct {
	text string
	exit int
}

func saidOf(out string, err error) said {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return said{out, 0}
	case errors.As(err, &exit):
		return said{out, exit.ExitCode()}
	}
	return said{out + err.Error(), -1}
}

// TestWords: what administrators and users type about nodes and requeues gets the words and exit codes of scontrol 24.11, and by its rules of who may.
// The real one and ours work on a node and a job each, of the same site. NODE and JOB stand for them.
func TestWords(t *testing.T) {
	world.Need(t)
	s := &story{T: t, site: "alpha", client: world.Daemon.Client()}
	defer s.client.Close()
	theirs, ours, busy := s.node(nodes-1), s.node(nodes), s.node(nodes-2) // the first ones are for TestCells
	out, err := world.Bed.Output(t.Context(), s.site, "alice", "sbatch", "--parsable", "-w", busy, "-J", "words", "-t", "5", "-o", "/dev/null", "-D", "/", "--wrap", "sleep 290")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	theirJob := strings.TrimSpace(out)
	ourJob := s.submit("sleep 290", "-w", busy)
	s.until(ourJob, federation.Running)
	t.Cleanup(func() {
		world.Bed.Output(context.Background(), s.site, "", "scancel", "-n", "words")
		world.Bed.Output(context.Background(), s.site, "", "scontrol", "update", "nodename="+theirs, "state=resume")
		command("root", "fed", "node", "resume", s.site+"/"+ours, "--wait")
		command("alice", "scancel", ourJob.String())
	})
	s.eventually("the job of the site runs", func() string {
		out, _ := world.Bed.Output(t.Context(), s.site, "", "squeue", "-h", "-o", "%T", "-j", theirJob)
		return strings.TrimPrefix(strings.TrimSpace(out), "RUNNING")
	})
	for _, line := range []string{
		"alice: update nodename=NODE state=drain reason=fan",
		"alice: update nodename=NODE state=resume",
		"alice: reboot NODE",
		"alice: reboot ASAP reason=fan NODE",
		"root: update nodename=NODE state=drain",
		"root: update nodename=NODE state=down",
		"root: update nodename=NODE state=bogus reason=x",
		"root: update nodename=NODE",
		"root: update nodename=NODE foo=1",
		"root: update nodename=NODE state",
		"root: update nodename=NODE state=resume resumeafter=60",
		"root: update nodename=nosuch state=drain reason=fan",
		"root: update nodename=NODE state=resume",
		"root: update nodename=NODE state=drain reason=fan",
		"root: update nodename=NODE state=undrain",
		"root: update NodeName=NODE State=DRAIN Reason=fan",
		"root: update nodename=NODE state=RESUME",
		"root: reboot",
		"root: reboot NODE NODE",
		"root: reboot nextstate=idle NODE",
		"root: reboot nextstate= NODE",
		"root: reboot reason= NODE",
		"root: cancel_reboot",
		"root: cancel_reboot NODE NODE",
		"alice: cancel_reboot NODE",
		"root: show node nosuch",
		"bob: requeue JOB",
		"bob: requeuehold JOB",
		"alice: requeue",
		"alice: requeue 4711",
		"alice: requeuehold 4711",
		"alice: requeuehold JOB",
	} {
		user, text, _ := strings.Cut(line, ": ")
		run := func(node, job string, do func(args []string) (string, error)) said {
			got := saidOf(do(strings.Fields(strings.NewReplacer("NODE", node, "JOB", job).Replace(text))))
			got.text = strings.NewReplacer(node, "NODE", job, "JOB").Replace(got.text)
			return got
		}
		want := run(theirs, theirJob, func(args []string) (string, error) {
			var out bytes.Buffer
			err := world.Bed.Exec(t.Context(), bed.Cmd{Site: s.site, User: user, Args: append([]string{"scontrol"}, args...), Stdout: &out, Stderr: &out})
			return out.String(), err
		})
		got := run(ours, strconv.FormatUint(uint64(ourJob), 10), func(args []string) (string, error) { return command(user, append([]string{"scontrol"}, args...)...) })
		if want != got && !(want.exit == got.exit && more(want.text, got.text)) {
			t.Errorf("%s: %s", line, fmt.Sprintf("scontrol %q, exit %d; ours %q, exit %d", want.text, want.exit, got.text, got.exit))
		}
	}
}

// TestCancelReboot: a reboot that waits for a job's end is taken back, and the job goes on. The site is the one with a command for its nodes.
func TestCancelReboot(t *testing.T) {
	world.Need(t)
	s := &story{T: t, site: "delta", client: world.Daemon.Client()}
	defer s.client.Close()
	node := s.node(nodes)
	job := s.submit("sleep 290", "-w", node)
	s.until(job, federation.Running)
	t.Cleanup(func() { command("alice", "scancel", job.String()) })
	for _, order := range []struct {
		args []string
		want bool
	}{{[]string{"reboot", "reason=firmware"}, true}, {[]string{"cancel_reboot"}, false}} {
		args := append(append([]string{"scontrol"}, order.args...), s.site+"/"+node)
		if out, err := command("root", args...); err != nil || out != "" {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		s.eventually(strings.Join(args, " "), func() string {
			if state, _ := s.shown(nodes); strings.Contains(state, "REBOOT") != order.want {
				return state
			}
			return ""
		})
	}
	if j := s.job(job); j.State != federation.Running || j.Restarts != 0 {
		t.Errorf("the job is %s after %d restarts", j.State, j.Restarts)
	}
	if state, reason := s.shown(nodes); strings.Contains(state, "DRAIN") {
		t.Errorf("%s is left %s %q", node, state, reason)
	}
}

// more reports whether ours says more of the same: the sentence of scontrol with what follows it.
func more(theirs, ours string) bool { return strings.HasPrefix(ours, strings.TrimSuffix(theirs, "\n")) }
