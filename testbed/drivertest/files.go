package drivertest

import (
	"fmt"
	"strings"

	"fsub/federation"
)

// testPatterns: the numbers in file names are the federation's, whatever the site calls the job.
func testPatterns(s *suite) {
	for pattern, want := range map[string]string{
		"":                       "slurm-ID.out",
		"pattern-%j-%10j-%A-%x":  "pattern-ID-00ID-ID-drivertest",
		"pattern-%J-%%j":         "pattern-ID-%j",
		`pattern-%j\-%A.literal`: "pattern-%j-%A.literal",
	} {
		id := s.submit(s.job("echo done", func(sub *federation.Submission) { sub.Job.Spec.Output, sub.Job.Spec.OpenMode = pattern, "append" }))
		if got := s.file(strings.ReplaceAll(want, "ID", id.String())); !strings.Contains(got, "done") {
			s.Errorf("%q: output %q", pattern, got)
		}
	}
}

// testArrayPatterns: without a wish, and with one that has the array's number in it, each task writes a file of its own.
func testArrayPatterns(s *suite) {
	for pattern, want := range map[string]string{"": "slurm-ID_3.out", "pattern-%A-%4a.out": "pattern-ID-0003.out"} {
		id := s.submit(s.job("echo $SLURM_ARRAY_TASK_ID", func(sub *federation.Submission) { sub.Job.Spec.Array, sub.Job.Spec.Output = "3", pattern }))
		if got := s.file(strings.ReplaceAll(want, "ID", id.String())); got != "3" {
			s.Errorf("%q: output %q", pattern, got)
		}
	}
}

// testPart: a job that is one task of an array which is spread over sites finds the array's variables and file names, in its script and in
// its steps.
func testPart(s *suite) {
	array := s.NextID()
	part := &federation.ArrayPart{Array: array, Index: 12, Count: 5, Min: 4, Max: 20, Step: 4}
	want := fmt.Sprintf("SLURM_ARRAY_JOB_ID=%d SLURM_ARRAY_TASK_COUNT=5 SLURM_ARRAY_TASK_ID=12 SLURM_ARRAY_TASK_MAX=20 SLURM_ARRAY_TASK_MIN=4 SLURM_ARRAY_TASK_STEP=4", array)
	show := `env | grep ^SLURM_ARRAY_ | sort | tr '\n' ' '; echo`
	for pattern, name := range map[string]string{"": "slurm-%d_12.out", "part-%A-%4a": "part-%d-0012"} {
		id := s.submit(s.job(show+"\nsrun -n1 sh -c '"+strings.ReplaceAll(show, "'", `'\''`)+"'", func(sub *federation.Submission) {
			sub.Job.Part, sub.Job.Spec.Output = part, pattern
		}))
		j := s.untilState(id, federation.Completed)
		if len(j.Tasks) != 0 || j.ID != id {
			s.Errorf("a part is a job of its own: %+v", j)
		}
		lines := strings.Split(s.file(fmt.Sprintf(name, array)), "\n")
		if len(lines) != 2 || strings.TrimSpace(lines[0]) != want || strings.TrimSpace(lines[1]) != want {
			s.Errorf("%q: script and step see\n%s\nwant twice\n%s", pattern, strings.Join(lines, "\n"), want)
		}
	}
}
