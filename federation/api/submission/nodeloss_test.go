package submission

import (
	"strings"
	"testing"

	"fsub/federation"
	"fsub/sbatch"
)

// TestOnlyRented: a job that waits for another node when it loses one, or that has heartbeats, is told at which sites nothing does so or reads them; --no-requeue beside the
// former is refused.
func TestOnlyRented(t *testing.T) {
	var sites []*federation.Site
	for name, version := range map[federation.SiteName]string{"alpha": "24.11.5", "aws": federation.OwnVersion} {
		s := &federation.Site{Seen: &federation.Observation{Version: version}}
		s.Name = name
		sites = append(sites, s)
	}
	for _, c := range []struct {
		fed  sbatch.Fed
		says bool
	}{
		{sbatch.Fed{OnNodeLoss: "wait"}, true},
		{sbatch.Fed{OnNodeLoss: "wait:10", Sites: []string{"alpha", "aws"}}, true},
		{sbatch.Fed{OnNodeLoss: "wait", Sites: []string{"aws"}}, false},
		{sbatch.Fed{OnNodeLoss: "wait", NotSites: []string{"alpha"}}, false},
		{sbatch.Fed{OnNodeLoss: "shrink"}, false},
		{sbatch.Fed{Heartbeat: "beat-%n"}, true},
		{sbatch.Fed{Heartbeat: "beat-%n", Sites: []string{"aws"}}, false},
	} {
		text := strings.Join(onlyRented(&sbatch.Spec{Fed: &c.fed}, sites), " ")
		if strings.Contains(text, "at alpha is queued again") != (c.says && c.fed.OnNodeLoss != "") || strings.Contains(text, "reads the file at alpha") != (c.fed.Heartbeat != "" && c.says) || strings.Contains(text, "aws") {
			t.Errorf("%+v: %q", c.fed, text)
		}
	}
	if err := checkLoss(&sbatch.Spec{Fed: &sbatch.Fed{OnNodeLoss: "wait"}, Requeue: new(false)}); err == nil || !strings.Contains(err.Error(), "--no-requeue") {
		t.Errorf("--no-requeue beside it: %v", err)
	}
}
