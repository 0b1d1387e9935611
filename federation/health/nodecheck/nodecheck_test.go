package nodecheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// machine is a Config for a machine whose programs say what a test wants; what it does not name is not installed.
func machine(t *testing.T, says map[string]string) Config {
	root := t.TempDir()
	os.MkdirAll(filepath.Join(root, "proc"), 0o755)
	os.WriteFile(filepath.Join(root, "proc/uptime"), []byte("200000.12 1.0\n"), 0o644)
	os.MkdirAll(filepath.Join(root, "tmp"), 0o755)
	return Config{Root: root, Disks: []string{"/tmp", "/gone"}, Unsynced: func() (bool, time.Duration) { return false, 0 },
		Command: func(_ context.Context, name string, args ...string) (string, error) {
			for key, out := range says {
				if strings.HasPrefix(name+" "+strings.Join(args, " "), key) {
					if out, bad := strings.CutPrefix(out, "FAIL "); bad {
						return out, errors.New("exit status 1")
					}
					return out, nil
				}
			}
			return "", fmt.Errorf("%s: %w", name, exec.ErrNotFound)
		}}
}

func TestRun(t *testing.T) {
	const two = "0, 00000000:17:00.0\n1, 00000000:31:00.0\n"
	for _, c := range []struct {
		name string
		says map[string]string
		gpus int
		want string
	}{
		{name: "nothing is installed"},
		{name: "all is well", says: map[string]string{"nvidia-smi --query-gpu": two, "nvidia-smi --query-remapped": "00000000:17:00.0, 0, 0\n", "dmesg": "[    1.0] hello\n"}, gpus: 2},
		{name: "no GPUs", gpus: 2, want: "check-gpu nvidia-smi is missing, and there should be 2 GPUs"},
		{name: "one is lost", says: map[string]string{"nvidia-smi --query-gpu": "0, 00000000:17:00.0\n"}, gpus: 2, want: "check-gpu 1 of 2 GPUs are there"},
		{name: "it fails", says: map[string]string{"nvidia-smi --query-gpu": "FAIL Unable to determine the device handle\n"}, want: "check-gpu nvidia-smi fails: Unable to determine the device handle"},
		{name: "rows", says: map[string]string{"nvidia-smi --query-gpu": two, "nvidia-smi --query-remapped": "00000000:17:00.0, 0, 1\n00000000:31:00.0, Yes, No\n"},
			want: "check-gpu GPU 00000000:17:00.0: a memory row could not be replaced; check-gpu GPU 00000000:31:00.0 wants a reset to replace memory rows"},
		{name: "xids", says: map[string]string{"dmesg": "[199000.5] NVRM: Xid (PCI:0000:17:00): 79, pid=1, GPU has fallen off the bus.\n[199000.6] NVRM: Xid (PCI:0000:17:00): 79, again\n" +
			"[199001.0] NVRM: Xid (PCI:0000:31:00): 31, a job's\n[  10.0] NVRM: Xid (PCI:0000:31:00): 48, long ago\n"}, want: "check-gpu GPU 0000:17:00: Xid 79"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := machine(t, c.says)
			m.GPUs = c.gpus
			var got []string
			for _, f := range Run(t.Context(), m) {
				got = append(got, f.Code+" "+f.Text)
			}
			if s := strings.Join(got, "; "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
		})
	}
}

func TestLinksAndClock(t *testing.T) {
	m := machine(t, nil)
	for port, state := range map[string][2]string{"mlx5_0/ports/1": {"4: ACTIVE", "5: LinkUp"}, "mlx5_1/ports/1": {"2: INIT", "5: LinkUp"}, "mlx5_2/ports/1": {"1: DOWN", "2: Polling"}} {
		dir := filepath.Join(m.Root, "sys/class/infiniband", port)
		os.MkdirAll(dir, 0o755)
		os.WriteFile(filepath.Join(dir, "state"), []byte(state[0]+"\n"), 0o644)
		os.WriteFile(filepath.Join(dir, "phys_state"), []byte(state[1]+"\n"), 0o644)
	}
	m.Unsynced = func() (bool, time.Duration) { return true, 16 * time.Second }
	found := Run(t.Context(), m)
	if len(found) != 2 || found[0].Text != "the clock is not synchronised; it may be wrong by 16s" || found[1].Text != "port 1 of mlx5_1 is INIT" {
		t.Errorf("%+v", found)
	}
}

// TestPortsOnce: a port that was active once and is not now is wrong, though it looks like one without a cable. A look that notes nothing knows what others have noted.
func TestPortsOnce(t *testing.T) {
	m := machine(t, nil)
	m.Ports, m.Note = filepath.Join(m.Root, "ports"), true
	set := func(device, state, phys string) {
		t.Helper()
		dir := filepath.Join(m.Root, "sys/class/infiniband", device, "ports/1")
		err := os.MkdirAll(dir, 0o755)
		for name, text := range map[string]string{"state": state, "phys_state": phys} {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	set("mlx5_0", "4: ACTIVE", "5: LinkUp")
	set("mlx5_1", "1: DOWN", "2: Polling") // never had a cable
	if found := Run(t.Context(), m); len(found) != 0 {
		t.Fatalf("%+v", found)
	}
	set("mlx5_0", "1: DOWN", "2: Polling") // its switch is gone
	m.Note = false
	for range 2 {
		if found := Run(t.Context(), m); len(found) != 1 || found[0] != (Finding{Code: "check-link", Text: "port 1 of mlx5_0 is DOWN", Device: "mlx5_0:1"}) {
			t.Fatalf("%+v", found)
		}
	}
	set("mlx5_0", "4: ACTIVE", "5: LinkUp")
	set("mlx5_1", "4: ACTIVE", "5: LinkUp")
	Run(t.Context(), m)
	if text, _ := os.ReadFile(m.Ports); string(text) != "mlx5_0:1\n" {
		t.Errorf("a look that is to note nothing has noted %q", text)
	}
}
