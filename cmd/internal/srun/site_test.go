package srun

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"fsub/cmd/internal/conn"
)

// TestQuoted: a shell reads the words that were quoted.
func TestQuoted(t *testing.T) {
	words := []string{"a b", "it's", "$HOME", "`id`", "", "\\", "x\ny", "*", `"`, "-n"}
	out, err := exec.Command("sh", "-c", `for w in `+quoted(words)+`; do printf '%s\0' "$w"; done`).Output()
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil || !slices.Equal(got, words) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestWithoutJob: the job's number is the site's, whatever the number of the federation was; the command keeps its words.
func TestWithoutJob(t *testing.T) {
	for line, want := range map[string]string{
		"--jobid=7 --overlap prog --jobid=8": "--overlap prog --jobid=8",
		"-N2 --jobid 7 prog":                 "-N2 prog",
		"--jobi=7 prog":                      "prog",
		"--job-name=x --jobid=7 prog":        "--job-name=x prog",
		"--jobid":                            "",
		"-N2 prog --jobid=8":                 "-N2 prog --jobid=8",
	} {
		if got := strings.Join(withoutJob(strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestReadSiteSrun: a program on the daemon's machine is called there alone, and an answer without a job not at all.
func TestReadSiteSrun(t *testing.T) {
	here, there := conn.New("/run/s", 0), conn.New("tls://login1.example.org:6825", 0)
	for _, c := range []struct {
		text string
		c    *conn.Conn
		want string
	}{
		{`{"site":"alpha","job":7}`, here, ""},
		{`{"site":"alpha","job":7,"command":["/bin/srun"]}`, there, "site alpha is reached from the daemon's machine only: call this there (login1.example.org:6825)"},
		{`{"site":"alpha","job":7,"host":"login"}`, there, ""},
		{`{}`, here, "makes no sense"},
		{`x`, here, "makes no sense"},
	} {
		if _, err := readSiteSrun([]byte(c.text), c.c); err == nil && c.want != "" || err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
}
