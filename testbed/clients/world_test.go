package clients

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"fsub/testbed/bed"
	"fsub/testbed/program"
	"fsub/testbed/suite"
)

// cache holds the clients. Jobs see it under the same path.
const cache = "/var/cache/fsub-clients"

// The tests share one bed with three sites, and one daemon.
var world suite.Suite

func TestMain(m *testing.M) {
	if err := os.MkdirAll(cache, 0o755); err != nil && os.Getuid() == 0 {
		panic(err)
	}
	world.Main(m, suite.Config{Name: "clients", Sites: []string{"alpha", "beta", "gamma"}, Bed: bed.Options{Share: []string{cache}}, Start: start})
}

func start(ctx context.Context) error {
	if err := program.Put(world.Bin, "fsub", "fed"); err != nil {
		return err
	}
	if out, err := exec.Command(filepath.Join(world.Bin, "fed"), "shims", "install", world.Bin).CombinedOutput(); err != nil {
		return fmt.Errorf("fed shims install: %w\n%s", err, out)
	}
	scripts := filepath.Join(world.Bin, "scripts") // the checkout may be closed to the users
	if err := os.CopyFS(scripts, os.DirFS("scripts")); err != nil {
		return err
	}
	if err := world.StartDaemon(ctx, commandsInJobs(world.Bed)); err != nil {
		return err
	}
	return world.Daemon.AwaitSites(ctx)
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
