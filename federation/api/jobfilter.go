package api

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/slurm/hostlist"
)

// jobFilter selects jobs of a listing. Beside slurmrestd's own update_time the commands pass, so that asking for
// one job does not cost a listing of all: job_id, users, states, name, partition, account, qos (lists with commas).
type jobFilter struct {
	refs       map[federation.JobID]taskSet
	users      []string // names or uids
	states     []string // Slurm's long names
	names      []string
	partitions []string
	accounts   []string
	qos        []string
	clusters   []string // sites, or the federation for the jobs that have none
	live       bool     // not those that have ended
}

func readFilter(q url.Values) (jobFilter, error) {
	f := jobFilter{
		users: csv(q, "users", "user"), states: upper(csv(q, "states", "state")), names: csv(q, "name", "job_name"),
		partitions: csv(q, "partition"), accounts: csv(q, "account"), qos: csv(q, "qos"),
		clusters: csv(q, "cluster"), live: q.Get("live") != "",
	}
	var total taskCount
	for _, text := range hostlist.Split(strings.Join(append(q["job_id"], q["step"]...), ",")) {
		id, tasks, err := parseRef(text)
		if err != nil {
			return f, err
		}
		if err := total.add(tasks.Len()); err != nil {
			return f, err
		}
		f.add(id, tasks)
	}
	for _, tasks := range f.refs {
		slices.Sort(tasks)
	}
	return f, nil
}

// add selects tasks of a job, all of it if there are none. The lists are to be sorted when the last was added.
func (f *jobFilter) add(id federation.JobID, tasks federation.Array) {
	if f.refs == nil {
		f.refs = map[federation.JobID]taskSet{}
	}
	have, known := f.refs[id]
	if tasks.Len() == 0 || known && have == nil {
		f.refs[id] = nil
		return
	}
	f.refs[id] = append(have, tasks.Indices()...)
}

// taskSet are the indices of an array's tasks, in rising order; nil is all of them.
type taskSet []int

func (s taskSet) has(i int) bool {
	if s == nil {
		return true
	}
	_, has := slices.BinarySearch(s, i)
	return has
}

// query is the part of f that the store can answer.
func (f *jobFilter) query(users identity.Users) federation.JobQuery {
	var q federation.JobQuery
	for id := range f.refs {
		q.IDs = append(q.IDs, id)
	}
	slices.Sort(q.IDs)
	if len(f.users) == 1 {
		q.User = f.users[0]
		if uid, err := strconv.ParseUint(q.User, 10, 32); err == nil {
			q.User, _ = users.UserName(uint32(uid)) // unknown: all, and none matches
		}
	}
	if len(f.names) == 1 {
		q.Name = f.names[0]
	}
	// A task may wait while its array has ended in part, but not when it has ended.
	q.Live = f.live || len(f.states) > 0 && !slices.ContainsFunc(f.states, func(s string) bool { return federation.State(s).Ended() })
	return q
}

// job reports whether j is selected, state and tasks aside.
func (f *jobFilter) job(v *view, j *federation.Job) bool {
	return (len(f.users) == 0 || slices.Contains(f.users, j.User) || slices.Contains(f.users, strconv.Itoa(int(j.UID)))) &&
		oneOf(f.names, j.Spec.Name) && oneOf(f.partitions, v.partitionOf(j)) &&
		oneOf(f.accounts, cmp.Or(j.Account, j.Spec.Account)) && oneOf(f.qos, cmp.Or(j.Spec.QOS, "normal")) &&
		oneOf(f.clusters, cmp.Or(string(j.Site), v.cluster))
}

// part reports whether a part of a selected job is selected. Of tasks that have not started, those not asked for are taken away.
func (f *jobFilter) part(p *part) bool {
	if f.live && p.state.Ended() || len(f.states) > 0 && !slices.Contains(f.states, string(p.state)) && !slices.ContainsFunc(p.states(), func(s string) bool { return slices.Contains(f.states, s) }) {
		return false
	}
	if _, asked := f.refs[p.job.ID]; asked && p.job.Part != nil {
		return true // by its own number
	}
	return p.array == 0 || p.task == nil || f.refs[p.array].has(p.task.Index)
}

func oneOf(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }

func csv(q url.Values, names ...string) []string {
	var out []string
	for _, name := range names {
		for _, v := range q[name] {
			for item := range strings.SplitSeq(v, ",") {
				if item != "" {
					out = append(out, item)
				}
			}
		}
	}
	return out
}

func upper(list []string) []string {
	for i := range list {
		list[i] = strings.ToUpper(list[i])
	}
	return list
}

// parseRef reads one job as Slurm writes it: "17", "17_3", "17_[1-3]", "17+1" (a component). A step after it is left out of account.
func parseRef(text string) (federation.JobID, federation.Array, error) {
	none := federation.Array{}
	base, _, _ := strings.Cut(text, ".")
	idText, taskText, hasTask := strings.Cut(base, "_")
	idText, component, isComponent := strings.Cut(idText, "+")
	n, err := strconv.ParseUint(idText, 10, 32)
	if isComponent && err == nil {
		var offset uint64
		offset, err = strconv.ParseUint(component, 10, 8)
		n += offset
	}
	if err != nil || n == 0 {
		return 0, none, detailed(errInvalidJobID, fmt.Sprintf("no job %q", text))
	}
	if !hasTask {
		return federation.JobID(n), none, nil
	}
	array, err := federation.ReadArray(taskText)
	if err != nil || array.Len() > federation.MaxArrayIndex+1 {
		return 0, none, detailed(errInvalidJobID, fmt.Sprintf("no job %q", text))
	}
	return federation.JobID(n), array, nil
}
