package place

import "fsub/federation"

// Planner asks one World about snapshots: what it made of the sites and of kinds of jobs lasts from one to the next. It must not be used by two
// goroutines at a time. The zero Planner is ready for use.
type Planner struct{ w *World }

// Plan is the function [Plan]; the memory changes nothing but the time it takes.
func (k *Planner) Plan(s federation.Snapshot, p Policy) federation.Plan { return k.world(&s, p).Plan() }

// Judge is [World.Judge] of a snapshot.
func (k *Planner) Judge(s federation.Snapshot, p Policy, job *federation.Job) federation.Decision {
	s.Jobs = nil
	return k.world(&s, p).Judge(job)
}

// Try is [World.Try] of a snapshot.
func (k *Planner) Try(s federation.Snapshot, p Policy, job *federation.Job) federation.Trial {
	s.Jobs = nil
	return k.world(&s, p).Try(job)
}

// Guard is [World.Guard] of the World that do asks.
func (k *Planner) Guard(do func()) *Fault { return guard(&k.w, do) }

func (k *Planner) world(s *federation.Snapshot, p Policy) *World {
	if k.w == nil || k.w.policy != p.withDefaults() || k.w.seed != s.Seed || len(k.w.sites) > len(s.Sites) {
		k.w = NewWorld(p, s.Seed)
	}
	k.w.take(s)
	return k.w
}
