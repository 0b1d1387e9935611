package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
	"fsub/testbed/daemon"
)

// short is a job of one second.
const short = "#!/bin/bash\nexec sleep 1\n"

// tasks measures how fast one site runs jobs of one second: an array that sbatch submits there, the same array through the daemon, and
// as many single jobs. Their peer is the slower of sbatch's array and of the site's slots never being empty.
func (r *bench) tasks(ctx context.Context) error {
	const slots = 64 // of alpha
	d, err := r.startDaemon(ctx, "tasks", "alpha")
	if err != nil {
		return err
	}
	defer d.Stop()
	ctld, err := r.pids("alpha", "slurmctld")
	if err != nil {
		return err
	}
	rest, err := r.pids("alpha", "slurmrestd")
	if err != nil {
		return err
	}
	measure := func(run func() error) (took, cpu time.Duration, err error) {
		time.Sleep(2 * time.Second) // what was before has left its nodes
		if _, err := r.b.Output(ctx, "alpha", "", "sdiag", "--reset"); err != nil {
			return 0, 0, err
		}
		begun, ctldBefore, restBefore, oursBefore := time.Now(), cpuTime(ctld...), cpuTime(rest...), cpuTime(d.PID())
		err = run()
		took, cpu = time.Since(begun), cpuTime(ctld...)-ctldBefore
		r.note("  %.1f s; processor: slurmctld %.2f s, slurmrestd %.2f s, the daemon %.2f s", took.Seconds(), cpu.Seconds(),
			(cpuTime(rest...) - restBefore).Seconds(), (cpuTime(d.PID()) - oursBefore).Seconds())
		if statistics, diagErr := r.b.Output(ctx, "alpha", "", "sdiag", "--sort-by-time"); diagErr == nil {
			r.note("  its calls: %s", strings.Join(callsOf(statistics), "; "))
		}
		return took, cpu, err
	}
	alone := r.taskCount <= 1000 // more single jobs tell nothing new, and take long
	if alone {
		r.note("%d single jobs of one second by sbatch, one after another:", r.taskCount)
		if _, _, err := measure(func() error { return r.sbatchJobs(ctx) }); err != nil {
			return err
		}
	}
	r.note("%d tasks of one second by sbatch:", r.taskCount)
	theirs, theirCPU, err := measure(func() error { return r.sbatchArrays(ctx) })
	if err != nil {
		return err
	}
	ideal := time.Duration((r.taskCount+slots-1)/slots) * time.Second
	for _, way := range []struct {
		what string
		run  func() error
	}{
		{"tasks of one array", func() error { return r.runShort(ctx, d, 1, r.taskCount) }},
		{"single jobs", func() error { return r.runShort(ctx, d, r.taskCount, 0) }},
	} {
		if way.what == "single jobs" && !alone {
			continue
		}
		r.note("%d %s of one second through the daemon:", r.taskCount, way.what)
		took, cpu, err := measure(way.run)
		if err != nil {
			return err
		}
		ratio, cpuRatio := float64(took)/float64(max(ideal, theirs)), float64(cpu)/float64(theirCPU)
		r.add(row{what: fmt.Sprintf("%d %s of 1 s / sbatch's array", r.taskCount, way.what), ours: fmt.Sprintf("%.1f s", took.Seconds()),
			theirs: fmt.Sprintf("%.1f s", max(ideal, theirs).Seconds()), ratio: fmt.Sprintf("%.2f", ratio), goal: "<= 1.15", met: ratio <= 1.15})
		r.add(row{what: "slurmctld's processor time for them", ours: fmt.Sprintf("%.2f s", cpu.Seconds()), theirs: fmt.Sprintf("%.2f s", theirCPU.Seconds()),
			ratio: fmt.Sprintf("%.2f", cpuRatio), goal: "<= 1.5", met: cpuRatio <= 1.5})
	}
	return r.largeArray(d)
}

// sbatchArrays runs the tasks as arrays of at most a thousand, which is what the site takes, and waits for all.
func (r *bench) sbatchArrays(ctx context.Context) error {
	script := filepath.Join(r.b.Home(r.user.Name), "short.sh")
	if err := os.WriteFile(script, []byte(short), 0o755); err != nil {
		return err
	}
	var ids []string
	for left := r.taskCount; left > 0; left -= 1000 {
		out, err := r.b.Output(ctx, "alpha", r.user.Name, "sbatch", "--parsable", "--array=0-"+strconv.Itoa(min(left, 1000)-1),
			"--ntasks=1", "--time=10", "--output=/dev/null", script)
		if err != nil {
			return err
		}
		ids = append(ids, strings.TrimSpace(out))
	}
	for ; ; time.Sleep(250 * time.Millisecond) {
		out, err := r.b.Output(ctx, "alpha", r.user.Name, "squeue", "--noheader", "--jobs="+strings.Join(ids, ","))
		if err != nil {
			return err
		}
		if strings.TrimSpace(out) == "" {
			return nil
		}
	}
}

