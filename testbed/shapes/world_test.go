package shapes

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/testbed/bed"
	"fsub/testbed/daemon"
	"fsub/testbed/ec2"
)

// real is the Slurm site that all others are compared with.
const real = "alpha"

// The tests share one bed and one daemon. FSUB_SHAPES_BED names a bed that is up and may be used instead. FSUB_SHAPES_AT names the other places, with commas.
var world struct {
	bed    *bed.Bed
	daemon *daemon.Daemon
	bin    string
	places []place
	skip   string
}

func needWorld(t *testing.T) {
	t.Helper()
	if world.skip != "" {
		t.Skip(world.skip)
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	switch {
	case os.Getuid() != 0:
		world.skip = "SKIPPED: not root: real Slurm sites need namespaces of their own"
	case testing.Short():
		world.skip = "SKIPPED: -short leaves out real Slurm"
	default:
		code, err := withWorld(m)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func withWorld(m *testing.M) (code int, err error) {
	ctx := context.Background()
	b, down, err := openBed(ctx)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, down()) }()
	dir, err := os.MkdirTemp(b.BinDir(), "shapes-") // where the site's nodes see it: commands and socket
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return 1, err
	}
	world.bed, world.bin = b, filepath.Join(dir, "bin")
	if err := build(world.bin); err != nil {
		return 1, err
	}
	at := os.Getenv("FSUB_SHAPES_AT")
	if at == "" {
		at = "local,aws"
	}
	world.places = []place{{real, 0}, {real, 1}}
	sites := []any{}
	for name := range strings.SplitSeq(at, ",") {
		switch name {
		case "local":
			sites = append(sites, localSite())
		case "aws":
			site, stop, err := awsSite(dir)
			if err != nil {
				return 1, err
			}
			defer stop()
			sites = append(sites, site)
		default:
			continue
		}
		world.places = append(world.places, place{name, 0})
	}
	d, err := daemon.New(ctx, daemon.Options{Bed: b, Fed: filepath.Join(world.bin, "fed"), Dir: filepath.Join(dir, "run"), Federation: "shapes", Edit: func(c map[string]any) {
		edit(c, filepath.Join(dir, "run", "fsub.sock"), sites)
	}})
	if err == nil {
		err = d.Start(ctx)
	}
	if err != nil {
		return 1, err
	}
	world.daemon = d
	defer awaitMachines(dir)
	defer d.Stop()
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := d.AwaitSites(wait); err != nil {
		return 1, err
	}
	if code = m.Run(); code != 0 {
		log, _ := os.ReadFile(d.LogFile())
		fmt.Fprintf(os.Stderr, "the daemon's log ends:\n%s\n", log[max(0, len(log)-60000):])
	}
	return code, nil
}

