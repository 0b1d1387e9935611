package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fsub/cloud"
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
		"its name":       func(s *Shape) { s.Type = "a b" },
		"needs CPUs":     func(s *Shape) { s.CPUs = 0 },
		"and memory":     func(s *Shape) { s.Mem = sbatch.MemMiB(0) },
		"is negative":    func(s *Shape) { s.Price = -1 },
		"is there twice": func(s *Shape) { s.Market = cloud.OnDemand },
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

func TestGPUsAreNotShared(t *testing.T) {
	one := Shape{Type: "a", GPUs: 2, Max: 1}
	for want, shapes := range map[string][]Shape{
		"":              {one, {Type: "c"}},
		"max: 1":        {{Type: "a", GPUs: 1}},
		"and this mach": {{Type: "a", GPUs: 5, Max: 1}},
		"leave one":     {one, one},
	} {
		if err := checkDevices(shapes, 4); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", shapes, err, want)
		}
		if err := checkDevices(shapes, 0); err != nil {
			t.Errorf("no GPUs here: %v", err)
		}
	}
}
