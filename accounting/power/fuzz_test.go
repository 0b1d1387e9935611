package power

import (
	"math"
	"strings"
	"testing"
	"time"

	"fsub/accounting"
)

// FuzzRead reads tables of rates: what is taken has a finite price for each hour, and an error names the line.
func FuzzRead(f *testing.F) {
	f.Add("site,hour,usd_per_kwh,g_per_kwh\n# Ireland\nalpha,*,0.10,200\nalpha, 13,0.20,300\nalpha,2026-11-22T13:00Z,-0.01,0\n*,12,0.3,50\n")
	f.Add("site,hour,price\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := Read(strings.NewReader(text))
		if err != nil {
			if said := err.Error(); !strings.Contains(said, "line ") && !strings.Contains(said, "header") {
				t.Errorf("%v does not name the line", err)
			}
			return
		}
		for site := range table {
			from, hours := table.At(site, noon)
			if n := len(hours); n != 0 && n != ahead {
				t.Errorf("%d hours of %q", n, site)
			}
			u := (&Rates{From: from, Hours: hours, Tonne: 100}).Of(accounting.TRES{"gres/gpu:h100": 1 << 20, "cpu": 1 << 30}, noon.Add(-time.Hour), 1000*time.Hour)
			if math.IsNaN(u.Dollars) || math.IsInf(u.Dollars, 0) || u.KWh < 0 || u.Kg < 0 {
				t.Errorf("%q: %+v", site, u)
			}
		}
	})
}
