package config

import (
	"fsub/federation/decision"
	"fsub/federation/place"
)

// RequeueLimit translates to the controller's field, where 0 stands for the default; in the
// configuration it means never.
func (c *Config) RequeueLimit() int {
	return orNone(c.MaxRequeue)
}

func (c *Config) PlacementPolicy() place.Policy {
	p := place.DefaultPolicy()
	// In place.Policy 0 stands for the default. In a configuration, which has the defaults already, it is a 0 that somebody wrote.
	p.RunFraction, p.Backlog, p.BindAhead, p.LostWork = c.Policy.RunFraction, orNone(c.Policy.Backlog), max(c.Policy.BindAhead, 1), max(c.Policy.LostWork, 1)
	p.WaitJobHour, p.WaitGPUHour = decision.Dollars(orNone(c.Policy.WaitJobHour)), decision.Dollars(orNone(c.Policy.WaitGPUHour))
	p.WaitQOS = c.Policy.WaitQOS
	p.MoveMargin = decision.Dollars(c.Policy.MoveMargin)
	if c.Policy.MoveMargin == 0 { // any saving will do; in place.Policy it stands for the default
		p.MoveMargin = 1e-6
	}
	p.Store = c.Blobs.Store()
	return p
}

// orNone is x, or -1 for 0: where 0 stands for the default, that is none.
func orNone[T int | float64](x T) T {
	if x == 0 {
		return -1
	}
	return x
}
