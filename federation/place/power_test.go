package place

import (
	"strings"
	"testing"

	"fsub/accounting/power"
)

// TestPower: of two sites that are alike a job goes to the one with the cheaper electricity, carbon counted; fed explain says why, and --max-cost does not count it.
func TestPower(t *testing.T) {
	rates := func(perKWh, grams float64) *power.Rates {
		return &power.Rates{From: newWorld().now, Hours: []power.Hour{{PerKWh: perKWh, Grams: grams}}, Tonne: 100, Source: "power.csv of 2026-11-22"}
	}
	for _, c := range []struct {
		alpha, beta *power.Rates
		want, says  string
	}{
		{rates(0.10, 0), rates(0.30, 0), "alpha", "0.71 kWh, power.csv of 2026-11-22"},
		{rates(0.10, 3000), rates(0.30, 0), "beta", "0.71 kWh, power.csv of 2026-11-22"},
		{rates(0.10, 500), rates(0.30, 0), "alpha", "0.71 kWh, 0.355 kg CO2 at $100.00/t"},
		{rates(-0.10, 0), nil, "alpha", "0.71 kWh"},
	} {
		w := newWorld()
		text := "price gres/gpu=2\npartition main default nodes=n1\nnodes n1 cpus=4 mem=4000 gpu=h100:1\n"
		w.read(t, "site alpha\n"+text+"site beta\n"+text+"job 1 --gpus=1 -c2 -t2h --max-cost=2.001")
		s := w.snapshot()
		for i := range s.Sites {
			s.Sites[i].Power = map[string]*power.Rates{"alpha": c.alpha, "beta": c.beta}[string(s.Sites[i].Name)]
		}
		d := Plan(s, Policy{}).Decisions[0]
		if len(d.Offers) == 0 || string(d.Offers[0].Site) != c.want {
			t.Errorf("%+v", d)
			continue
		}
		if text := Explain(w.jobs[0], d); !strings.Contains(text, c.says) {
			t.Errorf("%s: want %q", text, c.says)
		}
	}
}
