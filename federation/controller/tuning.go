package controller

import (
	"fsub/federation/health"
	"fsub/federation/idle"
	"fsub/federation/move"
	"fsub/federation/place"
)

// Tuning is what of a Config can change while the controller runs.
type Tuning struct {
	Policy     place.Policy
	Rules      []health.Rule
	Idle       idle.Rule
	Moves      move.Rule
	RerunEarly bool
	MaxRequeue int

	KillInvalidDepend bool
}

// Tune has the controller go on by other settings from its next round on. It reads the store again then, as a new daemon would.
func (v *View) Tune(t Tuning) {
	v.joinMu.Lock()
	v.tuning = &t
	v.joinMu.Unlock()
	v.Wake()
}

func (c *Controller) tune(t *Tuning) {
	c.cfg.Policy, c.cfg.Rules, c.cfg.Idle, c.cfg.Moves, c.cfg.RerunEarly, c.cfg.KillInvalidDepend = t.Policy, t.Rules, t.Idle, t.Moves, t.RerunEarly, t.KillInvalidDepend
	if c.cfg.MaxRequeue = t.MaxRequeue; c.cfg.MaxRequeue == 0 {
		c.cfg.MaxRequeue = defaultMaxRequeue
	}
	c.askMu.Lock()
	c.world = place.NewWorld(t.Policy, 0)
	c.askMu.Unlock()
	c.View.limits.Store(&limits{book: c.cfg.Quota, fraction: t.Policy.RunFraction})
	c.asides.stale = true
}