// awaitMachines waits for the machines to end by themselves: their daemon is gone, and their lease lapses.
func awaitMachines(dir string) {
	for range 600 {
		links, _ := filepath.Glob("/proc/[0-9]*/cwd")
		if !slices.ContainsFunc(links, func(link string) bool {
			at, err := os.Readlink(link)
			return err == nil && strings.HasPrefix(at, dir+"/")
		}) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Fprintln(os.Stderr, "machines are left below", dir)
}

// edit makes the real site the only one of Slurm, gives its jobs our commands, and adds the others.
func edit(config map[string]any, socket string, sites []any) {
	slurm := config["sites"].([]any)
	for _, s := range slurm {
		if site := s.(map[string]any); site["name"] == real {
			site["commands"], site["daemon"] = world.bin, socket
			sites = append([]any{site}, sites...)
		}
	}
	config["sites"] = sites
	config["agents"] = map[string]any{"listen": "127.0.0.1:0", "lease": "15s"}
	if os.Getenv(lent) != "" { // numbers that no job at the site of a lent bed has
		config["job_ids"] = map[string]any{"first": 30_000_000 + time.Now().Unix()%100_000*300}
	}
}

// pool is like the real site's main partition.
var pool = map[string]any{"name": "main", "default": true, "shared": true, "min": 0, "max": 4, "idle": "10m", "default_time": "1h", "max_time": "168h", "def_mem_per_cpu": 1000}

func localSite() map[string]any {
	return map[string]any{"name": "local", "kind": "local", "pools": []any{pool},
		"local": map[string]any{"nodes": 4, "cpus": 16, "mem_mib": 64000, "gpus": 4, "gpu_type": "h100"}}
}

// awsSite is the site at what stands in for Amazon, whose instances are processes of this machine.
func awsSite(dir string) (site map[string]any, stop func(), err error) {
	cloud := ec2.New(ec2.Config{Process: true, Dir: filepath.Join(dir, "ec2")})
	url, err := cloud.Start("")
	if err != nil {
		return nil, nil, err
	}
	credentials := filepath.Join(dir, "credentials")
	text := fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", cloud.AccessKey(), cloud.SecretKey())
	if err := os.WriteFile(credentials, []byte(text), 0o600); err != nil {
		return nil, nil, err
	}
	aws := map[string]any{"region": cloud.Region(), "endpoint": url, "pricing_endpoint": url, "credentials_file": credentials, "types": []any{"g6.12xlarge"},
		"markets": []any{"on-demand"}, "boot": "5s"}
	return map[string]any{"name": "aws", "kind": "aws", "pools": []any{pool}, "aws": aws}, func() { cloud.Close() }, nil
}

const lent = "FSUB_SHAPES_BED"

func openBed(ctx context.Context) (b *bed.Bed, down func() error, err error) {
	if up := os.Getenv(lent); up != "" {
		b, err = bed.Open(up)
		return b, func() error { return nil }, err
	}
	dir, err := os.MkdirTemp("/var/tmp", "fsub-shapes-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		b, err = bed.New(bed.Options{Dir: filepath.Join(dir, "bed"), Temporary: true})
	}
	if err != nil {
		return nil, nil, err
	}
	down = func() error { return errors.Join(b.Down(ctx, nil, true, io.Discard), os.RemoveAll(dir)) }
	if err := b.Up(ctx, []string{real}, os.Stderr); err != nil {
		return nil, nil, errors.Join(err, down())
	}
	return b, down, nil
}

// build makes our commands, with Slurm's names as links.
func build(bin string) error {
	for _, p := range []struct{ name, cgo, tags string }{{"fsub", "0", ""}, {"fed", "1", ""}, {"fed-agent", "0", "remote"}} {
		if ready := os.Getenv("FSUB_TEST_AGENT"); p.name == "fed-agent" && ready != "" {
			if err := exec.Command("cp", ready, filepath.Join(bin, p.name)).Run(); err != nil {
				return fmt.Errorf("copy FSUB_TEST_AGENT: %w", err)
			}
			continue
		}
		cmd := exec.Command("go", "build", "-tags", p.tags, "-o", filepath.Join(bin, p.name), "fsub/cmd/"+p.name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED="+p.cgo)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", p.name, err, out)
		}
	}
	for _, name := range []string{"sbatch", "squeue", "scancel", "sinfo", "sacct", "scontrol"} {
		if err := os.Symlink("fsub", filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	return nil
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
	env := []string{"PATH=" + world.bin + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "CALLERS_WORD=yes",
		"HOME=" + world.bed.Home("alice"), "USER=alice", "LOGNAME=alice", "SHELL=/bin/bash", "FSUB_SOCKET=" + world.daemon.Socket(), "FSUB_SITES=" + p.name, "SBATCH_ACCOUNT=physics"}
	err := world.bed.Exec(t.Context(), bed.Cmd{Site: bed.Login, User: "alice", Dir: dir, Args: append(append([]string{"/usr/bin/env", "-i"}, env...), args...), Stdout: &stdout, Stderr: &stderr})
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
