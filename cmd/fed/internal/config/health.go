package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"fsub/federation/health"
)

// Health is what is different of the rules of health, and who is told.
type Health struct {
	// Nothing is suspected, drained or held by itself.
	Off bool `yaml:"off,omitempty"`
	// What is different of some rules, by their names: see fed health rules.
	Rules map[string]Rule `yaml:"rules,omitempty"`
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

func (c *Health) check() error {
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
