package cloud

import (
	"slices"
	"time"

	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/reasons"
)

// gang is a request for machines, in memory.
type gang struct {
	gangRecord
	pool     *pool
	group    *nodeGroup
	machines []*machine
	calling  bool // Create is being called, or will be
	console  consoleState
}

func (g *gang) Record() (records.PoolRecord, any) {
	r := records.PoolRecord{Kind: records.PoolGang, ID: g.Token}
	if g.State == gangOver && !slices.ContainsFunc(g.machines, func(m *machine) bool { return m.State != machineEnded }) {
		for _, m := range g.machines {
			if m.Ended.After(r.Closed) {
				r.Closed = m.Ended
			}
		}
		if r.Closed.IsZero() {
			r.Closed = g.Asked
		}
	}
	return r, &g.gangRecord
}

// registers reports whether a machine of the gang has still to register, and so may do so with its token.
func (g *gang) registers() bool {
	return g.State != gangOver && slices.ContainsFunc(g.machines, func(m *machine) bool { return m.State == machineAsked || m.State == machineBooting })
}

// tellJobs says why the jobs that wait for a gang do.
func (g *gang) tellJobs(reason reasons.Reason, detail string) {
	for _, m := range g.machines {
		for _, r := range m.runs {
			if j := r.job; j.State == federation.Pending && j.Reason != reason {
				j.Reason, j.Detail = reason, detail
				g.pool.fleet.put(j)
			}
		}
	}
}

// again is how long a gang waits that so many daemons have taken up without an answer.
func (g *gang) again() time.Duration {
	if g.Lives < 2 {
		return 0
	}
	return min(time.Second<<min(g.Lives-1, 10), livesMost)
}
