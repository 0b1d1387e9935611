package place

import (
	"strings"
	"testing"

	"fsub/federation"
	"fsub/sbatch"
)

// TestResultsCount: of two sites at one price, one of them in a cloud, the job goes where its results need not leave one; what it would cost is told as a term, and
// counts against --max-cost. Where the site sees the working directory nothing is carried.
func TestResultsCount(t *testing.T) {
	plan := func(fed sbatch.Fed, sees bool) (federation.SiteName, string) {
		t.Helper()
		w := newWorld()
		w.read(t, "site cloud filesystems=none\nprice cpu=1\npartition main default nodes=c1\nnodes c1 cpus=4 mem=4000\n"+
			"site own filesystems=none\nprice cpu=1.01\npartition main default nodes=o1\nnodes o1 cpus=4 mem=4000\njob 1 -c2 -t2h\n")
		s := w.snapshot()
		for i := range s.Sites {
			if s.Sites[i].Name == "cloud" {
				s.Sites[i].Data.Place = "aws:us-east-1"
			}
			if sees {
				s.Sites[i].FileSystems = nil
			}
		}
		s.Jobs[0].Spec.Fed = &fed
		p := Plan(s, w.policy)
		text := explainAll(w, p)
		for _, d := range p.Decisions {
			if len(d.Offers) > 0 {
				return d.Offers[0].Site, text
			}
		}
		return "", text
	}
	out := []sbatch.Stage{{From: "results"}}
	for _, c := range []struct {
		name string
		fed  sbatch.Fed
		sees bool
		want federation.SiteName
	}{
		{"no size is told", sbatch.Fed{StageOut: out}, false, "cloud"},
		{"100 GB", sbatch.Fed{StageOut: out, StageOutSize: 100 << 30}, false, "own"},
		{"the site sees the directory", sbatch.Fed{StageOut: out, StageOutSize: 100 << 30}, true, "cloud"},
	} {
		site, text := plan(c.fed, c.sees)
		if site != c.want {
			t.Errorf("%s: it goes to %q, want %q\n%s", c.name, site, c.want, text)
		}
		if c.want == "own" && !strings.Contains(text, "results 9.00 (100 GB from cloud at $0.09/GB") {
			t.Errorf("%s: no term tells of the results:\n%s", c.name, text)
		}
	}
	if site, text := plan(sbatch.Fed{StageOut: out, StageOutSize: 100 << 30, NotSites: []string{"own"}, MaxCost: 5}, false); site != "" {
		t.Errorf("with --max-cost=5 it goes to %q\n%s", site, text)
	}
}
