package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"time"

	"fsub/federation/health"
)

// HealthConfig is what is different of the rules of health, and who is told.
type HealthConfig struct {
	// Nothing is suspected, drained or held by itself.
	Off bool `yaml:"off,omitempty"`
	// What is different of some rules, by their names: see fed health rules.
	Rules map[string]HealthRule `yaml:"rules,omitempty"`
	// A job that dies within its first minute, by an exit code or signal of its own, runs again on another node if others tell that its node is
	// to blame. Without this key that holds for jobs of sbatch --requeue only: Slurm never runs such a job again.
	RerunEarly bool `yaml:"rerun_early,omitempty"`
	// Program, with its first arguments, that is run for each drain, held job and breaker that opens. It gets
	// what fed health history --json prints of it on its standard input.
	Notify []string `yaml:"notify,omitempty"`
	// Address that the same is posted to: http://... or https://...
	Webhook string `yaml:"webhook,omitempty"`
}

// HealthRule replaces parts of one rule of health.
type HealthRule struct {
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

func (c *HealthConfig) check() error {
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

func (c *HealthConfig) read() ([]health.Rule, error) {
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

// rules are those in force. The configuration was checked.
func (c *HealthConfig) rules() []health.Rule {
	rules, _ := c.read()
	return rules
}

// notifyTime bounds one notification.
const notifyTime = 30 * time.Second

// notifier returns what passes findings on, nil if nobody is to be told. It returns at once; where findings come faster than they are taken, some are left
// out and that is logged: the history has them all.
func (c *HealthConfig) notifier(log *slog.Logger) func(health.Finding) {
	if len(c.Notify) == 0 && c.Webhook == "" {
		return nil
	}
	queue := make(chan health.Finding, 100)
	go func() {
		for f := range queue {
			text, err := json.Marshal(f)
			if err == nil {
				err = c.tell(text)
			}
			if err != nil {
				log.Error("notify of a finding", "rule", f.Rule, "err", err)
			}
		}
	}()
	return func(f health.Finding) {
		select {
		case queue <- f:
		default:
			log.Error("notify of a finding: too many at once", "rule", f.Rule)
		}
	}
}

func (c *HealthConfig) tell(text []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), notifyTime)
	defer cancel()
	if len(c.Notify) > 0 {
		cmd := exec.CommandContext(ctx, c.Notify[0], c.Notify[1:]...)
		cmd.Stdin = bytes.NewReader(text)
		cmd.WaitDelay = time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", c.Notify[0], err, bytes.TrimSpace(out[:min(len(out), 500)]))
		}
	}
	if c.Webhook == "" {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, "POST", c.Webhook, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s answers %s", c.Webhook, resp.Status)
	}
	return nil
}