// sbatchJobs runs as many single jobs by sbatch, one after another, and waits for all.
func (r *bench) sbatchJobs(ctx context.Context) error {
	script := filepath.Join(r.b.Home(r.user.Name), "single.sh")
	if err := os.WriteFile(script, []byte(short), 0o755); err != nil {
		return err
	}
	loop := fmt.Sprintf("for i in $(seq %d); do sbatch --parsable --ntasks=1 --time=10 --output=/dev/null %s >/dev/null || exit 1; done; "+
		"while [ -n \"$(squeue --noheader --me)\" ]; do sleep 0.25; done", r.taskCount, script)
	_, err := r.b.Output(ctx, "alpha", r.user.Name, "bash", "-c", loop)
	return err
}

// callsOf are the calls that sdiag counts by their type: how many, and how long they took in all.
func callsOf(sdiag string) (calls []string) {
	_, byType, _ := strings.Cut(sdiag, "Remote Procedure Call statistics by message type")
	byType, _, _ = strings.Cut(byType, "Remote Procedure Call statistics by user")
	for line := range strings.Lines(byType) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), "(")
		var kind, count, mean, total int
		rest = strings.NewReplacer("count:", " ", "ave_time:", " ", "total_time:", " ", ")", " ").Replace(rest)
		if n, _ := fmt.Sscan(rest, &kind, &count, &mean, &total); n == 4 && total > 10_000 {
			calls = append(calls, fmt.Sprintf("%s %d, %.2f s", strings.TrimSpace(name), count, float64(total)/1e6))
		}
	}
	return calls
}

// runShort submits n jobs of one second, arrays if size is not 0, and waits for all of them.
func (r *bench) runShort(ctx context.Context, d *daemon.Daemon, n, size int) error {
	conn, err := daemon.DialAs(d.Socket(), r.user.UID, r.user.UID)
	if err != nil {
		return err
	}
	defer conn.Close()
	client, request := newKeptAlive(conn), post("/fed/v1/job", "", r.shortBody(size, false))
	ids := make([]uint32, n)
	for i := range ids {
		if ids[i], err = client.submit(request); err != nil {
			return err
		}
	}
	c := d.Client()
	defer c.Close()
	for i := n - 1; i >= 0; i-- {
		rec, err := c.Wait(ctx, federation.JobID(ids[i]))
		if err != nil {
			return err
		}
		if rec.Job.State != federation.Completed {
			return fmt.Errorf("job %d: %s %s", rec.Job.ID, rec.Job.State, rec.Job.Reason)
		}
	}
	return nil
}

func (r *bench) shortBody(size int, hold bool) []byte {
	spec := sbatch.Spec{Name: "short", NTasks: 1, TimeLimit: 10 * time.Minute, Output: "/dev/null", WorkDir: r.b.Home(r.user.Name), Hold: hold}
	if size > 0 {
		spec.Array = "0-" + strconv.Itoa(size-1)
	}
	return mustJSON(v1.SubmitRequest{Spec: spec, Payload: sbatch.Payload{Script: short, Environment: environment(r.b.Home(r.user.Name))}})
}

// largeArray measures how long a large array takes to be accepted, and what it holds of the daemon's memory while it waits.
func (r *bench) largeArray(d *daemon.Daemon) error {
	conn, err := daemon.DialAs(d.Socket(), r.user.UID, r.user.UID)
	if err != nil {
		return err
	}
	defer conn.Close()
	client, request := newKeptAlive(conn), post("/fed/v1/job", "", r.shortBody(r.largeTasks, true))
	var times []time.Duration
	before := resident(d.PID())
	for range 5 {
		begun := time.Now()
		if _, err := client.submit(request); err != nil {
			return err
		}
		times = append(times, time.Since(begun))
	}
	time.Sleep(2 * time.Second)
	s := newSample(times)
	r.add(row{what: fmt.Sprintf("an array of %d tasks is accepted, median of 5", r.largeTasks), ours: ms(s.median()), theirs: "-", ratio: "-", goal: "<= 20 ms", met: s.median() <= 20*time.Millisecond})
	each := float64(resident(d.PID())-before) / float64(len(times)*r.largeTasks)
	r.add(row{what: "memory of the daemon for each of its tasks", ours: fmt.Sprintf("%.0f bytes", each), theirs: "-", ratio: "-", goal: "<= 200", met: each <= 200})
	return nil
}
