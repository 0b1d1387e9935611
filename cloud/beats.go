package cloud

import (
	"context"
	"slices"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/federation/heartbeat"
)

// heartbeats is what an agent told last of those of its runs.
type heartbeats struct {
	at time.Time
	of []agentapi.Beat
}

// beatTeller implements driver.BeatTeller from what the agents told last.
type beatTeller struct{ *Driver }

// Beats implements driver.BeatTeller.
func (d beatTeller) Beats(_ context.Context, jobs []federation.JobRef) (heartbeat.Of, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := heartbeat.Of{}
	for _, ref := range jobs {
		j := d.jobs.byID[ref.ID]
		if j != nil && j.run != nil && j.run.End == nil && (ref.Key == "" || j.Key == ref.Key) {
			out[ref.ID] = j.run.beats()
		}
	}
	return out, nil
}

// BeatsEvery implements driver.BeatTeller.
func (d beatTeller) BeatsEvery() time.Duration { return d.t.Beats }

// beats are those of a run's machines. When they were written is by the daemon's clock, but for the time that a report takes.
func (r *run) beats() heartbeat.Beats {
	b := heartbeat.Beats{Nodes: len(r.machines)}
	for _, m := range r.machines {
		if k := slices.IndexFunc(m.beats.of, func(one agentapi.Beat) bool { return one.Run == r.ID }); k >= 0 {
			one := &m.beats.of[k]
			b.Of = append(b.Of, heartbeat.Beat{Node: m.Name, Rank: one.Node, Step: one.Step, Work: one.Work, At: m.beats.at.Add(-one.Age)})
		}
	}
	return b
}
