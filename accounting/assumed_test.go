package accounting

import (
	"math"
	"testing"
)

func TestAssumed(t *testing.T) {
	for name, want := range map[string]float64{
		"gres/gpu:h100": 2.752, "gres/gpu:H100": 2.752, "gres/gpu:nvidia_h100_80gb_hbm3": 2.752, "gres/gpu:a100": 1.096,
		"gres/gpu:nvidia_a100-sxm4-80gb": 1.372, "gres/gpu:a100_80gb": 1.372, "gres/tpu:v5p": 1.68, "gres/gpu:h100-nvl": 2.792,
		"cpu": 0.016, "mem": 0, "node": 0, "gres/fpga": 0,
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
}

func TestRateOf(t *testing.T) {
	node := TRES{"cpu": 10, "mem": 20480, "node": 2, "gres/gpu": 4, "gres/gpu:h100": 4}
	for _, c := range []struct {
		name   string
		prices Prices
		tres   TRES
		want   Rate
	}{
		{"nothing is priced", nil, node, Rate{0.16 + 11.008, true, false}},
		{"all is priced", Prices{"gres/gpu:h100": 3, "cpu": 0.1}, node, Rate{PerHour: 13}},
		{"GPUs are", Prices{"gres/gpu": 3}, node, Rate{PerHour: 12}},
		{"CPUs are", Prices{"cpu": 0.1}, node, Rate{1 + 11.008, true, false}},
		{"nodes are", Prices{"node": 5}, node, Rate{PerHour: 10}},
		{"they cost nothing", Prices{"gres/gpu": 0}, node, Rate{}},
		{"a kind that nobody knows", Prices{"cpu": 0.1}, TRES{"cpu": 1, "gres/gpu:radeon9": 1}, Rate{0.1 + 7.12, true, true}},
		{"CPUs without a price", Prices{"gres/gpu": 3}, TRES{"cpu": 10, "node": 1}, Rate{0.16, true, false}},
	} {
		got := RateOf(c.prices, c.tres)
		if math.Abs(got.PerHour-c.want.PerHour) > 1e-9 || got.Assumed != c.want.Assumed || got.Unknown != c.want.Unknown {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
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
