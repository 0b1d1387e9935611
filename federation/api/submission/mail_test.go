package submission

import (
	"testing"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/sbatch"
)

// planner offers a job some sites.
type planner struct {
	Planner
	offers []federation.SiteName
}

func (p *planner) Sites() (all []*federation.Site) {
	for name, version := range map[federation.SiteName]string{"alpha": "24.11.5", "local": federation.OwnVersion, "aws": federation.OwnVersion} {
		all = append(all, &federation.Site{Name: name, Seen: &federation.Observation{Version: version}})
	}
	return all
}

func (p *planner) Decision(*federation.Job) (d decision.Decision) {
	for _, s := range p.offers {
		d.Offers = append(d.Offers, &decision.Offer{Site: s})
	}
	return d
}

// TestMailNote: who asks for mail is told where none comes from, and no one else anything.
func TestMailNote(t *testing.T) {
	for _, c := range []struct {
		mail   string
		offers []federation.SiteName
		want   string
	}{
		{"", []federation.SiteName{"local"}, ""},
		{"NONE", []federation.SiteName{"local"}, ""},
		{"END", []federation.SiteName{"alpha"}, ""},
		{"END", nil, ""},
		{"END,FAIL", []federation.SiteName{"local", "aws", "local"}, "no mail will come: the job can only run at aws, local, and machines without Slurm send none"},
		{"END", []federation.SiteName{"local", "alpha", "aws"}, "mail comes only if the job runs at alpha: machines without Slurm (aws, local) send none"},
	} {
		g := &Gate{Controller: &planner{offers: c.offers}}
		if got := g.MailNote(&federation.Job{Spec: &sbatch.Spec{MailType: c.mail}}); got != c.want {
			t.Errorf("--mail-type=%s at %v: %q, want %q", c.mail, c.offers, got, c.want)
		}
	}
}
