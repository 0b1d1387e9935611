package cloud

import (
	"time"

	"fsub/federation"
)

// meter tells what became of time in which a machine was up and no job was charged for it: see driver.Machine.
type meter struct {
	GangWait federation.Money `json:"gang_wait,omitempty"`
	Drained  federation.Money `json:"drained,omitempty"`
	// DrainedFrom is since when it is drained and has no job; zero: it is not so.
	DrainedFrom time.Time `json:"drained_from,omitzero"`
}

// waited counts that a run begins, or is given up: until then its machines have waited for each other. It reports whether this one has.
func (m *machine) waited(r *run, k *member, now time.Time) bool {
	if r.Taken.IsZero() || m.Ready.IsZero() {
		return false
	}
	from := r.Taken
	if m.Ready.After(from) {
		from = m.Ready
	}
	wait := m.Price.For(time.Duration(float64(now.Sub(from)) * m.part(k)))
	m.Meter.GangWait += wait
	return wait > 0
}

// countDrained counts for how long a machine that may get no job has none. It is called whenever either changes.
func (m *machine) countDrained(now time.Time) {
	is := m.Held != "" && len(m.runs) == 0 && !m.Ready.IsZero() && m.State != machineEnded
	switch k := &m.Meter; {
	case is && k.DrainedFrom.IsZero():
		k.DrainedFrom = now
	case !is && !k.DrainedFrom.IsZero():
		k.Drained += m.Price.For(now.Sub(k.DrainedFrom))
		k.DrainedFrom = time.Time{}
	}
}
