package daemon

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	"fsub/federation/api/submission"
	"fsub/federation/faults"
	"fsub/federation/health"
)

// newFaults watches what keeps the daemon from its work: its disk, sites, and jobs that it cannot go on with.
func (p *parts) newFaults() *faults.Watch {
	bounds := p.config.Limits.ForAPI(p.config)
	p.bounds.Store(&bounds)
	p.reg.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fsub_state_free_bytes", Help: "Free space where the daemon keeps its database."}, func() float64 {
			free, _ := submission.FreeBytes(filepath.Clean(p.config.StateDir))
			return float64(free)
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fsub_accepting_jobs", Help: "1 while new jobs are accepted; 0: the disk is nearly full."}, func() float64 {
			if p.bounds.Load().Short() != "" {
				return 0
			}
			return 1
		}))
	return faults.New(faults.Config{
		Logger: p.log, Sources: []func() []faults.Fault{
			func() []faults.Fault { return diskFault(p.bounds.Load()) },
			func() []faults.Fault { return siteFaults(p.ctl.Sites()) },
			func() []faults.Fault { return asideFault(p.ctl.Aside()) },
		},
		Tell: func(f faults.Fault, over bool) {
			why := f.Text
			if over {
				why = "over: " + why
			}
			p.notices.tell(health.Finding{At: f.Since, Rule: f.Name, Act: health.ActNotify, Why: why})
		},
	})
}

func diskFault(bounds *submission.Bounds) []faults.Fault {
	why := bounds.Short()
	if why == "" {
		return nil
	}
	return []faults.Fault{{Name: "disk", Text: why + ": free some in " + bounds.Dir}}
}

// siteFaults are the conditions of sites, which the controller logs.
func siteFaults(sites []*federation.Site) (out []faults.Fault) {
	for _, s := range sites {
		if s.State == federation.FedRemoved {
			continue
		}
		for _, c := range s.Conditions {
			if c.Name == federation.CondNotSeen {
				continue
			}
			text := fmt.Sprintf("site %s: %s%s; see: fed site show %[1]s", s.Name, strings.ReplaceAll(string(c.Name), "_", " "), cli.Colon(c.Detail))
			out = append(out, faults.Fault{Name: fmt.Sprintf("site %s %s", s.Name, c.Name), Text: text, Since: c.Since, Logged: true})
		}
	}
	for i, s := range sites {
		for _, other := range sites[:i] {
			if sameCluster(s.Seen, other.Seen) {
				out = append(out, faults.Fault{Name: fmt.Sprintf("sites %s and %s", other.Name, s.Name),
					Text: fmt.Sprintf("sites %s and %s are one cluster, %q: its nodes, limits and jobs count twice; run: fed site remove one of them", other.Name, s.Name, s.Seen.Cluster)})
			}
		}
	}
	return out
}

// asideFault tells of jobs that were put aside, each of which the controller has logged.
func asideFault(ids []federation.JobID) []faults.Fault {
	if len(ids) == 0 {
		return nil
	}
	return []faults.Fault{{Name: "jobs aside", Logged: true,
		Text: fmt.Sprintf("%d jobs are put aside, a defect of fed that stands in its log; one of them: fed job show %d", len(ids), ids[0])}}
}
