package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"fsub/testbed/bed"
	"fsub/testbed/daemon"
)

// cache holds the clients. Jobs see it under the same path.
const cache = "/var/cache/fsub-clients"

// The tests share one bed with three sites, and one daemon.
var world struct {
	bed    *bed.Bed
	daemon *daemon.Daemon
	skip   string
}

func TestMain(m *testing.M) {
	if os.Getuid() != 0 {
		world.skip = "SKIPPED: not root: real Slurm sites need namespaces of their own"
		os.Exit(m.Run())
	}
	os.Exit(withWorld(m))
}

func withWorld(m *testing.M) int {
	ctx := context.Background()
	dir, err := os.MkdirTemp("/var/tmp", "fsub-clients-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := errors.Join(os.Chmod(dir, 0o755), os.MkdirAll(cache, 0o755)); err != nil {
		panic(err)
	}
	b, err := bed.New(bed.Options{Dir: dir, Share: []string{cache}})
	if err != nil {
		panic(err)
	}
	defer func() {
		if err := b.Down(ctx, nil, true, io.Discard); err != nil {
			fmt.Fprintln(os.Stderr, "bed down:", err)
		}
	}()
	if err := start(ctx, b); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer world.daemon.Stop()
	code := m.Run()
	if code != 0 {
		log, _ := os.ReadFile(world.daemon.LogFile())
		fmt.Fprintf(os.Stderr, "the daemon's log ends:\n%s\n", log[max(0, len(log)-8000):])
	}
	return code
}

func start(ctx context.Context, b *bed.Bed) error {
	if err := b.Up(ctx, []string{"alpha", "beta", "gamma"}, os.Stderr); err != nil {
		return fmt.Errorf("bed up: %w", err)
	}
	for name, cgo := range map[string]string{"fsub": "0", "fed": "1"} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(b.BinDir(), name), "fsub/cmd/"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	fed := filepath.Join(b.BinDir(), "fed")
	if out, err := exec.Command(fed, "shims", "install", b.BinDir()).CombinedOutput(); err != nil {
		return fmt.Errorf("fed shims install: %w\n%s", err, out)
	}
	scripts := filepath.Join(b.BinDir(), "scripts") // the checkout may be closed to the users
	if err := os.CopyFS(scripts, os.DirFS("scripts")); err != nil {
		return err
	}
	var err error
	world.bed = b
	world.daemon, err = daemon.New(ctx, daemon.Options{Bed: b, Fed: fed, Dir: b.FedDir(), Federation: "clients", Edit: commandsInJobs(b)})
	if err != nil {
		return err
	}
	if err := world.daemon.Start(ctx); err != nil {
		return err
	}
	return world.daemon.AwaitSites(ctx)
}

// commandsInJobs has jobs find our commands at every site: clients submit, cancel and requeue from within their jobs.
func commandsInJobs(b *bed.Bed) func(map[string]any) {
	return func(config map[string]any) {
		for _, s := range config["sites"].([]any) {
			site := s.(map[string]any)
			site["commands"], site["daemon"] = b.BinDir(), filepath.Join(b.FedDir(), "fsub.sock")
		}
	}
}
