package local

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/sbatch"
)

func TestGPUsOfTheDriver(t *testing.T) {
	for want, models := range map[string][]string{
		"h100":    {"NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"},
		"a100":    {"NVIDIA A100-SXM4-40GB"},
		"v100":    {"Tesla V100-PCIE-16GB"},
		"3090":    {"NVIDIA GeForce RTX 3090"},
		"":        {"NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB"},
		"gb200":   {"NVIDIA GB200"},
		"t4":      {"Tesla T4"},
		"rtx6000": {"NVIDIA RTX6000"},
	} {
		dir := t.TempDir()
		for i, model := range models {
			gpu := filepath.Join(dir, "0000:"+string(rune('0'+i))+":00.0")
			if err := os.MkdirAll(gpu, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(gpu, "information"), []byte("Model: \t\t "+model+"\nIRQ:   \t\t 16\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if n, kind := nvidia(dir); n != len(models) || kind != want {
			t.Errorf("%v: %d of %q, want %q", models, n, kind, want)
		}
	}
	if n, kind := nvidia(t.TempDir()); n != 0 || kind != "" {
		t.Errorf("no driver: %d of %q", n, kind)
	}
}

func TestThisMachine(t *testing.T) {
	s := ThisMachine()
	if err := checkShapes([]Shape{s}); err != nil || s.Max != 1 || s.Mem > memTotal("/proc/meminfo") || s.Price != 0 {
		t.Errorf("%+v: %v", s, err)
	}
}

func TestShapesAreChecked(t *testing.T) {
	good := Shape{Type: "a", CPUs: 1, Mem: 1}
	for want, change := range map[string]func(*Shape){
		"invalid name":   func(s *Shape) { s.Type = "a b" },
		"needs CPUs":     func(s *Shape) { s.CPUs = 0 },
		"and memory":     func(s *Shape) { s.Mem = sbatch.MemMiB(0) },
		"is negative":    func(s *Shape) { s.Price = -1 },
		"is there twice": func(s *Shape) { s.Market = provider.OnDemand },
	} {
		bad := good
		change(&bad)
		if err := checkShapes([]Shape{good, bad}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestOfferings(t *testing.T) {
	p := world(t, nil)
	got, err := p.Offerings(t.Context())
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	if o := got[1]; o.ID != "one/spot" || o.Price != 2 || o.Max != 1 || strings.Join(o.Features, ",") != "one,spot" || o.PriceFrom == "" || o.PricedAt.IsZero() || o.Boot == 0 {
		t.Errorf("%+v", o)
	}
}

func TestCheckDevices(t *testing.T) {
	one := Shape{Type: "a", GPUs: 2, Max: 1}
	for want, shapes := range map[string][]Shape{
		"":                          {one, {Type: "c"}, {Type: "b", GPUs: 1, Max: 2}},
		"1 machines with 5":         {{Type: "a", GPUs: 5}},
		"shape b: 2 machines with ": {one, {Type: "b", GPUs: 2, Max: 2}},
	} {
		if err := checkDevices(shapes, 0); err != nil {
			t.Errorf("no GPUs here: %v", err)
		}
		if err := checkDevices(shapes, 4); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", shapes, err, want)
		}
	}
	open := []Shape{one, {Type: "b", GPUs: 3}}
	if err := checkDevices(open, 9); err != nil || open[1].Max != 2 {
		t.Errorf("%v: %v", open, err)
	}
}

// gpuDir is what NVIDIA's driver shows of n GPUs.
func gpuDir(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		gpu := filepath.Join(dir, fmt.Sprintf("0000:%02x:00.0", i))
		if err := os.MkdirAll(gpu, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(gpu, "information"), []byte("Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 16\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestGPUsAreNotShared: each of the host's GPUs is one machine's at a time, and the next provider knows which.
func TestGPUsAreNotShared(t *testing.T) {
	dir := gpuDir(t, 5)
	four := func(c *Config) { c.GPUDir, c.Shapes = dir, []Shape{{Type: "small", CPUs: 1, Mem: 100, GPUs: 2}} }
	p := world(t, four)
	if offers, err := p.Offerings(t.Context()); err != nil || offers[0].Max != 2 {
		t.Errorf("%+v, %v", offers, err)
	}
	gpus := func(all []provider.Instance) (out [][]int) {
		for _, i := range all {
			out = append(out, i.GPUs)
		}
		return out
	}
	if got := gpus(create(t, p, request("G1", 2))); !reflect.DeepEqual(got, [][]int{{0, 1}, {2, 3}}) {
		t.Error(got)
	}
	_, err := p.Create(t.Context(), request("G2", 1))
	wants(t, err, provider.KindStockOut, federation.ErrCapacity)
	if err := p.Delete(t.Context(), []provider.InstanceID{"G1.0"}); err != nil {
		t.Fatal(err)
	}
	next := open(t, p.cfg.Dir, four)
	if got := gpus(create(t, next, request("G3", 1))); !reflect.DeepEqual(got, [][]int{{0, 1}}) {
		t.Error(got)
	}
	if err := next.Delete(t.Context(), []provider.InstanceID{"G1.1", "G3.0"}); err != nil {
		t.Fatal(err)
	}
	list(t, p)
}

func TestDevices(t *testing.T) {
	d := newDevices(4)
	d.use([]int{1, 9})
	if got := d.take(2); !reflect.DeepEqual(got, []int{0, 2}) || !d.have(1) || d.have(2) {
		t.Errorf("took %v, left %v", got, d)
	}
	if none := newDevices(0); !none.have(8) || none.take(8) != nil {
		t.Error("pretended GPUs are without end")
	}
}
