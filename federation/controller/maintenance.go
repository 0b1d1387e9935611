package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/place"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
)

// upkeep is the maintenance that is planned at sites. Placement sees it as reservations of Slurm's; sites are told by a list of nodes that a job may not have.
type upkeep struct {
	planned map[federation.SiteName][]upkeepOf
}

type upkeepOf struct {
	federation.Maintenance
	names []string // nil: all nodes
}

// read takes in what is planned.
func (u *upkeep) read(ctx context.Context, st federation.SiteStore, now time.Time) error {
	all, err := st.Maintenance(ctx, now)
	if err != nil {
		return err
	}
	u.planned = map[federation.SiteName][]upkeepOf{}
	for _, m := range all {
		names, err := hostlist.Expand(m.Nodes)
		if err != nil { // it was checked when it was planned
			return fmt.Errorf("maintenance %d: %w", m.ID, err)
		}
		u.planned[m.Site] = append(u.planned[m.Site], upkeepOf{m, names})
	}
	return nil
}

// merge is o with the maintenance that is planned at its site. Without any it is o itself; o is not changed.
func (u *upkeep) merge(site federation.SiteName, o *federation.Observation, now time.Time) *federation.Observation {
	merged := o
	for _, m := range u.planned[site] {
		if !m.To.After(now) {
			continue
		}
		if merged == o {
			c := *o
			c.Reservations = slices.Clip(o.Reservations)
			merged = &c
		}
		r := federation.Reservation{Name: m.ReservationName(), Start: m.From, End: m.To, Nodes: m.names, Maint: true}
		if m.names == nil {
			for i := range o.Nodes {
				r.Nodes = append(r.Nodes, o.Nodes[i].Name)
			}
		}
		merged.Reservations = append(merged.Reservations, r)
	}
	return merged
}

// within reports whether a job that starts in an interval, and may run so long, can run into m.
func (m *upkeepOf) within(from, to time.Time, limit time.Duration) bool {
	return from.Before(m.To) && (limit == sbatch.Unlimited || to.Add(limit).After(m.From))
}

// startsWithin is how long a job may wait at its site before it is looked at again whether it would run into a maintenance.
const startsWithin = 10 * time.Minute

// spare has a submission leave out the nodes whose maintenance the job could run into: the site knows nothing of it, and chooses the nodes.
func (u *upkeep) spare(site federation.SiteName, j *federation.Job, limit time.Duration, now time.Time) {
	var names []string
	for _, m := range u.planned[site] {
		if m.names != nil && m.within(now, now.Add(startsWithin), limit) {
			names = append(names, m.names...)
		}
	}
	if len(names) == 0 {
		return
	}
	j.EditSpec(func(spec *sbatch.Spec) {
		spec.Exclude = strings.Trim(spec.Exclude+","+hostlist.Compress(names), ",")
		for i := range spec.Het {
			spec.Het[i].Exclude = strings.Trim(spec.Het[i].Exclude+","+hostlist.Compress(names), ",")
		}
	})
}

// limitAt is how long a job may run at a site.
func limitAt(s *site, j *federation.Job, partition string) time.Duration {
	if limit := j.Spec.TimeLimit; limit > 0 || s.Seen == nil {
		return limit
	}
	for _, p := range s.Seen.Partitions {
		if p.Name == partition && p.DefaultTime > 0 {
			return p.DefaultTime
		}
		if p.Name == partition && p.MaxTime > 0 {
			return p.MaxTime
		}
	}
	return sbatch.Unlimited
}

// showUpkeep puts what is planned into what placement and people see of the sites.
func (ns *nodes) showUpkeep() {
	for _, s := range ns.sites.all {
		if n := ns.of(s.Name); n.raw != nil {
			if seen := ns.seen(s, n.raw); !seen.Same(s.Seen) {
				s.Seen, s.Pools = seen, place.Pools(s.Name, seen)
				ns.agenda.plan = true
			}
		}
	}
}

// leaveBefore asks for jobs to be moved that wait at a site so long that they would run into a maintenance now.
func (st *standings) leaveBefore(s *site) {
	now := st.now()
	for i := range st.upkeep.planned[s.Name] {
		m := &st.upkeep.planned[s.Name][i]
		if !m.To.After(now) {
			continue
		}
		st.moveAway(s, fmt.Sprintf("maintenance of %s is planned: %s", s.Name, m.Reason), func(j *job) bool {
			limit, sent := limitAt(s, &j.Job, j.Partition), j.att.Created
			told := m.names != nil && m.within(sent, sent.Add(startsWithin), limit)
			return !told && m.within(now, now, limit)
		})
	}
}
