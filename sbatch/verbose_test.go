package sbatch

import (
	"slices"
	"strings"
	"testing"
)

// TestVerbose compares what is said with what sbatch 24.11 says of the same words. The debug messages of its plugins are its own.
func TestVerbose(t *testing.T) {
	rule := "sbatch: -------------------- --------------------"
	table := func(rows ...string) []string {
		return slices.Concat([]string{"sbatch: defined options", rule}, rows, []string{rule, "sbatch: end of defined options"})
	}
	const core, nofile, nice, umask = "sbatch: debug:  propagating RLIMIT_CORE=0", "sbatch: debug:  propagating RLIMIT_NOFILE=20000",
		"sbatch: debug:  propagating SLURM_PRIO_PROCESS=5", "sbatch: debug:  propagating UMASK=0027"
	for _, c := range []struct {
		args, env string
		want      []string
	}{
		{"", "", nil},
		{"-v", "", table("sbatch: verbose             : 1")},
		{"-vv", "", append(table("sbatch: verbose             : 2"), core, nofile, nice, umask)},
		{"-vv", "SLURM_UMASK=0022", append(table("sbatch: verbose             : 2"), core, nofile, nice)},
		{"-vvv --propagate=NOFILE", "", append(table("sbatch: propagate           : NOFILE", "sbatch: verbose             : 3"), nofile, nice, umask)},
		{"-vv --propagate=NONE", "", append(table("sbatch: propagate           : NONE", "sbatch: verbose             : 2"), nice, umask)},
		{"", "SBATCH_DEBUG=4", append(table("sbatch: verbose             : 4"), core, nofile, nice, umask)},
		{"", "SBATCH_DEBUG=0", nil},
		{"-v", "SBATCH_DEBUG=4", table("sbatch: verbose             : 1")},
	} {
		in := input("#!/bin/sh\n", strings.Fields(c.args)...)
		in.Env = append(in.Env, strings.Fields(c.env)...)
		in.Nice, in.Umask = 5, 0o27
		in.Limits = func() []Limit { return []Limit{{"CORE", 0}, {"NOFILE", 20000}} }
		r, err := Parse(in)
		if err != nil {
			t.Fatalf("%s %s: %v", c.env, c.args, err)
		}
		if !slices.Equal(r.Warnings, c.want) {
			t.Errorf("%s %s:\n%s\nwant\n%s", c.env, c.args, strings.Join(r.Warnings, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
