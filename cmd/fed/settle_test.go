package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fsub/cloud/local/inside"
	"fsub/cmd/fed/internal/daemon"
)

// TestSettleCommand: what the machines of a local pool call in the end is a command of this
// program. It clears away nothing where there was no pool.
func TestSettleCommand(t *testing.T) {
	pool := t.TempDir()
	for _, dir := range []string{"gangs", inside.MachinesDir + "/G1.0"} {
		if err := os.MkdirAll(filepath.Join(pool, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	command := daemon.SettleCommand(pool)
	if self, err := os.Executable(); err != nil || command[0] != self || exec.Command(self).Err != nil {
		t.Fatal(command, err)
	}
	machine := filepath.Join(pool, inside.MachinesDir, "G1.0")
	if code := run(context.Background(), command[1:]); code != 1 {
		t.Errorf("%s: exit code %d of a directory that is none of a pool's", strings.Join(command, " "), code)
	}
	if _, err := os.Stat(machine); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(pool, inside.OwnersFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := run(context.Background(), command[1:]); code != 0 {
		t.Errorf("%s: exit code %d", strings.Join(command, " "), code)
	}
	if _, err := os.Stat(machine); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", machine, err)
	}
}
