package config

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"fsub/federation/health"
	"fsub/federation/idle"
)

// Health is what is different of the rules of health, and who is told.
type Health struct {
	// Nothing is suspected, drained or held by itself.
	Off bool `yaml:"off,omitempty"`
	// What is different of some rules, by their names: see fed health rules.
	Rules map[string]Rule `yaml:"rules,omitempty"`
	// The rule idle-held: jobs that hold GPUs and do not use them.
	Idle Idle `yaml:"idle,omitempty"`
	// A job that dies within its first minute, by an exit code or signal of its own, runs again on another node if others tell that its node is
	// to blame. Without this key that holds for jobs of sbatch --requeue only: Slurm never runs such a job again.
	RerunEarly bool `yaml:"rerun_early,omitempty"`
	// Program, with its first arguments, that is run for each drain, held job and breaker that opens. It gets
	// what fed health history --json prints of it on its standard input.
	Notify []string `yaml:"notify,omitempty"`
	// Address that the same is posted to: http://... or https://...
	Webhook string `yaml:"webhook,omitempty"`
}

// Rule replaces parts of one rule of health.
type Rule struct {
	// off, notify, suspect or drain; of rules about jobs off, notify, hold or end.
	Action health.Act `yaml:"action,omitempty"`
	// How many different jobs must have failed.
	Jobs int `yaml:"jobs,omitempty"`
	// Nodes of a pool that may be drained within an hour; never more than a tenth of it, but one.
	Limit int `yaml:"limit,omitempty"`
	// How long a suspicion lasts.
	For time.Duration `yaml:"for,omitempty"`
	// How far back failures count.
	Within time.Duration `yaml:"within,omitempty"`
}

// Idle is when the rule idle-held finds a job, and what follows. Only jobs whose use is known are found: on rented machines and in local pools, and at Slurm
// sites with use.
type Idle struct {
	// Nobody is told.
	Off bool `yaml:"off,omitempty"`
	// Percent: below that a job's GPUs are idle; 5 if not set.
	GPUBelow float64 `yaml:"gpu_below,omitempty"`
	// Percent: below that the CPUs of a job without GPUs are idle. Not set: CPUs do not count.
	CPUBelow float64 `yaml:"cpu_below,omitempty"`
	// How long a job is idle before its user is told; after so long again its account's coordinators are, and after that act follows. 1h if not set.
	For time.Duration `yaml:"for,omitempty"`
	// What is done at last to jobs of some QOS: requeue or cancel. Others are only told of.
	Act map[string]idle.Act `yaml:"act,omitempty"`
}

func (c *Idle) check() error {
	switch {
	case c.GPUBelow < 0 || c.GPUBelow > 100 || c.CPUBelow < 0 || c.CPUBelow > 100:
		return fmt.Errorf("gpu_below and cpu_below are percentages from 0 to 100 (off: true switches the rule off)")
	case c.For < 0 || c.For > 0 && c.For < 10*time.Second:
		return fmt.Errorf("invalid for %s: want at least 10s (jobs that load data or compile are idle for half an hour)", c.For)
	}
	for qos, act := range c.Act {
		if act != idle.Requeue && act != idle.Cancel {
			return fmt.Errorf("act: QOS %s: invalid action %q: want requeue or cancel", qos, act)
		}
	}
	return nil
}

// IdleRule is the rule idle-held in force. The configuration was checked.
func (c *Health) IdleRule() idle.Rule {
	if c.Off || c.Idle.Off {
		return idle.Rule{}
	}
	r := idle.Default()
	r.GPU, r.For = cmp.Or(c.Idle.GPUBelow, r.GPU), cmp.Or(c.Idle.For, r.For)
	r.CPU, r.Act = c.Idle.CPUBelow, c.Idle.Act
	return r
}

func (c *Health) check() error {
	if err := c.Idle.check(); err != nil {
		return fmt.Errorf("health: idle: %w", err)
	}
	if _, err := c.read(); err != nil {
		return fmt.Errorf("health: %w", err)
	}
	if len(c.Notify) > 0 && !filepath.IsAbs(c.Notify[0]) {
		return fmt.Errorf("health: notify: invalid program %q: want an absolute path", c.Notify[0])
	}
	if c.Webhook != "" {
		if u, err := url.Parse(c.Webhook); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("health: invalid webhook %q: want http://HOST/PATH or https://HOST/PATH", c.Webhook)
		}
	}
	return nil
}

func (c *Health) read() ([]health.Rule, error) {
	by := map[string]health.Override{}
	for name, r := range c.Rules {
		by[name] = health.Override{Act: r.Action, Jobs: r.Jobs, Limit: r.Limit, For: r.For, Within: r.Within}
	}
	rules, err := health.WithOverrides(by)
	for i := range rules {
		if c.Off {
			rules[i].Act = health.ActOff
		}
	}
	return rules, err
}

// Effective are those in force. The configuration was checked.
func (c *Health) Effective() []health.Rule {
	rules, _ := c.read()
	return rules
}
