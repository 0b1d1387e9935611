package place

import (
	"slices"
	"strings"

	"fsub/federation"
)

// At a site that others use too, a job in the federation's queue gains neither age nor a reservation, and nodes that become free go to jobs in
// the site's own queue. So a job whose turn it is joins that queue early, within the site's backlog. No user or account may take more of
// the backlog than it leaves free.

// sharedPools reports for each pool of a model whether jobs of others wait for its nodes; nil if there are no such jobs.
func sharedPools(m *model) []bool {
	if m == nil {
		return nil
	}
	var asked []string
	any := false // a job waits, and the site does not say in which partition
	for i := range m.obs.Waiting {
		j := &m.obs.Waiting[i]
		switch {
		case j.Ours || j.Idle:
		case j.Partition == "":
			any = true
		case len(asked) == 0 || asked[len(asked)-1] != j.Partition:
			asked = append(asked, j.Partition)
		}
	}
	if !any && asked == nil {
		return nil
	}
	slices.Sort(asked)
	var names []string
	for _, list := range slices.Compact(asked) {
		names = append(names, strings.Split(list, ",")...)
	}
	cells := make([]bool, len(m.cells))
	for p := range m.pools {
		if any || slices.Contains(names, m.pools[p].Partition) {
			for _, c := range m.cellsOf[p] {
				cells[c] = true
			}
		}
	}
	shared := make([]bool, len(m.pools))
	for p := range shared {
		shared[p] = slices.ContainsFunc(m.cellsOf[p], func(c int32) bool { return cells[c] })
	}
	return shared
}

// holders counts jobs of ours that wait at a site, by user and by account.
type holders map[holder]int

type holder struct {
	account bool
	name    string
}

// holdersOf are the user of a job and the account that it is charged to, if that is known.
func holdersOf(st *siteState, job *federation.Job) []holder {
	who := []holder{{name: job.User}, {account: true, name: accessOf(st.site, job).account}}
	if who[1].name == "" {
		who = who[:1]
	}
	return who
}

// queueUp notes that a job of ours waits at the site.
func (st *siteState) queueUp(job *federation.Job) {
	st.backlog++
	if st.shared == nil {
		return
	}
	if st.holders == nil {
		st.holders = holders{}
	}
	for _, h := range holdersOf(st, job) {
		st.holders[h]++
	}
}

// mayQueueUp reports whether a job may wait at a candidate's site, which others use too.
func (c *candidate) mayQueueUp(job *federation.Job) bool {
	st := c.site
	left := st.limit - st.backlog
	if left <= 0 {
		return false
	}
	for _, h := range holdersOf(st, job) {
		if st.holders[h] >= left {
			return false
		}
	}
	return true
}

// shared reports whether others wait for the candidate's nodes.
func (c *candidate) shared() bool {
	if c.site.shared == nil {
		return false
	}
	for _, part := range c.parts {
		if slices.ContainsFunc(part, (*candidate).shared) {
			return true
		}
	}
	return slices.ContainsFunc(c.pools, func(p int) bool { return c.site.shared[p] })
}
