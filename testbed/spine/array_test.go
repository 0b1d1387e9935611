package spine

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
)

// An array that no site can start whole runs at all three under one array ID: each task once, never more at once than its limit, with
// the environment and the file names of one array, and to squeue, sacct and scancel it is one.
func TestSpreadArray(t *testing.T) {
	world.Need(t)
	tasks, limit := 300, 50 // two of the sites have room for 40
	if os.Getenv("FSUB_FULL") != "" {
		tasks, limit = 10_000, 100
	}
	dir := filepath.Join(world.Bed.Home("alice"), "spread")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	many := newGate(t) // tasks stay until many run at once, however slowly they start
	id := fsub(t, "alice", fmt.Sprintf("--array=0-%d%%%d", tasks-1, limit), "-c4", "-t10", "-o", dir+"/%A_%4a.txt", "--wrap",
		`echo "+ $SLURM_ARRAY_TASK_ID $SLURM_CLUSTER_NAME" >> `+dir+`/log
echo $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_TASK_MIN $SLURM_ARRAY_TASK_MAX $SLURM_ARRAY_TASK_STEP
`+many.wait()+`
sleep 1
echo "- $SLURM_ARRAY_TASK_ID" >> `+dir+`/log`)
	c := world.Daemon.Client()
	defer c.Close()
	deadline := time.Now().Add(patience + time.Duration(tasks)*600*time.Millisecond)
	shown := false
	for {
		r, err := c.Job(t.Context(), id)
		if err == nil && r.Job.State.Ended() {
			if r.Job.State != federation.Completed {
				t.Errorf("the array ended as %s", r.Job.State)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not ended: %v, left %q", err, r.Job.Spec.Array)
		}
		if !shown && err == nil && r.Job.State == federation.Running && r.Job.Spec.Array != "" {
			shown = true
			checkSpreadQueue(t, id, limit)
		}
		if log, _ := os.ReadFile(dir + "/log"); shown && strings.Count(string(log), "+") >= limit/2 {
			many.open()
		}
		time.Sleep(200 * time.Millisecond)
	}
	checkSpreadLog(t, filepath.Join(dir, "log"), tasks, limit)
	for _, i := range []int{0, 7, tasks - 1} {
		want := fmt.Sprintf("%d %d %d 0 %d 1\n", id, i, tasks, tasks-1)
		if got := read(t, fmt.Sprintf("%s/%d_%04d.txt", dir, id, i)); got != want {
			t.Errorf("task %d wrote %q, want %q", i, got, want)
		}
	}
	if files, _ := filepath.Glob(dir + "/*.txt"); len(files) != tasks {
		t.Errorf("%d output files, want %d", len(files), tasks)
	}
	rows := strings.Split(strings.TrimSpace(login(t, "alice", "sacct", "-n", "-P", "-X", "-j", id.String(), "-o", "jobid,state").stdout), "\n")
	seen := map[string]bool{}
	for _, row := range rows {
		seen[row] = true
	}
	for i := range tasks {
		if !seen[fmt.Sprintf("%d_%d|COMPLETED", id, i)] {
			t.Errorf("sacct does not show task %d as completed", i)
		}
	}
	if len(rows) != tasks {
		t.Errorf("sacct shows %d rows, want %d", len(rows), tasks)
	}
}

// checkSpreadQueue looks at an array that runs and waits: one row for what waits, and all rows under the array's ID.
func checkSpreadQueue(t *testing.T, id federation.JobID, limit int) {
	t.Helper()
	waiting := 0
	for row := range strings.Lines(login(t, "bob", "squeue", "-h", "-j", id.String(), "-o", "%i %t %F %r").stdout) {
		f := strings.Fields(row)
		if len(f) != 4 || f[2] != id.String() || !strings.HasPrefix(f[0], id.String()+"_") {
			t.Errorf("squeue shows %q", row)
			continue
		}
		if strings.Contains(f[0], "[") {
			waiting++
			if !strings.HasSuffix(f[0], fmt.Sprintf("%%%d]", limit)) || f[1] != "PD" {
				t.Errorf("squeue shows of what waits %q", row)
			}
		}
	}
	if waiting > 1 {
		t.Errorf("squeue shows %d rows for the tasks that wait, want one", waiting)
	}
}

// checkSpreadLog reads the tasks' own log, of which each line was written whole: each began and ended once, at all sites, and never were
// more at work than the limit.
func checkSpreadLog(t *testing.T, path string, tasks, limit int) {
	t.Helper()
	began, ended, sites, now, most := map[int]int{}, map[int]int{}, map[string]int{}, 0, 0
	for line := range strings.Lines(read(t, path)) {
		f := strings.Fields(line)
		i, err := strconv.Atoi(f[1])
		if err != nil {
			t.Fatalf("log line %q", line)
		}
		if f[0] == "+" {
			began[i]++
			sites[f[2]]++
			now++
			most = max(most, now)
		} else {
			ended[i]++
			now--
		}
	}
	for i := range tasks {
		if began[i] != 1 || ended[i] != 1 {
			t.Errorf("task %d began %d times and ended %d times", i, began[i], ended[i])
		}
	}
	if most > limit || most < limit/2 {
		t.Errorf("%d tasks at once, the limit is %d", most, limit)
	}
	if len(sites) != 3 {
		t.Errorf("ran at %v, want all three sites", sites)
	}
	t.Logf("%d tasks, at most %d at once, at %v", len(began), most, sites)
}
