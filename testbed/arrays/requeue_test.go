package arrays

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// again has its middle task requeue itself, by the names that it has there in turns, as often as %d says.
const again = `#!/bin/bash
echo "task $SLURM_ARRAY_TASK_ID, run ${SLURM_RESTART_COUNT:-0}, number $SLURM_JOB_ID of $SLURM_ARRAY_JOB_ID"
[ $SLURM_ARRAY_TASK_ID = 4 ] && [ ${SLURM_RESTART_COUNT:-0} -lt %d ] || exit 0
if [ $((${SLURM_RESTART_COUNT:-0} %% 2)) = 0 ]; then scontrol requeue $SLURM_JOB_ID; else scontrol requeue ${SLURM_ARRAY_JOB_ID}_4; fi
exec sleep 300
`

var requeueLine = regexp.MustCompile(`(?m)^.*CANCELLED AT .*\*\*\*\n`)

// TestTaskRequeuesItself has a task requeue itself again and again, at each kind of site, submitted by sbatch and by ours: its number stays, its restarts
// are counted, its log is appended to, sacct -D has all of its runs, and the other tasks run once. Package rented does the same on rented machines.
func TestTaskRequeuesItself(t *testing.T) {
	world.Need(t)
	t.Parallel()
	times := 2
	if os.Getenv("FSUB_FULL") != "" {
		times = 10
	}
	for _, site := range sites {
		t.Run(site, func(t *testing.T) {
			t.Parallel()
			pr := newPair(t, site, &plan{script: fmt.Sprintf(again, times), indices: []int{3, 4, 5}})
			defer pr.explain()
			pr.submit("A", []string{"--array=3-5", "-t20", "--mem=50M", "--requeue", "--open-mode=append", "-oA%A-%a.log"}, "a.sh")
			for range times {
				pr.again("4")
			}
			pr.settle()
			pr.same("output files", pr.files)
			pr.compareAccounting("at the end", []string{"-X", "-P", "-o", columns})
			pr.compareAccounting("of all runs at the end", allRuns)
			for _, s := range pr.sides {
				s.checkLog(t, times)
			}
		})
	}
}

// checkLog reads what the tasks have written: the one that requeues itself a line for each run, with one number, the others one line.
func (s *side) checkLog(t *testing.T, times int) {
	t.Helper()
	for task, runs := range map[int]int{3: 1, 4: times + 1, 5: 1} {
		text, err := os.ReadFile(fmt.Sprintf("%s/A%s-%d.log", s.dir, s.ids["A"], task))
		lines := strings.Split(strings.TrimSpace(requeueLine.ReplaceAllString(string(text), "")), "\n")
		if err != nil || len(lines) != runs {
			t.Errorf("%s: task %d has run %d times, want %d: %v\n%s", s.name, task, len(lines), runs, err, text)
			continue
		}
		_, numbers, _ := strings.Cut(lines[0], ", number ")
		for run, line := range lines {
			if s.site == "delta" { // gives a resubmitted task a new number of its own
				_, numbers, _ = strings.Cut(line, ", number ")
			}
			if want := fmt.Sprintf("task %d, run %d, number %s", task, run, numbers); line != want {
				t.Errorf("%s: %q, want %q", s.name, line, want)
			}
		}
	}
}
