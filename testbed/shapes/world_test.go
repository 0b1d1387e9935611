package shapes

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/testbed/azure"
	"fsub/testbed/bed"
	"fsub/testbed/ec2"
	"fsub/testbed/gce"
	"fsub/testbed/suite"
)

// real is the Slurm site that all others are compared with.
const real = "alpha"

// The tests share one bed and one daemon. FSUB_SHAPES_BED names a bed that is up and may be used instead. FSUB_SHAPES_AT names the other places, with commas.
var world struct {
	suite.Suite
	places []place
}

func TestMain(m *testing.M) {
	world.Main(m, suite.Config{Name: "shapes", Sites: []string{real}, Lends: true, Start: start})
}

func start(ctx context.Context) error {
	if err := world.Programs("fsub", "fed", "fed-agent"); err != nil {
		return err
	}
	world.places = []place{{real, 0}, {real, 1}}
	sites := []any{}
	for name := range strings.SplitSeq(cmp.Or(os.Getenv("FSUB_SHAPES_AT"), "local,aws"), ",") {
		open := map[string]func(string) (map[string]any, error){"local": localSite, "aws": awsSite, "azure": azureSite, "gcp": gcpSite, "tpu": tpuSite}[name]
		if open == nil {
			return fmt.Errorf("FSUB_SHAPES_AT: invalid place %q: want local, aws, azure, gcp or tpu", name)
		}
		site, err := open(world.Dir)
		if err != nil {
			return err
		}
		sites = append(sites, site)
		world.places = append(world.places, place{name, 0})
	}
	world.Defer(endMachines)
	if err := world.StartDaemon(ctx, func(c map[string]any) { edit(c, sites) }); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	return world.Daemon.AwaitSites(wait)
}

// endMachines ends all machines, once there is no daemon.
func endMachines() error {
	if world.Daemon == nil {
		return nil
	}
	var out bytes.Buffer
	config := filepath.Join(filepath.Dir(world.Daemon.LogFile()), "fed.yaml")
	err := world.Bed.Exec(context.Background(), bed.Cmd{Site: bed.Login, Args: []string{filepath.Join(world.Bin, "fed"), "pool", "clear", "--yes", "--config", config}, Stdout: &out, Stderr: &out})
	if err != nil {
		return fmt.Errorf("fed pool clear: %w: %s", err, out.String())
	}
	return nil
}

// edit makes the real site the only one of Slurm, gives its jobs our commands, and adds the others.
func edit(config map[string]any, sites []any) {
	slurm := config["sites"].([]any)
	for _, s := range slurm {
		if site := s.(map[string]any); site["name"] == real {
			site["commands"], site["daemon"] = world.Bin, config["socket"]
			sites = append([]any{site}, sites...)
		}
	}
	config["sites"] = sites
	config["agents"] = map[string]any{"listen": "127.0.0.1:0", "lease": "5m"}
	if world.Lent { // numbers that no job at the site of a lent bed has
		config["job_ids"] = map[string]any{"first": 30_000_000 + time.Now().Unix()%100_000*300}
	}
}

// pool is like the real site's main partition.
var pool = map[string]any{"name": "main", "default": true, "shared": true, "min": 0, "max": 4, "idle": "10m", "default_time": "1h", "max_time": "168h", "def_mem_per_cpu": 1000}

func localSite(string) (map[string]any, error) {
	return map[string]any{"name": "local", "kind": "local", "pools": []any{pool},
		"local": map[string]any{"nodes": 4, "cpus": 16, "mem_mib": 64000, "gpus": 4, "gpu_type": "h100"}}, nil
}

// awsSite is the site at what stands in for Amazon, whose instances are processes of this machine.
func awsSite(dir string) (site map[string]any, err error) {
	cloud := ec2.New(ec2.Config{Process: true, Dir: filepath.Join(dir, "ec2")})
	world.Defer(cloud.Close)
	url, err := cloud.Start("")
	if err != nil {
		return nil, err
	}
	credentials := filepath.Join(dir, "credentials")
	text := fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", cloud.AccessKey(), cloud.SecretKey())
	if err := os.WriteFile(credentials, []byte(text), 0o600); err != nil {
		return nil, err
	}
	aws := map[string]any{"region": cloud.Region(), "endpoint": url, "pricing_endpoint": url, "credentials_file": credentials, "types": []any{"g6.12xlarge"},
		"markets": []any{"on-demand"}, "boot": "5s"}
	return map[string]any{"name": "aws", "kind": "aws", "pools": []any{pool}, "aws": aws}, nil
}

