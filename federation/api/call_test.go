package api_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// TestCall: the daemon reads options, script and environment by sbatch's rules, and no file but the script.
func TestCall(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	const script = "#!/bin/sh\n#SBATCH --ntasks=2 --time=5 --array=0-3\n#FSUB --group=g\ntrue\n"
	id, err := c.Submit(t.Context(), v1.SubmitRequest{SubmitHost: "laptop",
		Call:    &v1.Call{Args: []string{"--time=1:00:00", "--begin=2030-01-02T16:00"}, Script: "/home/a/x.sh", Dir: "/home/a", UTCOffset: 7200, Umask: 0o27, Limits: map[string]int64{"NOFILE": 99, "AS": -1}},
		Payload: sbatch.Payload{Script: script, Argv: []string{"one", "two words"}, Environment: []string{"A=b", "SBATCH_OPEN_MODE=append"}}})
	if err != nil {
		t.Fatal(err)
	}
	j, err := d.Store.Job(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	s := j.Spec
	if s.NTasks != 2 || s.TimeLimit != time.Hour || s.Array != "0-3" || s.GroupName() != "g" || s.OpenMode != "append" || s.Name != "x.sh" || s.Command != "/home/a/x.sh" || s.WorkDir != "/home/a" ||
		!s.Begin.Equal(time.Date(2030, 1, 2, 14, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", s)
	}
	p, err := c.Payload(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	env := strings.Join(p.Environment, " ")
	for _, want := range []string{"A=b", "SLURM_SUBMIT_HOST=laptop", "SLURM_UMASK=0027", "SLURM_RLIMIT_NOFILE=99", "SLURM_RLIMIT_AS=18446744073709551615"} {
		if !strings.Contains(env, want) {
			t.Errorf("the environment has no %s: %s", want, env)
		}
	}
	if p.Script != script || strings.Join(p.Argv, "|") != "one|two words" {
		t.Errorf("%q %q", p.Script, p.Argv)
	}
	for name, c := range map[string]struct {
		call v1.Call
		env  []string
		want string
	}{
		"an unknown option":         {call: v1.Call{Args: []string{"--no-such"}, Dir: "/"}, want: "unrecognized option '--no-such'"},
		"an option that prints":     {call: v1.Call{Args: []string{"--help"}, Dir: "/"}, want: "only prints something"},
		"a file of the caller's":    {call: v1.Call{Args: []string{"--export-file=/etc/passwd"}, Dir: "/"}, want: "Could not open user environment file /etc/passwd"},
		"a list of hosts in a file": {call: v1.Call{Dir: "/"}, env: []string{"SLURM_HOSTFILE=/etc/passwd"}, want: "error opening file /etc/passwd"},
		"a relative directory":      {call: v1.Call{Dir: "x"}, want: "want the absolute path of a directory"},
		"a relative script":         {call: v1.Call{Dir: "/", Script: "x"}, want: "script: want an absolute path"},
	} {
		_, err := client.New(d.Socket).Submit(t.Context(), v1.SubmitRequest{Call: &c.call, Payload: sbatch.Payload{Script: "#!/bin/sh\n", Environment: c.env}})
		if !errors.Is(err, federation.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
