package accounting

import (
	"math"
	"testing"
)

func TestAssumed(t *testing.T) {
	for name, want := range map[string]float64{
		"gres/gpu:h100": 2.752, "gres/gpu:H100": 2.752, "gres/gpu:nvidia_h100_80gb_hbm3": 2.752, "gres/gpu:a100": 1.096,
		"gres/gpu:nvidia_a100-sxm4-80gb": 1.372, "gres/gpu:a100_80gb": 1.372, "gres/tpu:v5p": 1.68, "gres/gpu:h100-nvl": 2.792,
		"cpu": 0.016, "mem": 0.0016, "node": 0, "gres/fpga": 0,
	} {
		if got, known := Assumed(name); !known || math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, %v; want %v", name, got, known, want)
		}
	}
	dearest := 0.0
	for kind := range listPrices {
		rate, known := Assumed("gres/gpu:" + kind)
		if !known || rate <= 0 {
			t.Errorf("%s: %v", kind, rate)
		}
		if kind != "gb200" { // sold by the rack
			dearest = max(dearest, rate)
		}
	}
	for _, name := range []string{"gres/gpu:radeon9", "gres/gpu", "gres/gpu:h1000"} {
		if got, known := Assumed(name); known || got < dearest-1e-9 {
			t.Errorf("%s, which nobody knows, wins at %v against %v", name, got, dearest)
		}
	}
	sum, known := AssumedPerHour(TRES{"cpu": 10, "mem": 20480, "node": 2, "gres/gpu": 4, "gres/gpu:h100": 4})
	if !known || math.Abs(sum-(0.16+0.032+11.008)) > 1e-9 {
		t.Errorf("a node: %v, %v", sum, known)
	}
}

func TestPriced(t *testing.T) {
	p := Prices{"gres/gpu": 2, "cpu": 0}
	for name, want := range map[string]bool{"gres/gpu:h100": true, "gres/gpu": true, "cpu": true, "mem": false, "gres/fpga:x": false} {
		if p.Priced(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
