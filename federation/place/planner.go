package place

import "fsub/federation"

// Planner asks new Worlds about snapshots, and remembers between them what the observations mean. It must not be used by two goroutines at a
// time. The zero Planner is ready for use.
type Planner struct {
	models map[*federation.Observation]*model
	w      *World
}

// Plan is the function [Plan]; the memory changes nothing but the time it takes.
func (k *Planner) Plan(s federation.Snapshot, p Policy) federation.Plan { return k.world(&s, p).Plan() }

// Judge is [World.Judge] of a snapshot.
func (k *Planner) Judge(s federation.Snapshot, p Policy, job *federation.Job) federation.Decision {
	return k.world(&s, p).Judge(job)
}

// Try is [World.Try] of a snapshot.
func (k *Planner) Try(s federation.Snapshot, p Policy, job *federation.Job) federation.Trial {
	s.Jobs = nil
	return k.world(&s, p).Try(job)
}

// Guard is [World.Guard] of whatever World do asks.
func (k *Planner) Guard(do func()) *Fault {
	f := guard(&k.w, do)
	if f != nil {
		k.models = nil
	}
	return f
}

func (k *Planner) world(s *federation.Snapshot, p Policy) *World {
	w := newWorldOf(s, p)
	k.w = w
	for _, st := range w.sites {
		if m := k.models[st.site.Seen]; m != nil {
			st.model, st.read = m, st.site.Seen
			st.timely = m.timely()
		}
	}
	w.read()
	k.models = make(map[*federation.Observation]*model, len(w.sites))
	for _, st := range w.sites {
		if st.model != nil {
			k.models[st.read] = st.model
		}
	}
	return w
}
