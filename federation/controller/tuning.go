package controller

import (
	"fsub/federation/health"
	"fsub/federation/place"
)

// Tuning is what of a Config can change while the controller runs.
type Tuning struct {
	Policy     place.Policy
	Rules      []health.Rule
	RerunEarly bool
	MaxRequeue int
}

// Tune has the controller go on by other settings from its next round on. It reads the store again then, as a new daemon would.
func (c *Controller) Tune(t Tuning) {
	c.view.joinMu.Lock()
	c.view.tuning = &t
	c.view.joinMu.Unlock()
	c.Wake()
}

func (c *Controller) tune(t *Tuning) {
	c.cfg.Policy, c.cfg.Rules, c.cfg.RerunEarly = t.Policy, t.Rules, t.RerunEarly
	if c.cfg.MaxRequeue = t.MaxRequeue; c.cfg.MaxRequeue == 0 {
		c.cfg.MaxRequeue = defaultMaxRequeue
	}
	c.view.askMu.Lock()
	c.view.world = place.NewWorld(t.Policy, 0)
	c.view.askMu.Unlock()
	c.asides.stale = true
}
