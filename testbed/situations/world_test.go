package situations

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	"fsub/testbed/bed"
	"fsub/testbed/daemon"
	"fsub/testbed/ec2"
	"fsub/testbed/suite"
)

var world suite.Suite

// sites are the three of the page. It tells of them in a table of its own.
var sites = []bed.Site{
	{Name: "alpha", Index: 1, Suite: "trixie", Auth: bed.AuthSlurm, Nodes: 4, CPUs: 16, MemMiB: 64000, GPUs: 4, GPUType: "a100", LeafNodes: 2},
	{Name: "beta", Index: 2, Suite: "forky", Auth: bed.AuthSlurm, Nodes: 6, CPUs: 16, MemMiB: 64000, GPUs: 4, GPUType: "h100", LeafNodes: 4, Without: []string{"dave"}},
	{Name: "gamma", Index: 3, Suite: "bookworm", Auth: bed.AuthMunge, Nodes: 4, CPUs: 16, MemMiB: 64000, GPUs: 4, GPUType: "v100", LeafNodes: 2},
}

var (
	prices = map[string]map[string]float64{
		"alpha": {"gres/gpu:a100": 1.20, "cpu": 0.04},
		"beta":  {"gres/gpu:h100": 2.80, "cpu": 0.05},
		"gamma": {"gres/gpu:v100": 0.90, "cpu": 0.02},
	}
	speed = map[string]float64{"v100": 1, "a100": 2, "h100": 4}
)

const patience = 3 * time.Minute

func TestMain(m *testing.M) {
	bed.Sites = sites
	suite.Scontrol()
	world.Main(m, suite.Config{Name: "situations", Sites: []string{"alpha", "beta", "gamma"}, Start: start})
}

// start makes the sites what the page says of them.
func start(ctx context.Context) error {
	if err := world.Programs("fsub", "fed", "fed-agent"); err != nil {
		return err
	}
	// The program that the scripts run.
	for _, user := range []string{"alice", "carol"} {
		if err := os.WriteFile(filepath.Join(world.Bed.Home(user), "train"), []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755); err != nil {
			return err
		}
	}
	errs := make(chan error)
	go func() {
		errs <- rewrite(ctx, "alpha", "BlockName=rack1 Nodes=alpha[1-2]\nBlockName=rack2 Nodes=alpha[3-4]\nBlockSizes=2,4\n",
			"TopologyPlugin=.*", "TopologyPlugin=topology/block", "(PartitionName=main .*)MaxTime=\\S+", "${1}MaxTime=1-00:00:00")
	}()
	go func() {
		errs <- rewrite(ctx, "gamma", "", "Licenses=.*", "Licenses=matlab:10,ansys:2", "Feature=", "Feature=nvme,")
	}()
	return errors.Join(<-errs, <-errs)
}

// rewrite gives a site another topology.conf, unless it is "", replaces patterns in its slurm.conf, and starts slurmctld anew.
func rewrite(ctx context.Context, site, topology string, replace ...string) error {
	etc := filepath.Join(world.Bed.Dir(), "sites", site, "etc")
	conf := filepath.Join(etc, "slurm.conf")
	text, err := os.ReadFile(conf)
	if err != nil {
		return err
	}
	for i := 0; i < len(replace); i += 2 {
		changed := regexp.MustCompile(`(?m)`+replace[i]).ReplaceAll(text, []byte(replace[i+1]))
		if string(changed) == string(text) {
			return fmt.Errorf("slurm.conf of %s has no %s", site, replace[i])
		}
		text = changed
	}
	if err := os.WriteFile(conf, text, 0o644); err != nil {
		return err
	}
	if topology != "" {
		if err := os.WriteFile(filepath.Join(etc, "topology.conf"), []byte(topology), 0o644); err != nil {
			return err
		}
	}
	if err := world.Bed.Restart(ctx, site); err != nil {
		return err
	}
	return awaitIdle(ctx, site)
}

// awaitIdle returns when no job is left at a site and all nodes are idle.
func awaitIdle(ctx context.Context, name string) error {
	nodes := 0
	for _, s := range sites {
		if s.Name == name {
			nodes = s.Nodes
		}
	}
	return await(ctx, name+" to be idle", func() (string, bool) {
		idle, err := world.Bed.Output(ctx, name, "", "sinfo", "-h", "-p", "main", "-t", "idle", "-o", "%D %T")
		return fmt.Sprint(idle, err), err == nil && strings.TrimSpace(idle) == fmt.Sprintf("%d idle", nodes)
	})
}

