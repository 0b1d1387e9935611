package wiring

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

var world suite.Suite

// scontrolAt has this program run scontrol in a site of a bed, as root: DIRECTORY:SITE.
const scontrolAt = "FSUB_WIRING_SCONTROL"

const nodes = 8

func TestMain(m *testing.M) {
	if at := os.Getenv(scontrolAt); at != "" {
		dir, site, _ := strings.Cut(at, ":")
		b, err := bed.New(bed.Options{Dir: dir})
		if err == nil {
			err = b.Exec(context.Background(), bed.Cmd{Site: site, Args: append([]string{"scontrol"}, os.Args[1:]...), Stdout: os.Stdout, Stderr: os.Stderr})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	world.Main(m, suite.Config{Name: "wiring", Sites: []string{"alpha", "gamma", "delta"}, Bed: bed.Options{Nodes: nodes}, Start: start})
}

// start gives gamma leaves of four nodes. Those of alpha and delta have two. Nobody copies that to the daemon: it asks.
func start(ctx context.Context) error {
	if err := world.Programs("fsub", "fed"); err != nil {
		return err
	}
	if err := wire(ctx, "gamma", "tree", "SwitchName=l1 Nodes=gamma[1-4]\nSwitchName=l2 Nodes=gamma[5-8]\nSwitchName=top Switches=l[1-2]\n"); err != nil {
		return err
	}
	err := world.StartDaemon(ctx, func(config map[string]any) {
		for _, s := range config["sites"].([]any) {
			site := s.(map[string]any)
			name := site["name"].(string)
			delete(site, "topology_file")
			delete(site, "speed")
			site["prices"] = map[string]any{"gres/gpu": map[string]float64{"alpha": 2.00, "gamma": 2.10, "delta": 3}[name]}
			site["node_command"] = []string{"/usr/bin/env", scontrolAt + "=" + world.Bed.Dir() + ":" + name, os.Args[0]}
		}
	})
	if err != nil {
		return err
	}
	return world.Daemon.AwaitSites(ctx)
}

// wire gives a site a topology, and returns when its nodes are idle again.
func wire(ctx context.Context, site, plugin, conf string) error {
	etc := filepath.Join(world.Bed.Dir(), "sites", site, "etc")
	text, err := os.ReadFile(filepath.Join(etc, "slurm.conf"))
	if err != nil {
		return err
	}
	text = regexp.MustCompile(`(?m)^TopologyPlugin=.*$`).ReplaceAll(text, []byte("TopologyPlugin=topology/"+plugin))
	if err := os.WriteFile(filepath.Join(etc, "slurm.conf"), text, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(etc, "topology.conf"), []byte(conf), 0o644); err != nil {
		return err
	}
	if err := world.Bed.Restart(ctx, site); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for {
		idle, err := world.Bed.Output(ctx, site, "", "sinfo", "-h", "-p", "main", "-t", "idle", "-o", "%D %T")
		if err == nil && strings.TrimSpace(idle) == fmt.Sprintf("%d idle", nodes) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s with topology/%s has not all nodes idle: %q, %v", site, plugin, idle, err)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// A gang goes where it fits under one switch: always if it says so, and otherwise where that is worth the price.
func TestDistanceChoosesTheSite(t *testing.T) {
	world.Need(t)
	for _, c := range []struct {
		name, site, says string
		args             []string
	}{
		{"two nodes go where they are cheapest", "alpha", "", []string{"-N2"}},
		{"four nodes under one switch are only at gamma", "gamma", "2 switches, 4 hops apart: 1.10 x as long", []string{"-N4"}},
		{"they must be under one", "gamma", "4 nodes under one switch, largest leaf has 2", []string{"-N4", "--switches=1@1:00:00", "--fed-traffic=none"}},
		{"their distance does not matter", "alpha", "", []string{"-N4", "--fed-traffic=none"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			awaitIdle(t)
			id := fsub(t, append([]string{"fsub", "--gpus-per-node=1", "-t10", "-o", "/dev/null", "--wrap", "true"}, c.args...)...)
			client := world.Daemon.Client()
			defer client.Close()
			for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
				r, err := client.Job(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if r.Job.State == federation.Completed {
					break
				}
				if r.Job.State.Ended() || time.Now().After(deadline) {
					t.Fatalf("job %d is %s %s", id, r.Job.State, r.Job.Reason)
				}
			}
			var explained strings.Builder
			err := world.Bed.Exec(t.Context(), login(&explained, "fed", "explain", id.String()))
			t.Logf("%s\n%s", strings.Join(c.args, " "), explained.String())
			if err != nil || !strings.Contains(explained.String(), "-> "+c.site) || !strings.Contains(explained.String(), c.says) {
				t.Errorf("want %s, and %q: %v", c.site, c.says, err)
			}
		})
	}
}

// awaitIdle waits until the daemon has seen all nodes idle: a look that came just after the sites had started may not.
func awaitIdle(t *testing.T) {
	t.Helper()
	var names strings.Builder
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(300 * time.Millisecond) {
		names.Reset()
		err := world.Bed.Exec(t.Context(), login(&names, "sinfo", "-h", "-N", "-p", "main", "-t", "idle", "-o", "%N"))
		if err == nil && strings.Count(names.String(), "\n") == 3*nodes {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("idle are only %q: %v", names.String(), err)
		}
	}
}

func login(out *strings.Builder, args ...string) bed.Cmd {
	return bed.Cmd{Site: bed.Login, User: "alice", Args: args, Stdout: out, Stderr: out,
		Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket()}}
}

func fsub(t *testing.T, args ...string) federation.JobID {
	t.Helper()
	var out strings.Builder
	err := world.Bed.Exec(t.Context(), login(&out, args...))
	id, bad := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(out.String(), "Submitted batch job ")), 10, 32)
	if err != nil || bad != nil {
		t.Fatalf("%v: %v: %s", args, err, out.String())
	}
	return federation.JobID(id)
}
