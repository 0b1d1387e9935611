package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/decision"
	"fsub/federation/journal"
	"fsub/federation/move"
	"fsub/sbatch"
)

// departing is the rule by which running jobs are moved in a history with moves.
func departing() move.Rule {
	r := move.Default()
	r.Gangs, r.Margin, r.Ahead, r.Between, r.PerJob, r.PerHour = move.On, 0, time.Minute, 3*time.Minute, 2, 40
	return r
}

// keep has a job keep a checkpoint that it writes each minute. A gang takes all nodes of a site: others stand in its way nearly always, and most of them find a place elsewhere.
func (w *world) keep(s *sbatch.Spec) {
	if w.cfg.Moves {
		s.Fed = &sbatch.Fed{Keep: []string{"checkpoints"}, Checkpoint: time.Minute}
		s.TimeLimit = 30 * time.Minute
		if s.MinNodes > 1 {
			s.GPUsPerNode, s.MinNodes, s.MaxNodes = "8", 3, 3
		}
	}
}

// maintain plans a maintenance of a site, now and then, and has the jobs of a node moved away.
func (w *world) maintain(ctx context.Context) error {
	now := w.clock.Now()
	if !w.cfg.Moves || now.Before(w.nextMaint) || len(w.acked) == w.cfg.Jobs {
		return nil
	}
	w.nextMaint = now.Add(5 * time.Minute)
	from := now.Add(4 * time.Minute)
	site := federation.SiteName(w.sites[len(w.acked)%len(w.sites)].Name())
	drain := federation.NodeRecord{Node: federation.NodeID{Site: site, Name: string(site) + "1"}, Wish: federation.WishDrain, Owner: "op", Reason: "new fan", Jobs: string(action.Move), Since: now, Until: now.Add(2 * time.Minute)}
	if err := w.store.Commit(ctx, &journal.Batch{Nodes: []federation.NodeRecord{drain}}); err != nil {
		return err
	}
	return w.store.AddMaintenance(ctx, &federation.Maintenance{Site: federation.SiteName(w.sites[w.rng.IntN(len(w.sites))].Name()), From: from, To: from.Add(time.Minute), Reason: "new pumps", By: "op", At: now})
}

// checkMoves goes through the moves that were decided: each saves more than it costs, none comes too soon after another of its job or is one too many, and where the daemon has never died none is
// one too many of an hour. Of those that an operator has asked for the last holds alone. A moved run counts as asked to end.
func (w *world) checkMoves(ctx context.Context) error {
	if !w.cfg.Moves {
		return nil
	}
	rule := departing()
	var all []time.Time
	for _, id := range w.acked {
		attempts, err := w.store.Attempts(ctx, id)
		if err != nil {
			return err
		}
		var last *decision.Moved
		for i := range attempts {
			m := attempts[i].Moved
			if m == nil || last != nil && m.At.Equal(last.At) {
				continue
			}
			if last != nil && m.Count != last.Count+1 {
				return fmt.Errorf("job %d was moved after %+v by %+v", id, last, m)
			}
			emptied := len(m.Saves) == 0
			// Of those for a gang, all together save enough.
			if saves, costs := decision.Sum(m.Saves), decision.Sum(m.Costs); !emptied && saves <= costs || m.Kind == "" {
				return fmt.Errorf("job %d was moved, which saves %v and costs %v: %+v", id, saves, costs, m)
			}
			if !emptied && (last != nil && m.At.Sub(last.At) < rule.Between || m.Count > rule.PerJob) {
				return fmt.Errorf("job %d was moved after %+v by %+v", id, last, m)
			}
			last, all = m, append(all, m.At)
			w.asked[id]++
			w.report.Departed++
			switch {
			case m.Kind == move.Gang:
				w.report.MadeRoom++
			case emptied:
				w.report.Emptied++
			}
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	for i := rule.PerHour; i < len(all) && w.report.Crashes == 0; i++ {
		if all[i].Sub(all[i-rule.PerHour]) < time.Hour {
			return fmt.Errorf("more than %d moves within an hour, from %s on", rule.PerHour, all[i-rule.PerHour])
		}
	}
	return nil
}
