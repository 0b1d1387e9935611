package show

import "testing"

func TestOwnTask(t *testing.T) {
	pinned := []string{"SLURM_JOB_ID=77", "SLURM_ARRAY_JOB_ID=30000003", "SLURM_ARRAY_TASK_ID=2"}
	last := []string{"SLURM_JOB_ID=30000003", "SLURM_ARRAY_JOB_ID=30000003", "SLURM_ARRAY_TASK_ID=2"}
	mapped := []string{"SLURM_JOB_ID=77", "FSUB_JOB_ID=30000009"}
	mappedTask := []string{"SLURM_JOB_ID=78", "SLURM_ARRAY_JOB_ID=77", "SLURM_ARRAY_TASK_ID=2", "FSUB_JOB_ID=30000011", "FSUB_ARRAY_JOB_ID=30000009"}
	for _, c := range []struct {
		env       []string
		ref, want string
	}{
		{pinned, "77", "30000003_2"}, {pinned, "77.batch", "30000003_2.batch"}, {pinned, "78", "78"}, {pinned, "30000003", "30000003"}, {pinned, "", ""},
		{last, "30000003", "30000003"}, // the last task has the array's own number: it stays the array, as in Slurm
		{[]string{"SLURM_JOB_ID=77"}, "77", "77"}, {nil, "77", "77"}, {nil, "", ""},
		{mapped, "77", "30000009"}, {mapped, "77+1", "30000009+1"}, {mapped, "77.0", "30000009.0"}, {mapped, "770", "770"}, {mapped, "30000009", "30000009"},
		{mappedTask, "78", "30000009_2"}, {mappedTask, "77", "30000009"}, {mappedTask, "77_5", "30000009_5"}, {mappedTask, "77_[1-3]", "30000009_[1-3]"},
	} {
		if got := OwnTask(c.env, c.ref); got != c.want {
			t.Errorf("%v: %q: %q, want %q", c.env, c.ref, got, c.want)
		}
	}
}

func TestOwnDependency(t *testing.T) {
	env := []string{"SLURM_JOB_ID=77", "FSUB_JOB_ID=30000009"}
	for text, want := range map[string]string{
		"afterok:77:78_2,after:77+5?singleton": "afterok:30000009:78_2,after:30000009+5?singleton", "77": "30000009", "afterany:177": "afterany:177", "": "", "afterok:": "afterok:",
	} {
		if got := OwnDependency(env, text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
