package commands

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

func wordsOf(socket, command string, args ...string) string {
	var out bytes.Buffer
	Words(command, args, []string{"FSUB_SOCKET=" + socket, "SQUEUE_STATES=FAILED", "USER=alice"}, &out)
	return out.String()
}

func TestWords(t *testing.T) {
	d := apitest.Start(t, api.Config{})
	d.Put(t, federation.Job{ID: 30000017, User: "alice", UID: 7001, State: federation.Running, Spec: &sbatch.Spec{Name: "train", WorkDir: "/"}})
	for _, c := range []struct {
		command string
		args    []string
		want    string
	}{
		{"squeue", []string{"jobs"}, "30000017\ttrain\n"},
		{"squeue", []string{"job-names"}, "train\n"},
		{"scancel", []string{"users"}, "alice\n"},
		{"scontrol", []string{"operands"}, "requeue\n"},
		{"scontrol", []string{"operands", "show"}, "partition\n"},
		{"sacctmgr", []string{"operands", "list"}, "qos\n"},
		{"sbatch", []string{"=append truncate"}, "append\ntruncate\n"},
	} {
		if got := wordsOf(d.Socket, c.command, c.args...); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %q lacks %q", c.command, c.args, got, c.want)
		}
	}
	if got := wordsOf(d.Socket, "sbatch", "nothing"); got != "" {
		t.Errorf("an unknown kind: %q", got)
	}
}

// A daemon that is not there, or does not answer, has no words, and does not keep the shell.
func TestWordsAreSilentAndSoon(t *testing.T) {
	dir := t.TempDir()
	mute, err := net.Listen("unix", dir+"/mute")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	for _, socket := range []string{dir + "/mute", dir + "/none"} {
		began := time.Now()
		if got := wordsOf(socket, "squeue", "jobs"); got != "" || time.Since(began) > 10*wordsWithin {
			t.Errorf("%s: %q after %s", socket, got, time.Since(began))
		}
	}
}
