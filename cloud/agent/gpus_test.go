package agent

import (
	"os"
	"path/filepath"
	"testing"
)

// GPUs are counted by what the kernel shows of them, also before their driver is loaded.
func TestGPUsOfTheKernel(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{
		"bus/0/vendor": "0x10de\n", "bus/0/class": "0x030200\n", // H100
		"bus/1/vendor": "0x10de\n", "bus/1/class": "0x068000\n", // NVSwitch
		"bus/2/vendor": "0x1d0f\n", "bus/2/class": "0x030000\n", // Amazon's display
		"bus/3/vendor": "0x10de\n", "bus/3/class": "0x030000\n",
		"nodes/0/properties": "cpu_cores_count 96\nsimd_count 0\n", "nodes/1/properties": "cpu_cores_count 0\nsimd_count 1216\n",
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n := nvidiaOn(filepath.Join(dir, "bus")); n != 2 {
		t.Errorf("%d GPUs of NVIDIA, want 2", n)
	}
	if n := len(amdGPUs(filepath.Join(dir, "nodes"))); n != 1 {
		t.Errorf("%d GPUs of AMD, want 1", n)
	}
}
