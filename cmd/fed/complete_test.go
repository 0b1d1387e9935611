package main

import (
	"bytes"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

func completed(t *testing.T, args ...string) string {
	t.Helper()
	cmd := newCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SetArgs(append([]string{"__complete"}, args...))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return out.String()
}

// TestCompletion: what a usage line calls JOB is completed by jobs, and so on.
func TestCompletion(t *testing.T) {
	d := apitest.Start(t, api.Config{})
	t.Setenv("FSUB_SOCKET", d.Socket)
	d.Put(t, federation.Job{ID: 30000017, User: "alice", UID: 7001, State: federation.Running, Spec: &sbatch.Spec{Name: "train", WorkDir: "/", Fed: &sbatch.Fed{Group: "sweep/lr-3"}}})
	d.Controller.SetSites(&federation.Site{Name: "alpha", State: federation.FedActive})
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"explain", ""}, "30000017\ttrain of alice, RUNNING\n"},
		{[]string{"job", "show", "3"}, "30000017\t"},
		{[]string{"site", "show", ""}, "alpha\n"},
		{[]string{"job", "list", "--where", ""}, "state=\n"},
		{[]string{"job", "list", "--where", "user="}, "user=alice\n"},
		{[]string{"events", "--where", "group="}, "group=sweep/lr-3\n"},
		{[]string{"report", "cost", "--by", "site,"}, "site,account\n"},
		{[]string{"report", "cost", "--where", ""}, "gpu=\n"},
		{[]string{"report", "cost", "--every", ""}, "week\n"},
		{[]string{"compl"}, "completion\t"},
	} {
		if got := completed(t, c.args...); !strings.Contains(got, c.want) {
			t.Errorf("%q: %q lacks %q", c.args, got, c.want)
		}
	}
	if got := completed(t, "report", "cost", "--by", "site,"); strings.Contains(got, "site,site") {
		t.Errorf("a dimension twice: %q", got)
	}
}

// A daemon that is not there, or does not answer, completes nothing, says nothing, and does not keep the shell.
func TestCompletionIsSilentAndSoon(t *testing.T) {
	dir := t.TempDir()
	mute, err := net.Listen("unix", dir+"/mute")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	for _, socket := range []string{dir + "/mute", dir + "/none"} {
		t.Setenv("FSUB_SOCKET", socket)
		began := time.Now()
		if got := completed(t, "explain", ""); !strings.HasPrefix(got, ":") || time.Since(began) > 2*time.Second {
			t.Errorf("%s: %q after %s", socket, got, time.Since(began))
		}
	}
}

// The script for Slurm's commands is one that bash reads.
func TestSlurmCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("SKIPPED: there is no bash to complete in")
	}
	cmd := exec.Command(bash, "-c", slurmCompletion+`
squeue() { echo 30000017; echo 30000018; }
sinfo() { echo main; echo debug; }
timeout() { shift; "$@"; }
COMP_WORDS=(scancel 3000); COMP_CWORD=1; _fsub_slurm; echo "${COMPREPLY[@]}"
COMPREPLY=(); COMP_WORDS=(sbatch -p ma); COMP_CWORD=2; _fsub_slurm; echo "${COMPREPLY[@]}"
COMPREPLY=(); COMP_WORDS=(sbatch --partition = main,de); COMP_CWORD=3; _fsub_slurm; echo "${COMPREPLY[@]}"
COMPREPLY=(); COMP_WORDS=(scontrol sh); COMP_CWORD=1; _fsub_slurm; echo "${COMPREPLY[@]}"`)
	out, err := cmd.CombinedOutput()
	if want := "30000017 30000018\nmain\nmain,debug\nshow\n"; err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}
