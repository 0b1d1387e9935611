package listing

import (
	"testing"
)

func TestExpandFile(t *testing.T) {
	v := fileVars{id: 1207, jobID: 1208, task: 7, name: "wrap", user: "alice", node: "n1"}
	for pattern, want := range map[string]string{
		"%3a_%5A_%j_%x_%u_%N_%n_%t_%s_%J_%b_%%_%4j": "007_01207_1208_wrap_alice_n1_0_0_batch_1208_7_%_1208",
		`bs_\%j.out`: "bs_%j.out", "a%": "a%", "%q%12j": "%q0000001208", "%": "%", "slurm-%A_%a.out": "slurm-1207_7.out",
	} {
		if got := expandFile(pattern, v); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
	v.task = -1
	if got := expandFile("%a", v); got != "4294967294" {
		t.Errorf("%%a outside arrays: %q", got)
	}
}
