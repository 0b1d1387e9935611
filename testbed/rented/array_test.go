package rented

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// again requeues its middle task ten times, from within the task and by the names that it has there, in turns.
const again = `#!/bin/bash
#SBATCH -t 5 -n1 --mem=50M --array=3-5 --requeue --open-mode=append -o %A_%a.log
echo "task $SLURM_ARRAY_TASK_ID, run ${SLURM_RESTART_COUNT:-0} of $SLURM_JOB_ID"
[ $SLURM_ARRAY_TASK_ID = 4 ] && [ ${SLURM_RESTART_COUNT:-0} -lt 10 ] || exit 0
if [ $((${SLURM_RESTART_COUNT:-0} % 2)) = 0 ]; then scontrol requeue $SLURM_JOB_ID; else scontrol requeue ${SLURM_ARRAY_JOB_ID}_4; fi
sleep 100
`

var requeueLine = regexp.MustCompile(`(?m)^.*DUE TO JOB REQUEUE \*\*\*\n`)

// TestTaskRequeuesItself has a task of an array requeue itself ten times on rented machines and on this one. The other tasks run once.
func TestTaskRequeuesItself(t *testing.T) {
	if several() > 1 {
		t.Skip("SKIPPED: it has a local pool, which one daemon has alone")
	}
	t.Parallel()
	p := newHome(t, config{pool: "max: 3, idle: 20s", daemon: []string{"- {name: local, kind: local, local: {nodes: 2, cpus: 4, mem_mib: 2000}}"}})
	t.Cleanup(func() {
		p.stop()
		if out, err := exec.Command(filepath.Join(scratch, "fed"), "pool", "clear", "--yes", "--config", filepath.Join(p.dir, "fed.yaml")).CombinedOutput(); err != nil {
			t.Errorf("fed pool clear: %v\n%s", err, out)
		}
	})
	for _, site := range []string{"aws", "local"} {
		id := p.submit(again, "--fed-sites="+site)
		p.await(id, 4*time.Minute)
		if got, want := p.sacct(id, "jobid,state,restarts,cluster"), fmt.Sprintf("%[1]d_3|COMPLETED|0|%[2]s\n%[1]d_4|COMPLETED|10|%[2]s\n%[1]d_5|COMPLETED|0|%[2]s", id, site); got != want {
			t.Errorf("%s: sacct says\n%s\nwant\n%s", site, got, want)
		}
		for _, task := range []int{3, 5} {
			if got := p.get(fmt.Sprintf("%d_%d.log", id, task)); !strings.HasPrefix(got, fmt.Sprintf("task %d, run 0 of ", task)) || strings.Count(got, "\n") != 1 {
				t.Errorf("%s: task %d wrote %q", site, task, got)
			}
		}
		log := p.get(fmt.Sprintf("%d_4.log", id))
		lines := strings.Split(strings.TrimSpace(requeueLine.ReplaceAllString(log, "")), "\n")
		_, number, _ := strings.Cut(lines[0], " of ")
		if len(lines) != 11 {
			t.Errorf("%s: the task wrote\n%s", site, log)
			continue
		}
		for run, line := range lines {
			if want := fmt.Sprintf("task 4, run %d of %s", run, number); line != want {
				t.Errorf("%s: it wrote %q, want %q", site, line, want)
			}
		}
	}
}
