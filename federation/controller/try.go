package controller

import "fsub/federation"

// Try tells when and where j would start if it were submitted now, by the sites as published. It fails as Judge does.
func (c *Controller) Try(j *federation.Job) (t federation.Trial, err error) {
	if err := c.Judge(j); err != nil {
		return federation.Trial{}, err
	}
	s := federation.Snapshot{Now: c.now().UTC(), Sites: c.view.sites.Load().sites}
	err = c.askPlanner(func(p planner) { t = p.Try(s, c.policy, j) })
	return t, err
}
