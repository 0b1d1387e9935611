package sbatch

import (
	"errors"
	"strings"
	"testing"
)

// TestSpecialized: --core-spec and --thread-spec from everywhere, as sbatch 22.05, 24.11 and 26.05 take them.
func TestSpecialized(t *testing.T) {
	const both, vars = "sbatch: fatal: -S/--core-spec and --thred-spec options are mutually exclusive",
		"sbatch: fatal: Both --core-spec and --thread-spec set using environment variables. Those options are mutually exclusive."
	for _, c := range []struct {
		script, env, args string
		core, thread      int
		refused           string
	}{
		{"", "", "-S1", 1, 0, ""},
		{"", "", "-S1 --thread-spec=2", 0, 0, both},
		{"-S1", "", "--thread-spec=2", 0, 0, both},
		{"-S1", "SBATCH_THREAD_SPEC=3", "--thread-spec=2", 0, 0, both},
		{"", "SBATCH_CORE_SPEC=1 SBATCH_THREAD_SPEC=2", "", 0, 0, vars},
		{"-S3", "SBATCH_CORE_SPEC=1 SBATCH_THREAD_SPEC=2", "", 0, 0, vars},
		{"", "SBATCH_CORE_SPEC=1 SBATCH_THREAD_SPEC=2", "-S3", 3, 0, ""},
		{"", "SBATCH_CORE_SPEC=1", "--thread-spec=2", 0, 2, ""},
		{"", "SBATCH_THREAD_SPEC=2", "-S1", 1, 0, ""},
		{"-S1", "SBATCH_THREAD_SPEC=2", "", 0, 2, ""},
		{"--thread-spec=1", "SBATCH_CORE_SPEC=2", "", 2, 0, ""},
	} {
		script := "#!/bin/sh\n"
		if c.script != "" {
			script += "#SBATCH " + c.script + "\n"
		}
		in := input(script, strings.Fields(c.args)...)
		in.Env = strings.Fields(c.env)
		r, err := Parse(in)
		var exit *Exit
		switch {
		case c.refused != "":
			if !errors.As(err, &exit) || exit.Code != 1 || len(exit.Stderr) != 1 || exit.Stderr[0] != c.refused {
				t.Errorf("%+v: %v", c, err)
			}
		case err != nil:
			t.Errorf("%+v: %v", c, err)
		case r.Spec.More.CoreSpec != c.core || r.Spec.More.ThreadSpec != c.thread:
			t.Errorf("%+v: core %d, thread %d", c, r.Spec.More.CoreSpec, r.Spec.More.ThreadSpec)
		}
	}
}
