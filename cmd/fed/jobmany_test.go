package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
	"fsub/testbed/simsite"
)

// program runs this test binary as fed.
type program struct {
	t   *testing.T
	dir string
}

func (p *program) start(args ...string) (*exec.Cmd, *bytes.Buffer) {
	p.t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(filepath.Join(p.dir, "fed"), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, &out, &out
	cmd.Env = append(os.Environ(), "FSUB_SOCKET="+filepath.Join(p.dir, "s"))
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, &out
}

// end is the end of what a program has said.
func end(out *bytes.Buffer) []byte { return out.Bytes()[max(0, out.Len()-1000):] }

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within %v", what, patience)
		}
	}
}

// TestRequeueOfManyIsKilled requeues the 500 jobs of a node while the command and then the daemon are killed: each of them runs again, once.
func TestRequeueOfManyIsKilled(t *testing.T) {
	const n = 500
	dir, err := os.MkdirTemp("", "fed")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t, dir}
	key := []byte(rand.Text())
	config := fmt.Sprintf("federation: test\nsocket: %s/s\nstate_dir: state\nsites:\n", dir)
	sites := map[string]*simsite.Site{}
	for _, name := range []string{"alpha", "beta"} {
		site, err := simsite.New(simsite.Config{Name: name, Clock: simsite.RealClock{}, JWTKey: key,
			Nodes:      []simsite.NodeConfig{{Names: name[:1] + "1", CPUs: n, Mem: 640_000}},
			Partitions: []simsite.PartitionConfig{{Name: "main", Default: true}}})
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		go site.Serve(t.Context(), l)
		sites[name] = site
		config += fmt.Sprintf("  - {name: %s, url: 'unix:%s/%[1]s', key_file: key, no_associations: true, calls_per_second: 120}\n", name, dir)
	}
	for name, text := range map[string]string{"fed.yaml": config, "key": string(key)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(self, filepath.Join(dir, "fed")); err != nil {
		t.Fatal(err)
	}
	daemon, _ := p.start("serve", "--config", "fed.yaml")
	c := client.New(filepath.Join(dir, "s"))
	defer c.Close()
	eventually(t, "site", func() bool {
		s, err := c.Sites(context.Background())
		return err == nil && len(s) == 2 && s[0].Answering && s[1].Answering
	})
	set := func(state federation.FedState) {
		if _, err := c.SetSiteState(context.Background(), "beta", v1.SetSiteState{State: state}); err != nil {
			t.Fatal(err)
		}
	}
	set(federation.FedDrain)
	var mu sync.Mutex
	var ids []federation.JobID
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range n / 10 {
				id, err := c.Submit(context.Background(), v1.SubmitRequest{Spec: sbatch.Spec{Name: "train", TimeLimit: time.Hour, WorkDir: dir, MemPerNode: 1000},
					Payload: sbatch.Payload{Script: "#!/bin/sh\n#SIM run=3600s\n", Environment: []string{"PATH=/bin"}}})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	all := []string{"node=alpha/a1"}
	eventually(t, "running jobs", func() bool {
		jobs, err := client.List(context.Background(), c, &v1.Jobs, v1.JobQuery{Where: all})
		return err == nil && len(jobs) == n
	})

	set(federation.FedActive)
	settled := func(most int) func() bool {
		return func() bool {
			ops, err := client.List(context.Background(), c, &v1.Operations, v1.None{})
			return err == nil && len(ops) > 0 && ops[0].Settled >= most
		}
	}
	command := []string{"job", "requeue", "--where", all[0]}
	refused, out := p.start(command...)
	if err := refused.Wait(); err == nil || !strings.Contains(out.String(), "requeue 500 jobs (500 at alpha)") || !strings.Contains(out.String(), "these are more than 20 jobs: add --yes") {
		t.Fatalf("%v; it says:\n%s", err, end(out))
	}
	command = append(command, "--yes")
	first, _ := p.start(command...)
	eventually(t, "100 settled jobs", settled(100))
	first.Process.Kill()
	first.Wait()
	second, out := p.start(command...)
	eventually(t, "250 settled jobs", settled(250))
	if settled(n)() {
		t.Fatal("it is over before the daemon is killed")
	}
	daemon.Process.Kill()
	daemon.Wait()
	p.start("serve", "--config", "fed.yaml")
	if err := second.Wait(); err != nil {
		t.Fatalf("%v; it says:\n%s", err, end(out))
	}
	if got := strings.Count(out.String(), ": requeued\n"); got != n {
		t.Errorf("%d lines of requeued jobs, want %d:\n%s", got, n, end(out))
	}
	eventually(t, "jobs that run again", func() bool {
		jobs, err := client.List(context.Background(), c, &v1.Jobs, v1.JobQuery{Where: []string{"state=R"}})
		return err == nil && len(jobs) == n
	})
	for _, id := range ids {
		j, err := c.Job(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := len(sites["alpha"].Runs(uint32(id))), len(sites["beta"].Runs(uint32(id))); a != 1 || b != 1 || j.Job.Restarts != 1 {
			t.Errorf("job %d ran %d times at alpha and %d at beta, and has %d restarts; want 1 of each", id, a, b, j.Job.Restarts)
		}
	}
	if ops, err := client.List(context.Background(), c, &v1.Operations, v1.None{}); err != nil || len(ops) != 1 || ops[0].Failed != 0 {
		t.Errorf("operations %+v, %v; want one", ops, err)
	}
}
