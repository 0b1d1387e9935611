package drivertest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/slurm"
	"fsub/testbed/bed"
	"fsub/testbed/drivertest"
	"fsub/testbed/proxy"
)

// TestRunsOnceWhenRepliesAreLost hands jobs over through a proxy that loses requests and replies, by the rule that the interface
// gives: after ErrUnavailable look the job up, and submit it again only if it is not found. Every job runs once.
func TestRunsOnceWhenRepliesAreLost(t *testing.T) {
	b, names := realBed(t)
	for i, site := range names {
		t.Run(site, func(t *testing.T) {
			t.Parallel()
			runOnce(t, b, site, uint64(i+1))
		})
	}
}

func runOnce(t *testing.T, b *bed.Bed, site string, seed uint64) {
	const jobs = 200
	h := realHarness(t, b, site)
	info, err := b.Site(site)
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.New(info.RestURL, seed)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	d, err := slurm.Open(slurm.Config{Name: federation.SiteName(site), Federation: h.Federation, URL: p.URL(), KeyFile: info.KeyFile, RPS: 1000, Burst: 1000,
		Settle: 7 * time.Second}) // the proxy keeps nothing back: what it does not lose arrives at once
	if err != nil {
		t.Fatal(err)
	}
	p.Rate(map[proxy.Fault]float64{proxy.LoseReply: 0.25, proxy.LoseRequest: 0.1, proxy.BadGateway: 0.1}, false)
	begun := time.Now()
	ids := make([]federation.JobID, jobs)
	var g errgroup.Group
	g.SetLimit(24) // at a mapped site a request that was lost takes seconds to be sure of
	for i := range ids {
		ids[i] = h.NextID()
		g.Go(func() error { return handOver(d, h, ids[i]) })
	}
	if err := g.Wait(); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	replies, _ := p.Count(proxy.LoseReply)
	requests, _ := p.Count(proxy.LoseRequest)
	bad, _ := p.Count(proxy.BadGateway)
	t.Logf("%d jobs, %d replies lost, %d requests lost, %d answers 502", jobs, replies, requests, bad)
	if replies == 0 {
		t.Error("no reply was lost: the test has shown nothing")
	}
	deadline := time.Now().Add(10 * time.Minute)
	for _, id := range ids {
		for {
			// By its key: on a slow machine the controller has forgotten it by now.
			key := federation.AttemptKey(h.Federation, &federation.Job{ID: id}, 1)
			j, err := h.Driver.Lookup(context.Background(), federation.JobRef{ID: id, Key: key, Submitted: begun})
			if err == nil && j.State.Ended() {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("seed %d: job %d has not ended: %+v, %v", seed, id, j, err)
			}
			time.Sleep(200 * time.Millisecond)
		}
		name := fmt.Sprintf("%s/once-%d", h.Dir, id)
		text, err := os.ReadFile(name)
		if n := strings.Count(string(text), "ran"); err != nil || n != 1 {
			t.Errorf("seed %d: job %d ran %d times (%v)", seed, id, n, err)
		}
		_ = os.Remove(name)
	}
}

// handOver gets one job acknowledged.
func handOver(d *slurm.Driver, h drivertest.Harness, id federation.JobID) error {
	j := &federation.Job{ID: id, Spec: &sbatch.Spec{Name: "once", Account: h.Account, WorkDir: h.Dir, Output: fmt.Sprintf("once-%d", id), OpenMode: "append"}}
	sub := federation.Submission{Job: j, Partition: h.Partition, User: h.User, Key: federation.AttemptKey(h.Federation, j, 1),
		Payload: sbatch.Payload{Script: "#!/bin/sh\necho ran\n", Environment: []string{"PATH=/usr/bin:/bin"}}}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	for {
		_, err := d.Submit(ctx, sub)
		if err == nil || !errors.Is(err, federation.ErrUnavailable) {
			return err
		}
		for {
			found, err := d.Lookup(ctx, federation.JobRef{ID: id, Key: sub.Key, Submitted: begun})
			if err == nil {
				if found.Key != "" && found.Key != sub.Key {
					return fmt.Errorf("job %d: key %q", id, found.Key)
				}
				return nil
			}
			if errors.Is(err, federation.ErrNotFound) {
				break
			}
			if ctx.Err() != nil {
				return err
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}
