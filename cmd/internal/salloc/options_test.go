package salloc

import (
	"bytes"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestOptions: what of a command line and an environment is the job's.
func TestOptions(t *testing.T) {
	for _, c := range []struct{ name, line, env, job, command, sites string }{
		{"salloc", "-N2 -t 5 --exclusive bash -c x", "", "--no-requeue --output=/dev/null --job-name=bash --nodes=2 --time=5 --exclusive", "bash -c x", ""},
		{"salloc", "--no-shell -J mine", "", "--no-requeue --output=/dev/null --job-name=no-shell --job-name=mine", "", ""},
		{"salloc", "--fed-sites=a,b --bell", "SALLOC_JOB_NAME=x", "--no-requeue --output=/dev/null", "", "a,b"},
		{"salloc", "", "FSUB_SITES=c SBATCH_PARTITION=p", "--no-requeue --output=/dev/null --job-name=interactive", "", "c"},
		{"srun", "-n4 -l -o x --pty -W 3 -p main --mem=1G hostname -f", "", "--no-requeue --output=/dev/null --job-name=hostname --ntasks=4 --partition=main --mem=1G", "hostname -f", ""},
	} {
		var out bytes.Buffer
		read := readSalloc
		if c.name == "srun" {
			read = readSrun
		}
		o, _ := read(strings.Fields(c.line), strings.Fields(c.env), &out, &out)
		if o == nil || strings.Join(o.job, " ") != c.job || strings.Join(o.command, " ") != c.command || o.sites != c.sites {
			t.Errorf("%s %s: %+v, %s", c.name, c.line, o, &out)
		}
	}
	env := translated([]string{"SALLOC_ACCOUNT=a", "SBATCH_ACCOUNT=b", "FSUB_SITES=c", "HOME=/"}, "SALLOC_")
	if !slices.Equal(env, []string{"SBATCH_ACCOUNT=a", "SALLOC_ACCOUNT=a", "HOME=/"}) {
		t.Errorf("%q", env)
	}
	for s, want := range map[string]syscall.Signal{"TERM": syscall.SIGTERM, "sigint": syscall.SIGINT, "9": syscall.SIGKILL, "": 0, "0": 0, "99": 0, "9x": 0, "NOSUCH": 0} {
		if got := signalOf(s); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
}

// TestWords: what the daemon says of a submission, in the words of the command.
func TestWords(t *testing.T) {
	for _, c := range [][3]string{
		{"salloc", "sbatch: error: Batch job submission failed: Invalid qos specification", "salloc: error: Job submit/allocate failed: Invalid qos specification"},
		{"srun", "sbatch: error: Batch job submission failed: Invalid qos specification", "srun: error: Unable to allocate resources: Invalid qos specification"},
		{"salloc", "sbatch: error: Invalid --time specification", "salloc: error: Invalid --time specification"},
		{"srun", `Try "sbatch --help" for more information`, `Try "srun --help" for more information`},
	} {
		var out bytes.Buffer
		a := &allocation{name: c[0], stderr: &out}
		if a.say(c[1]); out.String() != c[2]+"\n" {
			t.Errorf("%q, want %q", &out, c[2])
		}
	}
}
