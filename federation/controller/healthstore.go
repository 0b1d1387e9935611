package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/health"
)

// How the rules of health outlive the daemon, and are told of health checks and resets.

// load reads what the rules remember.
func (hr *healthRules) load(ctx context.Context) error {
	if hr.records == nil {
		return nil
	}
	records, err := hr.records.HealthRecords(ctx)
	if err != nil {
		return err
	}
	var nodes []health.NodeState
	var jobs []health.JobState
	var breakers []health.Breaker
	for _, r := range records {
		switch r.Kind {
		case health.RecordNode:
			err = decode(r, &nodes)
		case health.RecordJob:
			err = decode(r, &jobs)
		case health.RecordBreaker:
			err = decode(r, &breakers)
		}
		if err != nil {
			return err
		}
	}
	hr.engine.Load(nodes, jobs, breakers)
	return hr.takeTold(records)
}

func decode[T any](r health.Record, into *[]T) error {
	var v T
	if err := json.Unmarshal(r.Data, &v); err != nil {
		return fmt.Errorf("what is known of %s %s: %w", r.Kind, r.Name, err)
	}
	*into = append(*into, v)
	return nil
}

// read takes in what others have told since.
func (hr *healthRules) read(ctx context.Context) error {
	if hr.records == nil {
		return nil
	}
	records, err := hr.records.HealthRecords(ctx)
	if err != nil {
		return err
	}
	return hr.takeTold(records)
}

// takeTold takes in resets of breakers and findings of health checks.
func (hr *healthRules) takeTold(records []health.Record) error {
	told := map[federation.SiteName]bool{}
	for _, r := range records {
		switch r.Kind {
		case health.RecordReset:
			var by health.ResetBy
			if err := json.Unmarshal(r.Data, &by); err != nil {
				return err
			}
			for _, name := range hr.engine.Reset(by.Breaker, hr.now()) {
				hr.carryOut(health.Finding{At: hr.now(), Rule: name, Act: health.ActNotify, Why: "breaker reset by " + by.Who})
			}
		case health.RecordCheck:
			var checks []health.Check
			if err := json.Unmarshal(r.Data, &checks); err != nil {
				return err
			}
			site, name, _ := strings.Cut(r.Name, "/")
			hr.checked(federation.NodeID{Site: federation.SiteName(site), Name: name}, checks)
			told[federation.SiteName(site)] = true
		default:
			continue
		}
		hr.batch.health(health.Record{Kind: r.Kind, Name: r.Name})
	}
	for name := range told {
		if s := hr.sites.byName[name]; s != nil {
			hr.nodes.show(s)
		}
	}
	hr.write()
	return nil
}

func (hr *healthRules) checked(id federation.NodeID, checks []health.Check) {
	before := hr.engine.Fabric.PortsDown(id.Site)
	hr.carryOutAll(hr.engine.Checked(id, checks, hr.now()))
	if before || hr.engine.Fabric.PortsDown(id.Site) {
		hr.next, hr.report.changed = time.Time{}, true // when gangs try again may have changed
	}
}

// write puts what the rules remember into the batch.
func (hr *healthRules) write() {
	changed := hr.engine.TakeChanged()
	if hr.records == nil {
		return
	}
	add := func(kind health.RecordKind, name string, v any, gone bool) {
		r := health.Record{Kind: kind, Name: name}
		if !gone {
			r.Data, _ = json.Marshal(v)
		}
		hr.batch.health(r)
	}
	for _, id := range slices.SortedFunc(maps.Keys(changed.Nodes), func(a, b federation.NodeID) int { return strings.Compare(a.String(), b.String()) }) {
		n := hr.engine.Node(id)
		add(health.RecordNode, id.String(), n, n == nil)
	}
	for _, id := range slices.Sorted(maps.Keys(changed.Jobs)) {
		j := hr.engine.Job(id)
		add(health.RecordJob, strconv.FormatUint(uint64(id), 10), j, j == nil)
	}
	if changed.Breakers {
		for _, b := range hr.engine.Breakers() {
			add(health.RecordBreaker, b.Name, &b, false)
			hr.metrics.breaker(b.Name, !b.Open.IsZero())
		}
	}
}
