package scancel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// matching picks the live jobs that match every filter, of those that were named if any were, and
// asks about each if it is to. A named job that does not live is reported at once; exit is then 1.
func (c *command) matching(named []ref) (refs []ref, exit int, err error) {
	var q show.Query
	if len(named) == 0 {
		q.Add("users", strings.Join(c.users, ","))
		q.Add("name", strings.Join(c.names, ","))
		q.Add("partition", c.partition)
		q.Add("account", c.account)
		q.Add("qos", c.qos)
		q.Add("cluster", strings.Join(c.sites, ","))
		q.Add("live", "1")
	} else {
		q.Add("users", strings.Join(c.users, ",")) // for their check alone
	}
	jobs, err := c.read(q, named)
	if err != nil {
		return nil, 1, err
	}
	if len(named) == 0 {
		refs = c.picked(jobs, nil)
	}
	for _, r := range named {
		of, live := c.picked(jobs, &r), slices.ContainsFunc(jobs, func(j wire.Job) bool { return !show.Ended(j.State) && r.names(&j) })
		if !live {
			exit = c.report(r, &v1.Error{Number: wire.ErrJobID, Text: wire.Strerror(wire.ErrJobID)})
		}
		refs = append(refs, of...)
	}
	if len(refs) == 0 && c.verbose && c.filters() != "" && (len(named) == 0 || exit != 0) {
		fmt.Fprintf(c.stderr, "scancel: error: No active jobs match ALL job filters, including: %s\n", c.filters())
	}
	if c.interactive {
		refs = c.confirmed(refs, jobs)
	}
	return refs, exit, nil
}

// filters are what --verbose says of them.
func (c *command) filters() string {
	var b strings.Builder
	for _, f := range []struct{ name, value string }{
		{"account", c.account}, {"job_name", strings.Join(c.names, ",")}, {"nodelist", c.nodes}, {"partition", c.partition}, {"qos", c.qos},
		{"reservation", c.reservation}, {"state", strings.Join(c.states, ",")}, {"user_name", strings.Join(c.users, ",")}, {"wckey", c.wckey},
	} {
		if f.value != "" {
			fmt.Fprintf(&b, "%s=%s ", f.name, f.value)
		}
	}
	return b.String()
}

// read are the jobs of a query, and those named if any are.
func (c *command) read(q show.Query, named []ref) ([]wire.Job, error) {
	ids := make([]string, len(named))
	for i, r := range named {
		ids[i] = r.id.String()
	}
	if len(ids) == 1 {
		ids = append(ids, ids[0]) // two make no error for unknown jobs
	}
	q.Add("job_id", strings.Join(ids, ","))
	list, err := show.OpenQueue(c.caller, q.String())
	if err != nil {
		return nil, fmt.Errorf("scancel: error: slurm_load_jobs error: %w", err)
	}
	defer list.Close()
	if len(list.Head.InvalidUsers) > 0 {
		return nil, fmt.Errorf("scancel: error: Invalid user name: %s", list.Head.InvalidUsers[0])
	}
	var jobs []wire.Job
	var j wire.Job
	for list.Next(&j) {
		jobs = append(jobs, j)
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("scancel: error: slurm_load_jobs error: %w", err)
	}
	return jobs, nil
}

// names reports whether r names j, or tasks of it.
func (r *ref) names(j *wire.Job) bool {
	switch {
	case masterOf(j) != int64(r.id) && j.JobID != int64(r.id) && !(j.HetJobID.Value() == int64(r.id)):
		return false
	case r.tasks.Len() == 0:
		return true
	case j.ArrayTaskID.Set:
		return r.tasks.Has(int(j.ArrayTaskID.Number))
	}
	waiting := show.Tasks(j.ArrayTaskString)
	common := r.tasks.Both(&waiting)
	return common.Len() > 0
}

// picked names the live jobs of a listing that match, of those that r names if it is not nil: by r
// itself where all that it names do.
func (c *command) picked(jobs []wire.Job, r *ref) []ref {
	var refs []ref
	all, texts, ids := true, map[string]bool{}, map[int64]bool{}
	for i := range jobs {
		j := &jobs[i]
		if show.Ended(j.State) || r != nil && !r.names(j) {
			continue
		}
		if !c.matches(j) {
			all = false
			continue
		}
		if j.HetJobOffset.Value() > 0 && ids[j.HetJobID.Value()] {
			continue // it goes with its leader
		}
		x := refOf(j)
		if r != nil && r.tasks.Len() > 0 && !j.ArrayTaskID.Set {
			x.tasks = r.tasks.Both(&x.tasks)
			x.text = r.text
		}
		if !texts[x.text] {
			refs, texts[x.text], ids[int64(x.id)] = append(refs, x), true, true
		}
	}
	if r != nil && all && len(refs) > 0 && !c.interactive {
		return []ref{*r}
	}
	return refs
}

// matches reports whether j passes every filter.
func (c *command) matches(j *wire.Job) bool {
	is := func(want, has string) bool { return want == "" || want == has }
	in := func(list []string, has ...string) bool {
		return len(list) == 0 || slices.ContainsFunc(has, func(h string) bool { return slices.Contains(list, h) })
	}
	if !in(c.states, show.State(j.State), wire.BaseState(j.State)) || !in(c.users, j.UserName, strconv.Itoa(int(j.UserID))) || !in(c.names, j.Name) ||
		!in(c.sites, j.Cluster) || !is(c.account, j.Account) || !is(c.partition, j.Partition) || !is(c.qos, j.QOS) ||
		!is(c.reservation, j.ReservationName) || !is(c.wckey, j.WCKey) {
		return false
	}
	if c.nodes == "" {
		return true
	}
	want, _ := hostlist.Expand(c.nodes)
	has, _ := hostlist.Expand(j.Nodes)
	return slices.ContainsFunc(has, func(n string) bool { return slices.Contains(want, n) })
}

// confirmed asks about each job.
func (c *command) confirmed(refs []ref, jobs []wire.Job) []ref {
	var yes []ref
	for _, r := range refs {
		i := slices.IndexFunc(jobs, func(j wire.Job) bool { return r.names(&j) })
		if c.asked(fmt.Sprintf("Cancel job_id=%s name=%s partition=%s [y/n]? ", r.text, jobs[i].Name, jobs[i].Partition)) {
			yes = append(yes, r)
		}
	}
	return yes
}
