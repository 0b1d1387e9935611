package controller

import "fsub/federation"

// Try tells when and where j would start if it were submitted now, by the sites as published. It fails as Judge does.
func (c *Controller) Try(j *federation.Job) (federation.Trial, error) {
	if err := c.Judge(j); err != nil {
		return federation.Trial{}, err
	}
	s := federation.Snapshot{Now: c.now().UTC(), Sites: c.view.sites.Load().sites}
	c.view.planMu.Lock()
	defer c.view.planMu.Unlock()
	return c.view.planner.Try(s, c.policy, j), nil
}
