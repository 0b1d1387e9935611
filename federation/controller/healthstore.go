package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/federation/health"
)

// How the rules of health outlive the daemon, and are told of health checks and resets.

// load reads what the rules remember.
func (c *healthRules) load(ctx context.Context) error {
	if c.records == nil {
		return nil
	}
	records, err := c.records.HealthRecords(ctx)
	if err != nil {
		return err
	}
	var nodes []health.NodeState
	var jobs []health.JobState
	var breakers []health.Breaker
	for _, r := range records {
		switch r.Kind {
		case federation.HealthNode:
			err = decode(r, &nodes)
		case federation.HealthJob:
			err = decode(r, &jobs)
		case federation.HealthBreaker:
			err = decode(r, &breakers)
		}
		if err != nil {
			return err
		}
	}
	c.engine.Load(nodes, jobs, breakers)
	return c.takeTold(records)
}

func decode[T any](r federation.HealthRecord, into *[]T) error {
	var v T
	if err := json.Unmarshal(r.Data, &v); err != nil {
		return fmt.Errorf("what is known of %s %s: %w", r.Kind, r.Name, err)
	}
	*into = append(*into, v)
	return nil
}

// read takes in what others have told since.
func (c *healthRules) read(ctx context.Context) error {
	if c.records == nil {
		return nil
	}
	records, err := c.records.HealthRecords(ctx)
	if err != nil {
		return err
	}
	return c.takeTold(records)
}

// takeTold takes in resets of breakers and findings of health checks.
func (c *healthRules) takeTold(records []federation.HealthRecord) error {
	for _, r := range records {
		switch r.Kind {
		case federation.HealthReset:
			var by health.ResetBy
			if err := json.Unmarshal(r.Data, &by); err != nil {
				return err
			}
			for _, name := range c.engine.Reset(by.Breaker, c.now()) {
				c.carryOut(health.Finding{At: c.now(), Rule: name, Act: health.ActNotify, Why: "breaker reset by " + by.Who})
			}
		case federation.HealthCheck:
			var checks []health.Check
			if err := json.Unmarshal(r.Data, &checks); err != nil {
				return err
			}
			site, name, _ := strings.Cut(r.Name, "/")
			c.checked(federation.NodeID{Site: federation.SiteName(site), Name: name}, checks)
		default:
			continue
		}
		c.batch.health(federation.HealthRecord{Kind: r.Kind, Name: r.Name})
	}
	c.write()
	return nil
}

func (c *healthRules) checked(id federation.NodeID, checks []health.Check) {
	c.carryOutAll(c.engine.Checked(id, checks, c.now()))
}

// write puts what the rules remember into the batch.
func (c *healthRules) write() {
	changed := c.engine.TakeChanged()
	if c.records == nil {
		return
	}
	add := func(kind federation.HealthKind, name string, v any, gone bool) {
		r := federation.HealthRecord{Kind: kind, Name: name}
		if !gone {
			r.Data, _ = json.Marshal(v)
		}
		c.batch.health(r)
	}
	for _, id := range slices.SortedFunc(maps.Keys(changed.Nodes), func(a, b federation.NodeID) int { return strings.Compare(a.String(), b.String()) }) {
		n := c.engine.Node(id)
		add(federation.HealthNode, id.String(), n, n == nil)
	}
	for _, id := range slices.Sorted(maps.Keys(changed.Jobs)) {
		j := c.engine.Job(id)
		add(federation.HealthJob, strconv.FormatUint(uint64(id), 10), j, j == nil)
	}
	if changed.Breakers {
		for _, b := range c.engine.Breakers() {
			add(federation.HealthBreaker, b.Name, &b, false)
			c.metrics.breaker(b.Name, !b.Open.IsZero())
		}
	}
}
