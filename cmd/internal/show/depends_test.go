package show

import (
	"testing"
	"time"

	"fsub/slurm/wire"
)

type booked string

func (b booked) Do(string, string, []byte) (int, []byte, error) { return 200, []byte(b), nil }

// TestDependencies: what squeue and scontrol of Slurm 24.11 show of what jobs wait for, in each state of those.
func TestDependencies(t *testing.T) {
	const parents = booked(`{"jobs":[
		{"job_id":16,"state":{"current":["PENDING"]}},{"job_id":17,"state":{"current":["PENDING"]}},
		{"job_id":18,"state":{"current":["FAILED"]},"time":{"start":1000}},{"job_id":11,"state":{"current":["COMPLETED"]},"time":{"start":1000}},
		{"job_id":12,"state":{"current":["RUNNING"]},"time":{"start":1000}},
		{"job_id":19,"array":{"job_id":19},"state":{"current":["PENDING"]}},
		{"job_id":31,"array":{"job_id":30,"task_id":{"set":true,"number":1}},"state":{"current":["COMPLETED"]}},
		{"job_id":30,"array":{"job_id":30,"task_id":{"set":true,"number":2}},"state":{"current":["FAILED"]}}]}`)
	for _, c := range []struct{ written, want string }{
		{"afterok:16", "afterok:16(unfulfilled)"},
		{"afterok:16:17", "afterok:16(unfulfilled),afterok:17(unfulfilled)"},
		{"afterok:16?afterany:17", "afterok:16(unfulfilled)?afterany:17(unfulfilled)"},
		{"afterok:19", "afterok:19_*(unfulfilled)"}, {"afterok:19_2", "afterok:19_2(unfulfilled)"}, {"aftercorr:19", "aftercorr:19_*(unfulfilled)"},
		{"after:16+5", "after:16+5(unfulfilled)"}, {"singleton", "singleton(unfulfilled)"}, {"afternotok:17", "afternotok:17(unfulfilled)"},
		{"afterok:18:16", "afterok:18(failed),afterok:16(unfulfilled)"}, {"afternotok:11", "afternotok:11(failed)"},
		{"afterok:11:16", "afterok:16(unfulfilled)"}, {"afterany:18,afterok:12", "afterok:12(unfulfilled)"}, {"after:12,afterany:16", "afterany:16(unfulfilled)"},
		{"after:12+10", "after:12+10(unfulfilled)"}, {"after:12+1,afterany:16", "afterany:16(unfulfilled)"},
		{"afterok:30", "afterok:30_*(failed)"}, {"afterok:30_1,afterok:30_2", "afterok:30_2(failed)"}, {"afterok:99", "afterok:99(unfulfilled)"},
	} {
		j := &wire.Job{Dependency: c.written, State: wire.Strings{"PENDING"}}
		begun := &wire.Job{Dependency: c.written, State: wire.Strings{"RUNNING"}}
		Dependencies(parents, []*wire.Job{j, begun}, time.Unix(1300, 0))
		if j.Dependency != c.want || begun.Dependency != "" {
			t.Errorf("%s: %q, want %q; of a job that runs %q", c.written, j.Dependency, c.want, begun.Dependency)
		}
	}
}
