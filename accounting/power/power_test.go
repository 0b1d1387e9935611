package power

import (
	"math"
	"strings"
	"testing"
	"time"

	"fsub/accounting"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9*max(1, math.Abs(b)) }

// TestOf: each hour of a run counts at its own price, the part of an hour as a part, and what lies beyond the last hour as that.
func TestOf(t *testing.T) {
	r := &Rates{From: noon, Hours: []Hour{{0.10, 100}, {0.20, 400}, {0.40, 0}}, Tonne: 50, PUE: 1.5}
	held := accounting.TRES{"gres/gpu:NVIDIA_H100_80GB_HBM3": 8, "cpu": 100, "mem": 4096, "node": 1}
	kW := (8*700 + 100*5) * 1.5 / 1000
	u := r.Of(held, noon.Add(30*time.Minute), 4*time.Hour)
	if !near(u.KWh, 4*kW) || !near(u.Kg, kW*(0.5*0.1+1*0.4)) || !near(u.Dollars, kW*(0.5*0.10+1*0.20+2.5*0.40)+u.Kg*0.05) {
		t.Errorf("%+v of %v kW", u, kW)
	}
	if u := r.Of(held, noon.Add(-time.Hour), time.Hour); !near(u.Dollars, kW*(0.10+0.1*0.05)) { // before the first hour
		t.Errorf("%+v", u)
	}
	r.Watts = map[string]float64{"cpu": 0, "gres/gpu:NVIDIA_H100_80GB_HBM3": 350}
	if u := r.Of(held, noon, time.Hour); !near(u.KWh, 8*350*1.5/1000) {
		t.Errorf("with watts of its own: %+v", u)
	}
	if u := r.Of(accounting.TRES{"gres/gpu": 1, "gres/tpu": 4}, noon, time.Hour); !near(u.KWh, unknownWatts*1.5/1000) {
		t.Errorf("an unknown GPU: %+v", u)
	}
	if u := (&Rates{}).Of(held, noon, time.Hour); u != (Use{}) {
		t.Errorf("without hours: %+v", u)
	}
}

// TestTable: a time goes before an hour of the day, and that before *; a site of its own before *.
func TestTable(t *testing.T) {
	table, err := Read(strings.NewReader("site,hour,usd_per_kwh,g_per_kwh\n# Ireland\nalpha,*,0.10,200\nalpha, 13,0.20,300\nalpha,2026-11-22T13:00Z,-0.01,0\nalpha,2026-11-22T16:00:00+01:00,0.5,1\n*,12,0.3,50\n"))
	if err != nil {
		t.Fatal(err)
	}
	from, hours := table.At("alpha", noon.Add(50*time.Minute))
	if !from.Equal(noon) || len(hours) != ahead || hours[0] != (Hour{0.10, 200}) || hours[1] != (Hour{-0.01, 0}) || hours[2] != hours[0] || hours[3] != (Hour{0.5, 1}) || hours[25] != (Hour{0.20, 300}) {
		t.Errorf("from %v: %v", from, hours)
	}
	if _, hours := table.At("beta", noon); len(hours) != ahead || hours[0] != (Hour{0.3, 50}) || hours[11] != hours[0] {
		t.Errorf("what is not said goes on: %v", hours)
	}
	if _, hours := table.At("beta", noon.Add(time.Hour)); hours != nil {
		t.Errorf("nothing is known of now: %v", hours)
	}
	for text, says := range map[string]string{
		"":                       "the file is empty",
		"site,hour,price\n":      "wrong number of fields",
		"site,hour,usd,g\n":      "want the header",
		"H\na,24,1,1\n":          `line 2: invalid hour "24"`,
		"H\na,*,1,1\na,*,2,1\n":  "line 3: site a has hour * twice",
		"H\na,*,cheap,1\n":       `line 2: invalid usd_per_kwh "cheap"`,
		"H\na,*,NaN,1\n":         `invalid usd_per_kwh "NaN"`,
		"H\na,*,1,-5\n":          `invalid g_per_kwh "-5"`,
		"H\na,yesterday,1,100\n": `invalid hour "yesterday"`,
	} {
		if _, err := Read(strings.NewReader(strings.Replace(text, "H\n", "site,hour,usd_per_kwh,g_per_kwh\n", 1))); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}

func TestEqual(t *testing.T) {
	a := &Rates{From: noon, Hours: []Hour{{1, 2}}, Source: "x"}
	b := *a
	if !a.Equal(&b) || (*Rates)(nil).Equal(a) || !(*Rates)(nil).Equal(nil) {
		t.Error("not as they are")
	}
	if b.From = noon.Add(time.Hour); a.Equal(&b) {
		t.Error("another hour")
	}
}
