package agent

import (
	"context"
	"path/filepath"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation/health/nodecheck"
)

// checkEvery is how often the machine is looked at, and checkTime how long one look may take.
const checkEvery, checkTime = 5 * time.Minute, 40 * time.Second

// check looks at the machine's devices until it ends. The next poll tells what was found; what to do about it the daemon's rules say. The GPUs that it had at its
// start are those that it must have, and ports that were active once must be active.
func (a *Agent) check(ctx context.Context) {
	has := len(gpus())
	for tick := time.NewTicker(checkEvery); ; {
		within, cancel := context.WithTimeout(ctx, checkTime)
		found := nodecheck.Run(within, nodecheck.Config{GPUs: has, Disks: []string{"/", "/tmp", a.cfg.Dir}, Ports: filepath.Join(a.cfg.Dir, "ports"), Note: true})
		cancel()
		var problems []agentapi.Problem
		for _, f := range found {
			problems = append(problems, agentapi.Problem{Code: f.Code, Text: f.Text, Device: f.Device})
		}
		a.mu.Lock()
		a.problems = problems
		a.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
	}
}
