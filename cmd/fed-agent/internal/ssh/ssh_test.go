package ssh

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
)

var job = []string{"FSUB_STEPS=/socket", "SLURM_JOB_NODELIST=gang-[1-2]", "SLURM_JOB_USER=alice", "HOME=/home/alice", "PATH=/nowhere"}

func TestStep(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // host, whether without input, command; "" where the machine's own ssh is meant
	}{
		{"gang-1 hostname", "gang-1 hostname"},
		{"-o PasswordAuthentication=no gang-2 hostname", "gang-2 hostname"},
		{"-oBatchMode=yes -p 22 -x gang-2 hostname -I", "gang-2 hostname -I"},
		{"-2 gang-1 true", "gang-1 true"},
		{"-a -x -lalice gang-1 cd /w; python3 -u x.py", "gang-1 cd /w; python3 -u x.py"},
		{"-l alice gang-1 -- true", "gang-1 true"},
		{"alice@gang-1 -n true", "gang-1 none true"},
		{"-xnq gang-1 true", "gang-1 none true"},
		{"bob@gang-1 true", ""},
		{"-l bob alice@gang-1 true", ""},
		{"gang-1", ""},
		{"gang-3 true", ""},
		{"git@example.org git-upload-pack x", ""},
		{"-N -L 80:h:80 gang-1 true", ""},
		{"-s gang-1 sftp", ""},
		{"-f gang-1 sleep 9", ""},
		{"-p", ""},
		{"", ""},
	} {
		got := ""
		if p, ok := parse(strings.Fields(c.args)); ok && p.inJob(job) {
			got = p.host
			if p.noInput {
				got += " none"
			}
			got += " " + strings.Join(p.words, " ")
			step := p.step(job)
			if !slices.Contains(step, "--chdir=/home/alice") || !slices.Contains(step, "--nodelist="+p.host) || slices.Contains(step, "--input=none") != p.noInput {
				t.Errorf("ssh %s: srun %q", c.args, step)
			}
		}
		if got != c.want {
			t.Errorf("ssh %s: step %q, want %q", c.args, got, c.want)
		}
	}
}

// Outside of a job, and where the machine has no ssh, one sentence says so.
func TestNoSSH(t *testing.T) {
	var out bytes.Buffer
	if code := Main([]string{"gang-1", "true"}, job[1:], os.Stdin, &out, &out); code != notFound || !strings.Contains(out.String(), "has no ssh") {
		t.Errorf("%d: %s", code, out.String())
	}
}