// azureSite is the site at what stands in for Azure.
func azureSite(dir string) (site map[string]any, err error) {
	const size = "Standard_NC64as_T4_v3"
	cloud := azure.New(azure.Config{Process: true, Dir: filepath.Join(dir, "azure"), Sizes: []azure.Size{{Name: size, Family: "Standard NCASv3_T4 Family", CPUs: 64, GPUs: 4, MemGiB: 440}}})
	world.Defer(cloud.Close)
	url, err := cloud.Start("")
	if err != nil {
		return nil, err
	}
	credentials := filepath.Join(dir, "azure.credentials")
	if err := os.WriteFile(credentials, fmt.Appendf(nil, `{"appId": "fsub", "password": %q, "tenant": "test"}`, cloud.Token()), 0o600); err != nil {
		return nil, err
	}
	section := map[string]any{"subscription": azure.Subscription, "resource_group": "fsub", "location": "eastus", "subnet": azure.Subnet, "endpoint": url,
		"credentials_file": credentials, "sizes": []any{size}, "markets": []any{"on-demand"}, "boot": "5s"}
	return map[string]any{"name": "azure", "kind": "azure", "pools": []any{pool}, "azure": section}, nil
}

// quad is a type of machine with four GPUs. Its name ends with a letter: where a node's number begins is seen.
var quad = gce.Type{Name: "g2-quad", CPUs: 48, MemMiB: 196608, Accelerator: "nvidia-l4", GPUs: 4}

// gcpSite is the site at what stands in for Google's Compute Engine.
func gcpSite(dir string) (map[string]any, error) {
	return googleSite(dir, "gcp", map[string]any{"region": "us-central1", "types": []any{quad.Name}, "prices": map[string]any{quad.Name: 4}})
}

// tpuSite is the site at what stands in for Cloud TPU. Its slices have one host each, so that a job of several nodes gets several slices.
func tpuSite(dir string) (map[string]any, error) {
	return googleSite(dir, "tpu", map[string]any{"zones": []any{"us-central1-a"}, "slices": []any{"v5litepod-4"}, "prices": map[string]any{"v5e": 1.2}})
}

func googleSite(dir, kind string, section map[string]any) (map[string]any, error) {
	cloud := gce.New(gce.Config{Process: true, Dir: filepath.Join(dir, kind), Types: []gce.Type{quad}})
	world.Defer(cloud.Close)
	url, err := cloud.Start("")
	if err != nil {
		return nil, err
	}
	section["project"], section["endpoint"], section["markets"], section["boot"] = cloud.Project(), url, []any{"on-demand"}, "5s"
	return map[string]any{"name": kind, "kind": kind, "pools": []any{pool}, kind: section}, nil
}

// output is what a command said.
type output struct {
	stdout, stderr string
	code           int
}

// login runs a command as alice in the login, where our commands are, bound to a place.
func login(t *testing.T, p place, dir string, args ...string) output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := []string{"PATH=" + world.Bin + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "CALLERS_WORD=yes",
		"HOME=" + world.Bed.Home("alice"), "USER=alice", "LOGNAME=alice", "SHELL=/bin/bash", "FSUB_SOCKET=" + world.Daemon.Socket(), "FSUB_SITES=" + p.name, "SBATCH_ACCOUNT=physics"}
	err := world.Bed.Exec(t.Context(), bed.Cmd{Site: bed.Login, User: "alice", Dir: dir, Args: append(append([]string{"/usr/bin/env", "-i"}, env...), args...), Stdout: &stdout, Stderr: &stderr})
	out := output{stdout: stdout.String(), stderr: stderr.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		out.code = exit.ExitCode()
	case err != nil:
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return out
}
