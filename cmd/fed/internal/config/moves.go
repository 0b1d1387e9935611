package config

import (
	"fmt"
	"time"

	"fsub/federation/decision"
	"fsub/federation/move"
)

// Moves is when running jobs are moved that have said --keep. See docs/submitting.md.
type Moves struct {
	// Before a maintenance that is planned at their site, or of Slurm's own (a reservation with MAINT), and where a site drains: on, off, or dry (it is only logged and counted).
	Windows move.Act `yaml:"windows"`
	// To where the rest of the run costs less, or is less likely to be taken back: on, off or dry.
	Prices move.Act `yaml:"prices"`
	// To make room for a gang that waits, where the moves cost less than its wait: on, off or dry.
	Gangs move.Act `yaml:"gangs"`
	// Dollars that a move saves at least, after its costs, where no window ends the run.
	Margin float64 `yaml:"margin"`
	// How many times its costs a move saves at least.
	Times float64 `yaml:"times"`
	// How long a job that was moved is left alone.
	Between time.Duration `yaml:"between"`
	// How often a job is moved at most.
	PerJob int `yaml:"per_job"`
	// How many moves begin within an hour at most.
	PerHour int `yaml:"per_hour"`
	// How long before a window jobs leave, beside the time that they need for a checkpoint and its copy, and until others have left by per_hour.
	Ahead time.Duration `yaml:"ahead"`
	// How long after a site was set to DRAIN or DRAIN+REMOVE what runs there counts as ended by that. 0: a drain moves nobody.
	Drain time.Duration `yaml:"drain"`
}

func defaultMoves() Moves {
	r := move.Default()
	return Moves{Windows: r.Windows, Prices: r.Prices, Gangs: r.Gangs, Margin: float64(r.Margin), Times: r.Times, Between: r.Between, PerJob: r.PerJob, PerHour: r.PerHour, Ahead: r.Ahead, Drain: r.Drain}
}

// Rule is that rule.
func (c *Moves) Rule() move.Rule {
	return move.Rule{Windows: c.Windows, Prices: c.Prices, Gangs: c.Gangs, Margin: decision.Dollars(c.Margin), Times: c.Times, Between: c.Between, PerJob: c.PerJob, PerHour: c.PerHour, Ahead: c.Ahead, Drain: c.Drain}
}

func (c *Moves) check() error {
	for _, a := range []struct {
		key string
		act move.Act
	}{{"windows", c.Windows}, {"prices", c.Prices}, {"gangs", c.Gangs}} {
		if a.act != move.On && a.act != move.Off && a.act != move.Dry {
			return fmt.Errorf("moves: invalid %s %q: want on, off or dry", a.key, a.act)
		}
	}
	switch {
	case !number(c.Margin):
		return fmt.Errorf("moves: invalid margin %v: want dollars, 0 or more", c.Margin)
	case !number(c.Times) || c.Times < 1:
		return fmt.Errorf("moves: invalid times %v: want 1 or more, or a job would be moved for less than that costs", c.Times)
	case c.Between < time.Minute:
		return fmt.Errorf("moves: invalid between %s: want at least 1m, so that no job goes back at once", c.Between)
	case c.PerJob < 1 || c.PerHour < 1:
		return fmt.Errorf("moves: invalid per_job %d or per_hour %d: want 1 or more (windows, prices and gangs: off moves nobody)", c.PerJob, c.PerHour)
	case c.Ahead < 0 || c.Drain < 0:
		return fmt.Errorf("moves: invalid ahead %s or drain %s: want a duration", c.Ahead, c.Drain)
	}
	return nil
}
