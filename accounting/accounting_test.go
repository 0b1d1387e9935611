package accounting

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseTRES(t *testing.T) {
	for text, want := range map[string]TRES{
		"":                           {},
		"cpu=4,mem=4000M,node=1":     {"cpu": 4, "mem": 4000, "node": 1},
		"mem=4G,billing=4":           {"mem": 4096, "billing": 4},
		"mem=1.50T":                  {"mem": 1572864},
		"mem=2048K":                  {"mem": 2},
		"mem=100":                    {"mem": 100},
		"gres/gpu:h100=4,gres/gpu=4": {"gres/gpu:h100": 4, "gres/gpu": 4},
		"cpu=2K":                     {"cpu": 2048},
	} {
		got, err := ParseTRES(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
	for _, bad := range []string{"cpu", "=4", "cpu=", "cpu=x", "cpu=-1", "mem=NaN", "mem=4X", "cpu=1e300", "mem=Inf"} {
		if got, err := ParseTRES(bad); err == nil {
			t.Errorf("%q passed as %v", bad, got)
		}
	}
}

func TestPrices(t *testing.T) {
	p := Prices{"cpu": 0.01, "mem": 0.002, "gres/gpu": 1, "gres/gpu:h100": 2.5}
	for name, want := range map[string]float64{"gres/gpu:h100": 2.5, "gres/gpu:a100": 1, "gres/gpu": 1, "node": 0, "cpu": 0.01} {
		if got := p.Of(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestPerHour(t *testing.T) {
	p := Prices{"cpu": 0.01, "mem": 0.002, "gres/gpu": 1, "gres/gpu:h100": 2.5}
	for _, c := range []struct {
		tres string
		d    time.Duration
		want float64
	}{
		{"cpu=8", 30 * time.Minute, 0.04},
		{"mem=10240M", time.Hour, 0.02},
		{"gres/gpu:h100=4,gres/gpu=4", time.Hour, 10}, // the same four GPUs, counted twice by Slurm
		{"gres/gpu:h100=4,gres/gpu=6", time.Hour, 12}, // two of no known type
		{"gres/gpu=4", time.Hour, 4},
		{"node=3,license/matlab=1", time.Hour, 0},
	} {
		tres, err := ParseTRES(c.tres)
		if err != nil {
			t.Fatal(err)
		}
		if got := PerHour(p, tres) * c.d.Hours(); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s for %v costs %v, want %v", c.tres, c.d, got, c.want)
		}
	}
}

func TestTRESRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"cpu", "mem", "node", "gres/gpu", "gres/gpu:a100", "billing"})
		want := TRES(rapid.MapOf(names, rapid.Int64Range(0, 1<<40)).Draw(t, "tres"))
		got, err := ParseTRES(want.String())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%s: %v %s", want, err, diff)
		}
	})
}