// await returns when ready says so. What it last saw is in the error.
func await(ctx context.Context, what string, ready func() (seen string, ok bool)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		seen, ok := ready()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited for %s: %s", what, seen)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// federate starts a daemon that knows nothing yet of what ran before. What ended jobs did would change what the next are expected to do.
func federate(t *testing.T, number int, change func(config map[string]any)) *daemon.Daemon {
	t.Helper()
	dir := filepath.Join(world.Bed.FedDir(), fmt.Sprint(number))
	return suite.Daemon(t, daemon.Options{Bed: world.Bed, Fed: filepath.Join(world.Bin, "fed"), Dir: dir, Federation: "situations", Edit: func(config map[string]any) {
		config["job_ids"] = map[string]any{"first": 30000000 + 1000*number, "last": 30000000 + 1000*number + 999}
		for _, s := range config["sites"].([]any) {
			site := s.(map[string]any)
			name := site["name"].(string)
			delete(site, "topology_file")
			site["prices"], site["speed"] = prices[name], speed
			site["node_command"] = suite.NodeCommand(world.Bed, name)
			site["data"] = map[string]any{"egress_gb": 0.0, "gbit": 10}
		}
		if change != nil {
			change(config)
		}
	}})
}

// clear ends what runs at the sites, past any daemon.
func clear(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	errs := make(chan error)
	for _, s := range sites {
		go func() {
			_, err := world.Bed.Output(ctx, s.Name, "", "sh", "-c", "squeue -h -o %A | xargs -r scancel")
			errs <- errors.Join(err, awaitIdle(ctx, s.Name))
		}()
	}
	for range sites {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}

// local has bob submit jobs of one whole node at a site, past the federation, until so many run and others wait for a time that the site knows.
func local(t *testing.T, site string, running, waiting int, limit string) {
	t.Helper()
	for range running + waiting {
		if _, err := world.Bed.Output(t.Context(), site, "bob", "sbatch", "--exclusive", "-N1", "-t", limit, "-o", "/dev/null", "--wrap", "sleep 1000"); err != nil {
			t.Fatal(err)
		}
	}
	err := await(t.Context(), "local jobs to run", func() (string, bool) {
		rows, err := world.Bed.Output(t.Context(), site, "", "squeue", "-h", "-u", "bob", "-o", "%t %S")
		runs, waits := strings.Count(rows, "R 2"), strings.Count(rows, "PD 2") // with the start that backfill expects: without it less would be foretold
		return fmt.Sprint(rows, err), runs == running && waits == waiting
	})
	if err != nil {
		t.Fatal(err)
	}
}

// at runs a command in the login as a user; "" is root.
func at(t *testing.T, d *daemon.Daemon, user string, args ...string) string {
	t.Helper()
	var out strings.Builder
	err := world.Bed.Exec(t.Context(), bed.Cmd{Site: bed.Login, User: user, Args: args, Stdout: &out, Stderr: &out,
		Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + d.Socket()}})
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out.String())
	}
	return out.String()
}

// decided waits until a job is where it is expected: it runs at a site, or waits for a reason.
func decided(t *testing.T, c *client.Client, id federation.JobID, s *situation) federation.State {
	t.Helper()
	var last federation.State
	err := await(t.Context(), fmt.Sprintf("job %d", id), func() (string, bool) {
		r, err := c.Job(t.Context(), id)
		if err != nil {
			return err.Error(), false
		}
		last = r.Job.State
		seen := fmt.Sprintf("%s %s at %q, %d tasks", r.Job.State, r.Job.Reason, r.Job.Site, len(r.Tasks))
		switch {
		case s.reason != "":
			return seen, r.Job.State == federation.Pending && r.Job.Reason == s.reason
		case s.queued:
			return seen, r.Job.Site != ""
		}
		return seen, r.Job.State == federation.Running || r.Job.State.Ended()
	})
	if err != nil {
		t.Error(err)
	}
	return last
}

// rent adds a cloud to a federation: a stand-in for Amazon that has machines with an L4.
func rent(t *testing.T) func(config map[string]any) {
	t.Helper()
	cloud := ec2.New(ec2.Config{Types: ec2.TypesNamed("g6.xlarge")})
	server := httptest.NewServer(cloud)
	t.Cleanup(func() {
		server.Close()
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(config map[string]any) {
		keys := filepath.Join(filepath.Dir(config["socket"].(string)), "credentials")
		if err := os.WriteFile(keys, fmt.Appendf(nil, "[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", cloud.AccessKey(), cloud.SecretKey()), 0o600); err != nil {
			t.Fatal(err)
		}
		config["agents"] = map[string]any{"listen": "127.0.0.1:0", "address": "127.0.0.1:1"}
		config["price_lists"] = map[string]any{"max_age": "876000h"} // what the page says does not change with the day
		config["sites"] = append(config["sites"].([]any), map[string]any{
			"name": "cloud", "kind": "aws", "speed": map[string]float64{"l4": 1},
			"aws":   map[string]any{"region": cloud.Region(), "types": []string{"g6.xlarge"}, "endpoint": server.URL, "credentials_file": keys},
			"pools": []any{map[string]any{"name": "main", "max": 4}},
		})
	}
}
