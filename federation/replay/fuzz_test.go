package replay

import (
	"math"
	"strings"
	"testing"
)

// FuzzParseSite reads sites as users of the simulator write them: what is taken has nodes that there can be, and an error repeats the text.
func FuzzParseSite(f *testing.F) {
	for _, text := range []string{"rhein=16x8:h100,price=2.10", "sky=100x1:l4,rented=3m,price=1", "a=4,cpus=128,mem=512,speed=0.5", "a=1x0,cpus=1e300", "a=1,mem=NaN", "=1", "a=1,price=Inf", "a=1,rented=-1s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, _, _ := strings.Cut(text, ","); len(n) > 40 && strings.Contains(n, "000") {
			return // a name of any length is no news
		}
		s, err := ParseSite(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "invalid site ") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		for name, usd := range s.Prices {
			if usd < 0 || math.IsInf(usd, 0) || math.IsNaN(usd) {
				t.Errorf("%q: %s costs $%g", text, name, usd)
			}
		}
		for _, x := range s.Speed {
			if !(x > 0) || math.IsInf(x, 0) {
				t.Errorf("%q: speed %g", text, x)
			}
		}
		for i := range s.Seen.Nodes {
			if n := &s.Seen.Nodes[i]; n.CPUs < 1 || n.CPUs > 1<<20 || n.Mem < 1 || n.Mem > 1<<40 {
				t.Fatalf("%q: %+v", text, n)
			}
		}
	})
}
