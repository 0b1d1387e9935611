package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// The batch of this part: layers of jobs, of which each depends on four of the layer before.
const (
	batchSites = 3
	batchLayer = 1000
	batchEdges = 4
	batchGoal  = 30 * time.Second
)

// batch measures how long a batch takes, from its request to the answer that all of it is durable, and until squeue shows it; with the memory that the daemon needs for it.
// The sites are simulated: it needs no Slurm.
func (r *bench) batch(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "fsub-bench-batch")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	sites := &bench{options: r.options, out: r.out}
	sites.restSites = batchSites
	if err := sites.serveRestSites(ctx, dir); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "fed.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	fed := exec.Command(r.fed, "serve", "--config", filepath.Join(dir, "fed.yaml"))
	fed.Stdout, fed.Stderr = log, log
	if err := fed.Start(); err != nil {
		return err
	}
	defer func() {
		fed.Process.Signal(syscall.SIGTERM)
		fed.Wait()
	}()
	c := client.New(filepath.Join(dir, "s"))
	defer c.Close()
	for { // until it sees its sites
		sites, err := c.Sites(ctx)
		if err == nil && len(sites) == batchSites && sites[0].Answering && sites[batchSites-1].Answering {
			break
		}
		if ctx.Err() != nil || fed.ProcessState != nil {
			return fmt.Errorf("the daemon does not see its sites: %w; its log ends: %s", ctx.Err(), tail(log.Name()))
		}
		time.Sleep(50 * time.Millisecond)
	}
	body, edges := batchBody(r.batchJobs)
	_, before := memory(fed.Process.Pid)
	used, begun := cpuTime(fed.Process.Pid), time.Now()
	beside := make(chan submitted)
	over := make(chan struct{})
	go func() { beside <- submitBeside(ctx, filepath.Join(dir, "s"), over) }()
	jobs, err := client.SubmitAll(ctx, c, "bench", body)
	close(over)
	other := <-beside
	if err = errors.Join(err, other.err); err != nil {
		return fmt.Errorf("%w; the daemon's log ends: %s", err, tail(log.Name()))
	}
	took, cpu := time.Since(begun), cpuTime(fed.Process.Pid)-used
	_, after := memory(fed.Process.Pid)
	counts, err := client.List(ctx, c, &v1.Summary, v1.SummaryQuery{})
	shown := time.Since(begun)
	if err != nil || len(counts) != 1 || counts[0].Jobs != int64(len(jobs)+other.jobs) || len(jobs) != r.batchJobs {
		return fmt.Errorf("of %d jobs %d were answered, and %+v are there: %w", r.batchJobs, len(jobs), counts, err)
	}
	r.note("batch: %d MiB in one request, %s of processor time, peak memory %.0f MiB (%.0f MiB before); counted after %s", len(body)>>20, ms(cpu), mib(after), mib(before), ms(shown))
	r.note("batch: of %d jobs that were submitted beside it, one at a time, the slowest took %s", other.jobs, ms(other.longest))
	begun = time.Now()
	if again, err := client.SubmitAll(ctx, c, "bench", body); err != nil || len(again) != len(jobs) || again[0].JobID != jobs[0].JobID {
		return fmt.Errorf("the same batch again: %d jobs, %w", len(again), err)
	}
	r.note("batch: the same again, under its key, is answered after %s", ms(time.Since(begun)))
	r.add(row{what: fmt.Sprintf("batch: %d jobs with %d edges, all or none, durable after", len(jobs), edges), ours: ms(took), goal: "<= 30 s", met: took <= batchGoal})
	return nil
}

// submitted are jobs that were submitted beside a batch.
type submitted struct {
	jobs    int
	longest time.Duration
	err     error
}

// submitBeside submits one job after the other until over is closed.
func submitBeside(ctx context.Context, socket string, over <-chan struct{}) (s submitted) {
	c := client.New(socket)
	defer c.Close()
	for {
		select {
		case <-over:
			return s
		case <-time.After(50 * time.Millisecond):
		}
		begun := time.Now()
		_, err := client.Post[v1.SubmitResponse](ctx, c, "/fed/v1/job", v1.SubmitRequest{Spec: sbatch.Spec{Name: "beside", WorkDir: "/", Hold: true, TimeLimit: time.Minute}, Payload: sbatch.Payload{Script: "#!/bin/sh\n"}})
		if err != nil {
			return submitted{err: err}
		}
		s.jobs, s.longest = s.jobs+1, max(s.longest, time.Since(begun))
	}
}

// batchBody is a batch of n jobs, held so that none of them starts.
func batchBody(n int) (body []byte, edges int) {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	payload := sbatch.Payload{Script: "#!/bin/bash\n" + strings.Repeat("srun python train.py --epochs 3\n", 32)}
	for i := range 30 {
		payload.Environment = append(payload.Environment, fmt.Sprintf("VARIABLE_%d=%s", i, strings.Repeat("x", 40)))
	}
	for i := range n {
		e := v1.BatchEntry{Name: fmt.Sprint("t", i), PayloadOf: "t0", Spec: sbatch.Spec{
			Name: "step", WorkDir: "/home/user/project/run", Output: "logs/%x-%j.out", CPUsPerTask: 1 + i%4, MemPerNode: 1000, TimeLimit: time.Hour, Hold: i < batchLayer,
		}}
		if i == 0 {
			e.PayloadOf, e.Payload = "", payload
		}
		var on []string
		for k := range batchEdges {
			if of := i - batchLayer + k; i >= batchLayer && of < i {
				on = append(on, fmt.Sprint("@t", of))
			}
		}
		if edges += len(on); len(on) > 0 {
			e.Spec.Dependency = "afterok:" + strings.Join(on, ":")
		}
		if lines.Encode(e) != nil {
			panic("a batch that is no JSON")
		}
	}
	return b.Bytes(), edges
}
