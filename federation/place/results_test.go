package place

import (
	"strings"
	"testing"
	"time"

	"fsub/accounting/egress"
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

// TestSavesCount: what a job keeps is saved from a cloud for money, as often as it writes a checkpoint; that is known once there is a copy, and counts in the choice of the next site.
func TestSavesCount(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes int64
		store egress.Store
		want  federation.SiteName
		term  string
	}{
		{"nothing saved yet", 0, egress.Store{}, "cloud", ""},
		{"beside the daemon", 50 << 30, egress.Store{}, "own", "keep 9.00 (2 x 50 GB, 100 GB from cloud at $0.09/GB"},
		{"in another region", 50 << 30, egress.Store{Place: "aws:us-west-2", PerGBMonth: 0.0365, Keep: 18 * time.Hour}, "own",
			"keep 2.10 (2 x 50 GB, 100 GB from cloud at $0.02/GB"},
		{"in the cloud itself", 50 << 30, egress.Store{Place: "aws:us-east-1", PerGBMonth: 0.0365, Keep: 18 * time.Hour}, "", "keep 0.10 (100 GB kept for 19 h at $0.0365/GB a month)"},
	} {
		w := newWorld()
		w.read(t, "site cloud filesystems=none\nprice cpu=1\npartition main default nodes=c1\nnodes c1 cpus=4 mem=4000\n"+
			"site own filesystems=none\nprice cpu=1.01\npartition main default nodes=o1\nnodes o1 cpus=4 mem=4000\njob 1 -c2 -t2h\n")
		w.policy.Store = c.store
		s := w.snapshot()
		for i := range s.Sites {
			if s.Sites[i].Name == "cloud" {
				s.Sites[i].Data.Place = "aws:us-east-1"
			}
		}
		s.Jobs[0].Spec.Fed = &sbatch.Fed{Keep: []string{"ck"}, Checkpoint: 30 * time.Minute}
		if c.bytes > 0 {
			s.Jobs[0].Spec.Fed.Inputs = []sbatch.Dataset{{Bytes: c.bytes, Kept: true}}
		}
		p := Plan(s, w.policy)
		text := explainAll(w, p)
		if site := p.Decisions[0].Offers[0].Site; c.want != "" && site != c.want {
			t.Errorf("%s: it goes to %q, want %q\n%s", c.name, site, c.want, text)
		}
		if !strings.Contains(text, c.term) || c.term == "" && strings.Contains(text, "keep ") {
			t.Errorf("%s: no %q in\n%s", c.name, c.term, text)
		}
	}
}
